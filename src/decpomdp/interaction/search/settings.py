"""The tunables of the default search, each with its reason. The same values serve every problem."""

from dataclasses import asdict, dataclass

from decpomdp.core.checks import settled, whole
from decpomdp.core.fit import Row

COUNT, SHARE, ABOVE = (1, 10**9), (0, 1), (1e-12, 1e12)
LIMITS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("longest", "episodes", "updates", "skeleton_nodes", "chain_episodes", "chain_lengths"), COUNT),
    **dict.fromkeys(("islands", "round", "hop_updates", "hop_episodes", "bold_updates", "window"), COUNT),
    **dict.fromkeys(("window_episodes", "elites", "first_test"), COUNT),
    **dict.fromkeys(("exploration", "portfolio_share", "island_share", "hop_exploration"), SHARE),
    **dict.fromkeys(("learning_tail", "testing_tail", "confidence", "bold_confidence"), (1e-12, 1 - 1e-12)),
    **dict.fromkeys(("rate", "certain"), ABOVE),
    "stages": (1, 10),
    "tails": (0, 10**9),
    "smallest_gain": (0, 1e12),
}


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """Sizes are upper ends: small budgets and slow simulators scale them down (see `scale.py`)."""

    max_nodes: int | None = None  # per agent in the result; None: by what can be afforded (see `scale.py`)
    learning_tail: float = 1e-2  # discount^T of learning episodes: the far future hardly moves a gradient ...
    testing_tail: float = 1e-3  # ... but decides between nearly equal teams
    longest: int = 1000  # steps of an episode, whatever the discount

    episodes: int = 400  # per update of the core step: enough for 40 nodes, few enough for 120 updates
    updates: int = 120  # of a full core step
    rate: float = 0.2  # logits per update and unit of normalised advantage
    exploration: float = 0.1  # uniform share of actions at first; none after 70 % of the updates
    confidence: float = 0.97  # probability of what a warm start already does: less, and the team falls apart

    skeleton_nodes: int = 45  # of a memory skeleton: what 400 episodes an update can fill
    chain_episodes: int = 50_000  # random episodes of which the best becomes a chain
    chain_lengths: tuple[int, ...] = (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)

    portfolio_share: float = 0.4  # of the budget, at most; small memories and short chains come first
    islands: int = 3  # plans that are improved side by side at first
    island_share: float = 0.4  # of what the portfolio leaves, until only the best one is improved
    round: int = 4  # hops from the same plans before anything is accepted: fixed, so threads change nothing
    hop_updates: int = 25  # of the core step after a hop: a quarter of the play finds nine tenths of the gain,
    hop_episodes: int = 200  # so that four hops can be tried instead of one
    bold_updates: int = 40  # of the core step on more memory: many nodes, small differences, so more play
    bold_confidence: float = 0.8  # as unsure as one can be without forgetting, for gains that lie further away
    hop_exploration: float = 0.02  # with more, teamwork that one slip spoils is unlearned before it can pay
    window: int = 6  # longest stretch in which a graft explores
    window_episodes: int = 8_000  # explored by a graft
    tails: tuple[int, ...] = (0, 1, 2, 4, 8, 16)  # steps after that stretch which still count: few, or luck decides
    elites: int = 20  # best of them, of which some are grafted

    first_test: int = 1000  # episodes of the first stage of a test; every stage has four times more
    stages: int = 5  # 1k, 4k, 16k, 64k, 256k
    certain: float = 3.0  # standard errors above zero at which a gain is believed
    smallest_gain: float = 1e-4  # standard deviations of a return: less is not worth a bigger machine

    def __post_init__(self) -> None:
        settled(self, LIMITS)
        if self.max_nodes is not None:
            whole("max_nodes", self.max_nodes, 1, 1000)

    def row(self) -> Row:
        """For the record."""
        return {key: str(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
