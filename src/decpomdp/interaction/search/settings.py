"""The settings of `search`; docs/search.md explains the tunables, which have the same values for every problem."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Count, Positive, Settings, Share, Tuning, Whole

Open = Annotated[float, Meta(ge=1e-12, le=1 - 1e-12)]  # a share that is neither 0 nor 1


class SearchTuning(Tuning, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes are upper ends: small budgets and slow simulators scale them down (see `sizes.py`)."""

    learning_tail: Annotated[
        Open, Meta(description="discount^T of learning episodes: the far future hardly moves a gradient.")
    ] = 1e-2
    testing_tail: Annotated[
        Open, Meta(description="discount^T of test episodes: the far future decides between nearly equal teams.")
    ] = 1e-3
    longest: Annotated[Count, Meta(description="Most steps of an episode, whatever the discount.")] = 1000

    episodes: Annotated[
        Count, Meta(description="Episodes per update of an ascent: enough for 40 nodes, few enough for 120 updates.")
    ] = 400
    updates: Annotated[Count, Meta(description="Updates of a full ascent.")] = 120
    exploration: Annotated[
        Share, Meta(description="Uniform share of actions at first; none after 70 % of the updates.")
    ] = 0.1
    confidence: Annotated[
        Open, Meta(description="Initial probability of what a warm start does: with less, the team falls apart.")
    ] = 0.97

    skeleton_nodes: Annotated[
        Count, Meta(description="Most nodes of a given memory: what 400 episodes per update can fill.")
    ] = 45
    chain_episodes: Annotated[Count, Meta(description="Random episodes of which the best becomes a chain.")] = 50_000
    chain_lengths: Annotated[
        tuple[Count, ...], Meta(min_length=1, description="Lengths of the chains in the portfolio.")
    ] = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)

    portfolio_share: Annotated[
        Share, Meta(description="Largest share of the budget for the portfolio; small memories and chains come first.")
    ] = 0.4
    islands: Annotated[Count, Meta(description="Plans that are improved side by side at first.")] = 3
    island_share: Annotated[
        Share, Meta(description="Share of what the portfolio leaves until only the best plan is improved.")
    ] = 0.4
    round: Annotated[
        Count, Meta(description="Hops from the same plans before any is accepted; fixed, so threads change nothing.")
    ] = 4
    hop_updates: Annotated[
        Count, Meta(description="Updates after a hop: a quarter of the play finds nine tenths of the gain.")
    ] = 25
    hop_episodes: Annotated[Count, Meta(description="Episodes per update after a hop.")] = 200
    bold_updates: Annotated[
        Count, Meta(description="Updates on more memory: many nodes and small differences need more play.")
    ] = 40
    bold_confidence: Annotated[
        Open, Meta(description="Confidence on more memory: low, for gains that lie further away.")
    ] = 0.8
    hop_exploration: Annotated[
        Share, Meta(description="Exploration after a hop: more unlearns teamwork that a single slip spoils.")
    ] = 0.02
    window: Annotated[Count, Meta(description="Longest stretch of steps in which a graft explores.")] = 6
    window_episodes: Annotated[Count, Meta(description="Episodes that a graft explores.")] = 8_000
    tails: Annotated[
        tuple[Whole, ...],
        Meta(min_length=1, description="Steps after the stretch that still count: with many, luck decides."),
    ] = (0, 1, 2, 4, 8, 16)
    elites: Annotated[Count, Meta(description="Best explored episodes, of which some are grafted.")] = 20

    first_test: Annotated[
        Count, Meta(description="Episodes of the first stage of a test; every stage has four times more.")
    ] = 1000
    stages: Annotated[int, Meta(ge=1, le=10, description="Stages of a test: 1k, 4k, 16k, 64k, 256k episodes.")] = 5
    certain: Annotated[Positive, Meta(description="Standard errors above zero at which a gain is accepted.")] = 3.0
    smallest_gain: Annotated[
        float, Meta(ge=0, le=1e12, description="Smallest gain worth having, in standard deviations of a return.")
    ] = 1e-4


class Search(Settings, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="search"):
    """A portfolio of starts, then iterated local search."""

    limits: ClassVar[tuple[str, ...]] = ("seconds", "steps")
    default_seconds: ClassVar[float | None] = 60.0

    max_nodes: Annotated[
        Annotated[int, Meta(ge=1, le=1000)] | None,
        Meta(description="Most nodes per agent; default: 12, or 24 in a long search."),
    ] = None
    horizon: Annotated[Count | None, Meta(description="Steps per episode; default: from the discount.")] = None
    tuning: SearchTuning = SearchTuning()
