"""How often do off-policy intervals contain the exact value? Over many data sets: the tables of docs/offpolicy.md.

    python benchmarks/offpolicy_coverage.py [data sets per case] [confidence] [cases by number, such as 0,3] [seed]

The rules of the intervals were chosen on the first seven cases (with the seeds 20000 and on). The next ten were not
looked at for that, and their table is of other seeds. Those from 17 on are attacks: four problems with teams that are
near the behaviour, far from it or deterministic, and behaviours that rarely or never take the team's actions, in all
nodes or only in later ones.
"""

import sys
import warnings
from typing import NamedTuple

import numpy as np

import decpomdp as dp
from decpomdp.domains.load import load_model
from decpomdp.evaluation import Estimate, OffPolicyValue

RESAMPLES = 300
SEED = 70_000  # of the first data set
NAMES = ("ordinary", "per_decision", "self_normalised")
ATTACKED = ("dectiger", "recycling", "broadcast", "gridsmall")
DEAR = ((0.0005, 0.08, 200), (0.005, 0.08, 200), (0.002, 0.03, 500), (0.0, 0.03, 500), (0.2, 0.03, 500))


class Case(NamedTuple):
    words: str
    model: dp.DecPOMDP
    team: dp.Team
    behaviour: dp.Team
    episodes: int
    horizon: int


def cases() -> list[Case]:
    """Those that the rules were chosen on, then the others."""
    sending = _same("broadcast", [0, 1], [[0, 1], [1, 0]], 0.2)
    careful = _same("recycling", [0, 1], [[0, 1], [0, 1]], 0.3)
    listening = _same("dectiger", [0, 0, 1, 0, 2], [[1, 3], [2, 0], [0, 0], [0, 4], [0, 0]], 0.3)
    rare = _model(13, (3, 3), (2, 2), paying=0.05, states=5)
    return [
        _built_in("broadcast", sending, 0.4, 500, 6),
        _built_in("broadcast", sending, None, 1000, 4),
        _built_in("recycling", careful, 0.5, 300, 4),
        _built_in("recycling", careful, None, 1000, 4),
        _built_in("dectiger", listening, 0.5, 1000, 3),
        _built_in("dectiger", listening, None, 1000, 3),
        _built_in("dectiger", listening, None, 4000, 3),
        _built_in("gridsmall", _any(load_model("gridsmall"), 101, 0.3), 0.5, 1000, 5),
        _built_in("gridsmall", _any(load_model("gridsmall"), 102, 0.4), None, 1000, 3),
        _built_in("boxpushing", _any(load_model("boxpushing"), 101, 0.3), 0.4, 1000, 4),
        _built_in("marsrovers", _any(load_model("marsrovers"), 101, 0.3), 0.4, 1000, 3),
        _built_in("recycling", _any(load_model("recycling"), 105, 0.3), 0.3, 500, 8),
        _built_in("dectiger", _any(load_model("dectiger"), 107, 0.3), None, 300, 2),
        _built_in("broadcast", _any(load_model("broadcast"), 103, 0.3), None, 200, 3),
        _made("three agents", _model(11, (2, 2, 2), (2, 2, 2)), 11, None, 1000, 3),
        _made("rare rewards", _model(12, (2, 2), (2, 2), paying=0.1), 12, None, 400, 4),
        _made("rare rewards", rare, _any(rare, 13, 0.3, nodes=3), 0.5, 200, 5),
        *(case for seed, problem in enumerate(ATTACKED, 201) for case in _attacks(problem, seed)),
        *(_dear(little, often, episodes) for little, often, episodes in DEAR),
    ]


