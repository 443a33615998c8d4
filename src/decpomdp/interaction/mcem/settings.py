"""The settings of MCEM; the defaults serve every problem."""

from typing import Annotated, ClassVar

from msgspec import Meta

from decpomdp.core.settings import Count, Positive, Settings, Share, Tuning

Below = Annotated[float, Meta(ge=0, le=1 - 1e-12)]
Tail = Annotated[float, Meta(ge=1e-12, le=1 - 1e-12)]


class McemTuning(Tuning, frozen=True, kw_only=True):
    """For developers."""

    confidence: Annotated[float, Meta(ge=0, le=1e12)] = 1.0  # c, the weight of the upper-confidence bonus
    stride: Positive = 15.0  # over-relaxation of EM, whose steps are tiny if rewards are far above the smallest
    least: Below = 1e-3  # least probability of every choice
    learning_tail: Tail = 0.05  # discount^T of simulated episodes
    testing_tail: Tail = 1e-3  # of test episodes
    longest: Count = 1000  # steps of an episode, at most
    random_episodes: Count = 20_000  # the best of them become starts
    random_share: Share = 0.1  # of the limits, for random episodes
    elites: Count = 20  # best episodes that are replayed as controllers
    openness: Share = 0.3  # share of uniform choices in such a start


class Mcem(Settings, frozen=True, kw_only=True, tag="mcem"):
    """Monte-Carlo EM on controllers of a fixed size.

    Examples
    --------
    >>> import decpomdp as dp
    >>> dp.learn("broadcast", dp.Mcem(nodes=2), iterations=2, seed=1).settings.nodes
    2
    """

    runner: ClassVar[str] = "decpomdp.interaction.mcem.method:McemMethod"
    limits: ClassVar[tuple[str, ...]] = ("seconds", "steps", "iterations")

    nodes: Annotated[int, Meta(ge=1, le=1000, description="Nodes of every agent's controller.")] = 3
    episodes: Annotated[Count, Meta(description="Episodes per iteration.")] = 200
    updates: Annotated[Count, Meta(description="Iterations from one start.")] = 150
    exploration: Annotated[
        float, Meta(ge=0, le=1 - 1e-12, description="Share of exploring choices at first; it falls to 0.")
    ] = 0.2
    horizon: Annotated[Count | None, Meta(description="Steps per episode; default: from the discount.")] = None
    tests: Annotated[Count, Meta(description="Episodes played to compare two teams.")] = 1000
    patience: Annotated[Count, Meta(description="Starts without a better team until the run has converged.")] = 10
    tuning: McemTuning = McemTuning()
