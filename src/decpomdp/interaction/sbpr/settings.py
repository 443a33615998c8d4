"""The choices that the paper leaves open, each with its reason; docs/sbpr.md has the measurements."""

from dataclasses import asdict, dataclass

from decpomdp.core.checks import settled
from decpomdp.core.fit import Row
from decpomdp.interaction.sbpr_step import StepSettings

COUNT, ANY_COUNT, SHARE, BELOW, ABOVE = (1, 10**9), (0, 10**9), (0, 1), (0, 1 - 1e-12), (1e-12, 1e12)
LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("batch", "window", "longest", "elites", "pool", "replays", "largest", "race", "round"), COUNT),
    **dict.fromkeys(("tests", "fresh", "patience", "lengths", "crowd_batch", "crowd_window", "crowd_pause"), COUNT),
    **dict.fromkeys(("crowd_patience", "crowd_rounds", "random_episodes"), COUNT),
    **dict.fromkeys(("settling", "generations", "crowd"), ANY_COUNT),
    **dict.fromkeys(("exploration", "cap", "step", "strength", "crowd_step", "crowd_reach"), ABOVE),
    **dict.fromkeys(("learning_tail", "testing_tail"), (1e-12, 1 - 1e-12)),
    **dict.fromkeys(("quantile", "threshold", "softness", "crowd_openness"), BELOW),
    **dict.fromkeys(("carry", "sobering", "random_share", "openness", "replaying", "reopened"), SHARE),
    **dict.fromkeys(("shrink", "floor"), (0, 1e12)),
}


@dataclass(frozen=True, slots=True)
class SbprSettings:
    """The same values serve every problem."""

    batch: int = 50  # episodes an iteration (the paper)
    exploration: float = 100.0  # u (the paper)
    window: int = 10  # batches learned from at a time, the newest included: what keeps gradients out of the noise
    cap: float = 20.0  # importance ratios above this are cut to it
    learning_tail: float = 0.05  # discount^T of the episodes learned from
    testing_tail: float = 1e-3  # of test episodes
    longest: int = 1000  # steps of an episode, whatever the discount

    step: float = 0.1  # change of a typical log probability in one iteration
    shrink: float = 100.0  # visits' worth of doubt about every advantage
    floor: float = 0.03  # advantages below this share of the utilities' spread are taken for noise
    carry: float = 0.9  # of a row's strength stays when it is not visited any more
    quantile: float = 0.9  # of the returns, above which the optimistic utility begins
    sobering: float = 0.7  # share of a round's iterations in which its optimism falls to nothing
    threshold: float = 0.01  # share of visits above which a node counts as occupied
    settling: int = 20  # iterations before a round drops nodes

    random_episodes: int = 40_000  # played at random for the replays
    random_share: float = 0.1  # of the limits that they may use up
    lengths: tuple[int, ...] = (3, 4, 5, 6, 7, 8)  # of the replayed episodes
    elites: int = 12  # best episodes of each length that are played again
    generations: int = 2  # times that the best replays are varied and the best variations replayed
    pool: int = 12  # replays that are kept
    replays: int = 3  # of them that are starts from the beginning
    largest: int = 15  # nodes of a memory to begin with
    race: int = 75  # iterations that every start is given
    round: int = 50  # iterations of every later round, from the best team so far
    softness: float = 0.1  # share of every choice that a round leaves open at first
    openness: float = 0.3  # the same of a replayed episode, which knows nothing about its observations
    replaying: float = 0.3  # exploration rate at which a replayed episode begins: more, and it is lost
    strength: float = 100.0  # soft counts per row of a start
    reopened: float = 0.2  # exploration rate at which a later round begins
    tests: int = 1000  # test episodes of a comparison
    fresh: int = 3  # best starts that are taken up again, with other random numbers
    patience: int = 20  # rounds without a better team until the loop has converged

    crowd: int = 8  # with more agents than this, each is weighed by its own ratios; what follows is for that
    crowd_batch: int = 500  # episodes an iteration: one agent's part in the team's reward is small. This and `tests`
    # are upper ends: a slow simulator or few steps scale them down (`sbpr_crowd_scale`)
    crowd_window: int = 2  # batches learned from at a time
    crowd_step: float = 0.2  # as `step`
    crowd_reach: float = 0.9  # share of a gain that a decision one step earlier is credited with
    crowd_openness: float = 0.4  # share of every choice that a given behaviour or the best team leaves open
    crowd_pause: int = 5  # iterations between tests
    crowd_patience: int = 6  # tests without a better team that end a round
    crowd_rounds: int = 2  # rounds without a better team until the loop has converged

    def __post_init__(self) -> None:
        settled(self, LIMITS)

    def pace(self) -> StepSettings:
        """How far one iteration goes."""
        return StepSettings(self.step, self.shrink, self.floor, self.carry)

    def row(self) -> Row:
        """For the record."""
        return {key: str(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
