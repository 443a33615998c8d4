"""The settings of `search`; docs/search.md explains the tunables, which have the same values for every problem."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Count, Positive, Settings, Share, Tuning, Whole

Open = Annotated[float, Meta(ge=1e-12, le=1 - 1e-12)]  # a share that is neither 0 nor 1


class SearchTuning(Tuning, frozen=True, kw_only=True):
    """For developers. Sizes are upper limits: small budgets and slow simulators scale them down (see `sizes.py`)."""

    learning_tail: Open = 1e-2  # discount^T of learning episodes: later steps have little effect on a gradient
    testing_tail: Open = 1e-3  # discount^T of test episodes: later steps decide between nearly equal teams
    longest: Count = 1000  # steps of an episode, at most

    episodes: Count = 400  # per update of an ascent: enough for 40 nodes, few enough for 120 updates
    updates: Count = 120  # of a full ascent
    exploration: Share = 0.1  # uniform share of actions at first; none after 70 % of the updates
    confidence: Open = 0.97  # initial probability of the choices of a warm start: with less, coordination is lost

    skeleton_nodes: Count = 45  # nodes of a memory, at most: as many as 400 episodes per update can fill
    chain_episodes: Count = 50_000  # random episodes, of which the best becomes a chain
    chain_lengths: Annotated[tuple[Count, ...], Meta(min_length=1)] = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)

    portfolio_share: Share = 0.4  # of the budget for the portfolio, at most; small memories and chains come first
    islands: Count = 3  # plans that are improved in parallel at first
    island_share: Share = 0.4  # of the budget after the portfolio until only the best plan is improved
    round: Count = 4  # hops from the same plans before any is accepted; fixed, so the threads do not matter
    hop_updates: Count = 25  # after a hop: a quarter of the play finds nine tenths of the gain
    hop_episodes: Count = 200  # per update after a hop
    bold_updates: Count = 40  # on more memory: many nodes and small differences need more play
    bold_confidence: Open = 0.8  # on more memory: low, for gains that are further away
    hop_exploration: Share = 0.02  # after a hop: more exploration unlearns coordination
    window: Count = 6  # longest stretch of steps in which a graft explores
    window_episodes: Count = 8_000  # of the exploration of a graft
    tails: Annotated[tuple[Whole, ...], Meta(min_length=1)] = (0, 1, 2, 4, 8, 16)  # steps after the stretch that count
    elites: Count = 20  # best explored episodes, of which some are grafted

    first_test: Count = 1000  # episodes of the first stage of a test; every stage has four times more
    stages: Annotated[int, Meta(ge=1, le=10)] = 5  # of a test: 1k, 4k, 16k, 64k, 256k episodes
    certain: Positive = 3.0  # standard errors above zero at which a gain is accepted
    smallest_gain: Annotated[float, Meta(ge=0, le=1e12)] = 1e-4  # in standard deviations of a return


class Search(Settings, frozen=True, kw_only=True, tag="search"):
    """A portfolio of starts, then iterated local search.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.learn("broadcast", dp.Search(max_nodes=2), steps=100_000, seed=1).stopped
    'steps'
    """

    runner: ClassVar[str] = "decpomdp.interaction.search.method:SearchMethod"
    limits: ClassVar[tuple[str, ...]] = ("seconds", "steps")
    default_seconds: ClassVar[float | None] = 60.0

    max_nodes: Annotated[
        Annotated[int, Meta(ge=1, le=1000)] | None,
        Meta(description="Maximum number of nodes per agent; default: 12, or 24 in a long search."),
    ] = None
    horizon: Annotated[Count | None, Meta(description="Steps per episode; default: from the discount.")] = None
    tuning: SearchTuning = SearchTuning()
