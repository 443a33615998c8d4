"""The settings of the Dec-SBPR loop; docs/sbpr.md has measurements."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Count, Positive, Settings, Share, Tuning, Whole
from decpomdp.learners.priors import prior_named

Below = Annotated[float, Meta(ge=0, le=1 - 1e-12)]
Tail = Annotated[float, Meta(ge=1e-12, le=1 - 1e-12)]
NonNegative = Annotated[float, Meta(ge=0, le=1e12)]


class ManyAgents(Tuning, frozen=True, kw_only=True):
    """With many agents, each learns by its own importance ratios (`many_agents`)."""

    above: Whole = 8  # agents: the largest number for which joint ratios of all agents are used
    cap: Positive = 20.0  # upper limit of importance ratios
    step: Positive = 0.2  # change of a typical log probability in one iteration
    shrink: NonNegative = 100.0  # visits without gain that are added to every choice
    floor: NonNegative = 0.03  # advantages below this share of the standard deviation of utilities count as noise
    reach: Positive = 0.9  # discount of a gain per step since the decision
    openness: Below = 0.4  # share of uniform choices that is mixed into the initial or the best team
    pause: Count = 5  # iterations between tests
    patience: Count = 6  # tests without a better team that end a round


class SbprTuning(Tuning, frozen=True, kw_only=True):
    """For developers."""

    learning_tail: Tail = 0.05  # discount^T of the episodes learned from
    testing_tail: Tail = 1e-3  # of test episodes
    longest: Count = 1000  # steps of an episode, at most

    memory: NonNegative = 80.0  # visits that are added to a row, distributed as its choices so far
    carry: Share = 0.9  # share of the sum of a row that remains without visits
    threshold: Below = 0.01  # share of visits above which a node counts as occupied
    settling: Whole = 20  # iterations before a round drops nodes

    random_episodes: Count = 40_000  # for the replays
    random_share: Share = 0.1  # of the limits, for random episodes
    lengths: Annotated[tuple[Count, ...], Meta(min_length=1)] = (3, 4, 5, 6, 7, 8)  # of the replayed episodes
    elites: Count = 12  # best episodes of each length that are replayed
    generations: Whole = 2  # times that the best replays are varied and the best variations replayed
    pool: Count = 12  # best replays
    replays: Count = 3  # of them that are starts from the beginning
    largest: Count = 15  # nodes of a memory to begin with
    race: Count = 75  # iterations of every start
    round: Count = 50  # iterations of every later round, from the best team so far
    softness: Below = 0.1  # share of uniform choices at the beginning of a round
    openness: Share = 0.3  # the same for a replayed episode, which does not depend on observations
    replaying: Tail = 0.3  # initial exploration rate of a replayed episode: with more, its coordination is lost
    strength: Positive = 100.0  # soft counts per row of a start
    reopened: Tail = 0.2  # initial exploration rate of a later round
    fresh: Count = 3  # best starts that get further rounds, with other random numbers
    many: ManyAgents = ManyAgents()


class SbprLoop(Settings, frozen=True, kw_only=True, tag="sbpr-loop"):
    """Dec-SBPR in a loop: play a batch with exploration, learn from it, repeat.

    A team to begin with (`begin`) plays the first episodes in place of random actions, and its value is what a learned
    team must exceed. With more than 8 agents it is also the first team to be improved. With a Dask cluster (`engine`)
    its workers play; the result is the same.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.learn("broadcast", dp.SbprLoop(batch=20), iterations=2, seed=1).settings.batch
    20
    """

    runner: ClassVar[str] = "decpomdp.interaction.sbpr.method:sbpr_method"
    limits: ClassVar[tuple[str, ...]] = ("seconds", "steps", "iterations")
    inputs: ClassVar[tuple[str, ...]] = ("begin", "engine")

    horizon: Annotated[Count | None, Meta(description="Steps per episode; default: from the discount.")] = None
    prior: Annotated[str, Meta(description="Prior of the controllers: stick-breaking, dp, fixed:N or em:N.")] = (
        "stick-breaking"
    )
    batch: Annotated[
        Count | None, Meta(description="Episodes per iteration; default: 200, or 500 with more than 8 agents.")
    ] = None
    window: Annotated[Count, Meta(description="Batches learned from at a time with more than 8 agents.")] = 2
    exploration_visits: Annotated[
        float, Meta(ge=1e-12, le=1e12, description="Visits after which a node's exploration rate is halved.")
    ] = 100.0
    joint_moves: Annotated[
        Whole, Meta(description="Joint moves of several agents that are tried between two rounds, up to 8 agents.")
    ] = 10
    tests: Annotated[Count, Meta(description="Episodes played to compare two teams.")] = 1000
    patience: Annotated[
        Count | None,
        Meta(description="Rounds without a better team until convergence; default: 20, or 2 with more than 8 agents."),
    ] = None
    tuning: SbprTuning = SbprTuning()

    def __post_init__(self) -> None:
        super().__post_init__()
        prior_named(self.prior)