def measure(
    case: Case, sets: int, confidence: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """[set, 4] whether each interval holds the value and its width, [set] whether warned, and effective episodes."""
    span = (float(case.model.reward.min()), float(case.model.reward.max()))
    value = dp.exact_value(case.model, case.team, case.horizon).value
    held, widths, warned, sizes = [], [], [], []
    for number in range(sets):
        logged = dp.simulate(case.model, case.behaviour, case.episodes, case.horizon, seed=seed + number)
        estimates = dp.offpolicy_value(logged, case.team, None, span, confidence, RESAMPLES, seed=seed + number)
        ends = np.array([*(_ends(estimates, name) for name in NAMES), estimates.guaranteed])
        held.append((ends[:, 0] <= value) & (value <= ends[:, 1]))
        widths.append(ends[:, 1] - ends[:, 0])
        warned.append(bool(estimates.warnings))
        sizes.append(estimates.sample_size)
    return np.array(held), np.array(widths), np.array(warned), np.array(sizes)


def _ends(estimates: OffPolicyValue, name: str) -> tuple[float, float]:
    estimate: Estimate = getattr(estimates, name)
    return estimate.low, estimate.high


def _attacks(problem: str, seed: int) -> list[Case]:
    """Teams of arbitrary controllers against behaviours that suit the intervals less and less."""
    model = load_model(problem)
    lively, sure = _any(model, seed, 0.2), _any(model, seed, 0.0)
    cases = [
        ("near", lively, lively.exploring(0.1), 200, 3),
        ("far", _any(model, seed, 0.1), dp.Team.uniform(model), 1000, 2),
        ("deterministic, near", sure, sure.exploring(0.3), 300, 4),
        ("deterministic, far", sure, dp.Team.uniform(model), 1000, 1),
        ("rarely", lively, _shy(lively, 0.02), 500, 2),
        ("rarely, later nodes", lively, _shy(lively, 0.02, first=1), 500, 2),
        ("never later", lively, _shy(lively, 0.0, first=1), 500, 2),
    ]
    return [Case(f"{problem}, {words}, {n} of {t} steps", model, *teams, n, t) for words, *teams, n, t in cases]


def _dear(little: float, often: float, episodes: int) -> Case:
    """One agent sees which of two states it is in; in the second one `c` earns a hundred times what others do.

    There the behaviour does it with probability `little` and the team with `often`, in the other state both often do.
    """
    earned = [[0.0, 0.0], [1.0, 1.0], [1.0, 100.0]]  # [u, s]
    agent = dp.Agent("x", ("a", "b", "c"), ("first", "second"))
    same = np.tile(np.eye(2), (3, 1, 1))
    model = dp.DecPOMDP((agent,), ("first", "second"), np.array([0.5, 0.5]), same, same, np.array(earned), 0.9, "dear")
    moves = np.tile([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], (3, 3, 1, 1))  # remember what was seen
    start = [0.5, 0.5, 0.0]
    behaviour = [start, [0.4, 0.3, 0.3], [0.6, 0.4 - little, little]]
    team = [start, [0.3, 0.4, 0.3], [0.2, 0.8 - often, often]]
    both = (dp.Controller(np.eye(3)[0], np.array(acts), moves) for acts in (team, behaviour))
    teams = [dp.Team((agent,), (one,), 0.9, "dear") for one in both]
    return Case(f"dear, {often} where the behaviour has {little}, {episodes} of 2 steps", model, *teams, episodes, 2)


def _shy(team: dp.Team, little: float, first: int = 0) -> dp.Team:
    """What the team likes best in a node is done with probability `little`, in nodes from `first`; else anything."""
    controllers = []
    for one in team.controllers:
        action = np.full(one.action.shape, (1 - little) / (one.actions - 1))
        action[np.arange(one.nodes), one.action.argmax(axis=1)] = little
        action[:first] = 1 / one.actions
        controllers.append(dp.Controller(one.initial, action, one.transition, one.initial_given))
    return dp.Team(team.agents, tuple(controllers), team.discount, team.problem)


def _built_in(problem: str, team: dp.Team, explore: float | None, episodes: int, horizon: int) -> Case:
    return _made(problem, load_model(problem), team, explore, episodes, horizon)


def _made(
    name: str, model: dp.DecPOMDP, team: dp.Team | int, explore: float | None, episodes: int, horizon: int
) -> Case:
    """Data of random actions, or of the team itself exploring more."""
    team = _any(model, team, 0.3) if isinstance(team, int) else team
    behaviour = dp.Team.uniform(model) if explore is None else team.exploring(explore)
    words = f"{name}, {episodes} of {horizon} steps, {'random' if explore is None else f'exploring {explore}'}"
    return Case(words, model, team, behaviour, episodes, horizon)


def _same(problem: str, actions: list[int], moves: list[list[int]], explore: float) -> dp.Team:
    """Both agents with the same controller, which acts at random now and then."""
    model = load_model(problem)
    controller = dp.Controller.deterministic(actions, moves, len(model.agents[0].actions))
    return dp.Team.of(model, [controller, controller]).exploring(explore)


def _any(model: dp.DecPOMDP, seed: int, explore: float, nodes: int = 2) -> dp.Team:
    """A team of arbitrary controllers, which act at random now and then."""
    rng = np.random.default_rng(seed)
    controllers = [
        dp.Controller.deterministic(
            rng.integers(len(agent.actions), size=nodes),
            rng.integers(nodes, size=(nodes, len(agent.observations))),
            len(agent.actions),
        )
        for agent in model.agents
    ]
    return dp.Team.of(model, controllers).exploring(explore)


def _model(
    seed: int, actions: tuple[int, ...], observations: tuple[int, ...], paying: float | None = None, states: int = 3
) -> dp.DecPOMDP:
    """Arbitrary probabilities and rewards; `paying`: the share of joint actions and states that earn 10, others 0."""
    rng = np.random.default_rng(seed)
    agents = [
        dp.Agent(f"agent{n + 1}", [f"a{i}" for i in range(a)], [f"o{i}" for i in range(o)])
        for n, (a, o) in enumerate(zip(actions, observations, strict=True))
    ]
    u, y = int(np.prod(actions)), int(np.prod(observations))
    rewards = rng.normal(size=(u, states)) if paying is None else 10.0 * (rng.random((u, states)) < paying)
    if not rewards.any():
        rewards[0, 0] = 10.0
    start, moves, sights = (
        rng.dirichlet(np.ones(shape[-1]), size=shape[:-1]) for shape in ((states,), (u, states, states), (u, states, y))
    )
    return dp.DecPOMDP(
        agents=tuple(agents),
        states=tuple(f"s{i}" for i in range(states)),
        start=start,
        transition=moves,
        observation=sights,
        reward=rewards,
        discount=0.9,
        name="made",
    )


def main() -> None:
    sets = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    confidence = float(sys.argv[2]) if len(sys.argv) > 2 else 0.9
    chosen = [int(number) for number in sys.argv[3].split(",")] if len(sys.argv) > 3 else range(len(cases()))
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else SEED
    print("| data | effective | ordinary | per-decision | self-normalised | guaranteed | warned | not warned |")
    print("|---|---|---|---|---|---|---|---|")
    for number in chosen:
        case = cases()[number]
        held, widths, warned, sizes = measure(case, sets, confidence, seed)
        low, middle, high = np.percentile(sizes, [0, 50, 100])
        covered = [f"{100 * held[:, i].mean():.0f} % ({np.median(widths[:, i]):.2g})" for i in range(4)]
        parts = [_part(held[which, :3]) for which in (warned, ~warned)]
        print(
            f"| {case.words} | {middle:.0f} ({low:.0f} to {high:.0f}) | {' | '.join([*covered, *parts])} |",
            flush=True,
        )


def _part(held: np.ndarray) -> str:
    """How many data sets, and how often the three bootstrap intervals held the value there."""
    shares = ", ".join(f"{100 * share:.0f}" for share in held.mean(axis=0)) if len(held) else ""
    return f"{len(held)}" + (f": {shares}" if shares else "")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
