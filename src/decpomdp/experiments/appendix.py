"""The appendix: value, inferred nodes and exploration rate per iteration, for the five problems.

    best replayed episode -> [behaviour with exploration -> 200 episodes -> posterior]  repeated

A cell is one round of the paper's loop as `interaction.sbpr` plays it, without its later rounds and without storing the
best team: the policy of every iteration is evaluated. The last policy is also tested like those of table 2, because
published values are means of 100 test episodes and have their error.

"These results are associated with the numbers reported in the first two columns of Table 2": so the curves should end
at the table's value and size for a fixed number of iterations. The interval of the last iteration is widened by the
error of the test.
"""

from functools import partial
from typing import Any

import msgspec

from decpomdp.core import Team
from decpomdp.core.run import Inputs
from decpomdp.domains.load import load_model
from decpomdp.evaluation import exact_value
from decpomdp.experiments.cells import Cell, Settings
from decpomdp.experiments.drawing import Panel, Picture, curve, level
from decpomdp.experiments.experiment import Effort, Evidence, Experiment, Item, TextTable, text_table, texts_of
from decpomdp.experiments.published import DISCOUNT, LARGE, PROBLEMS, TABLE2
from decpomdp.experiments.rows import ROUNDING, ResultRows, compare, flat, size_verdict, verdict
from decpomdp.experiments.table2 import tested_like_paper
from decpomdp.interaction.afford import BATCH
from decpomdp.interaction.episode_player import EpisodePlayer
from decpomdp.interaction.sbpr.iteration import Learner, Round, Start
from decpomdp.interaction.sbpr.method import SPARSE
from decpomdp.interaction.sbpr.settings import SbprLoop, SbprTuning
from decpomdp.interaction.sbpr.starts import replays
from decpomdp.learners import StickBreaking

ROUGH, WELL = 50, 500  # test episodes of a replay: a rough test of many, a better one of the best
TEXTS = texts_of("appendix")
FORMS = {"value": "posterior mean", "decided": "likeliest choices"}  # of the iteration's posterior
MOVING = {  # columns: expected side of the last iteration relative to the first; the words for the opposite side
    "value": ("above", "Values of the posterior mean fall"),
    "decided": ("above", "Values of the likeliest choices fall"),
    "exploration": ("below", "The rate rises"),
}


class Iteration(msgspec.Struct, frozen=True):
    """One iteration; values at some iterations, errors of a test at the last one."""

    iteration: int
    exploration: float
    mean_nodes: float
    sample_size: float | None
    value: float | None
    decided: float | None
    value_error: float | None = None
    decided_error: float | None = None


def cells(effort: Effort) -> list[Cell]:
    """Problem x seed."""
    given = {key: effort[key] for key in ("iterations", "every")}
    costs = {problem: (0.15 if problem in LARGE else 0.05) * effort["iterations"] + 2 for problem in effort["problems"]}
    return [
        Cell(work, {"problem": problem, "seed": seed, **given}, cost)
        for seed in range(effort["seeds"])
        for problem, cost in costs.items()
    ]


def work(settings: Settings) -> list[Iteration]:
    """Settings are problem, seed, iterations, every (iterations between values)."""
    model, tuning = load_model(settings["problem"], DISCOUNT), SbprTuning()
    player = EpisodePlayer(model, Inputs(settings["seed"], 1))
    learner = Learner(player, StickBreaking(d=SPARSE), SbprLoop())
    state = learner.begin(Start(_best_replay(player, tuning), tuning.openness, tuning.replaying))
    results, count = [], settings["iterations"]
    for number in range(count):
        state, facts = learner.iterate(state, BATCH, number >= tuning.settling)
        known: dict[str, Any] = {key: facts[key] for key in ("exploration", "mean_nodes", "sample_size")}
        known |= dict.fromkeys(FORMS)
        if number in (0, count - 1) or (number + 1) % settings["every"] == 0:
            known |= {form: exact_value(model, team).value for form, team in _teams(learner, state).items()}
        results.append(Iteration(iteration=number + 1, **known))
    tests = {form: tested_like_paper(model, team, settings["seed"]) for form, team in _teams(learner, state).items()}
    errors = {f"{form}_error": test.standard_error for form, test in tests.items()}
    results[-1] = msgspec.structs.replace(results[-1], **errors)
    return results


def _teams(learner: Learner, state: Round) -> dict[str, Team]:
    """The teams of a posterior that are evaluated."""
    mean = learner.posterior(state.counts).mean()
    return {"value": mean, "decided": mean.decided()}


def _best_replay(player: EpisodePlayer, tuning: SbprTuning) -> Team:
    """The action sequence of a random episode that earns most when it is replayed."""
    horizon = player.horizon(None, tuning.testing_tail, tuning.longest)
    episodes = player.play(Team.uniform(player.simulator), tuning.random_episodes, max(tuning.lengths))
    teams = [team for length in tuning.lengths for team in replays(episodes, length, tuning.elites)]
    for tests, keep in ((ROUGH, 10), (WELL, 1)):
        seed = player.seed()
        played = sorted((player.tested(team, tests, horizon, seed) for team in teams), key=lambda one: -one.value)
        teams = [one.team for one in played[:keep]]
    return teams[0]


def courses(rows: ResultRows) -> Evidence:
    """Every problem: the last iteration against the first, and against the paper's table 2."""
    evidence = Evidence([_course(problem, some) for problem, some in rows.groups("problem").items()])
    opposite = {words: evidence.names(f"{key} opposite") for key, (_, words) in MOVING.items()}
    contrary = "".join(f" {words} on: {', '.join(problems)}." for words, problems in opposite.items() if problems)
    constant = [
        f"{item.facts['name']} ({item.facts['size'].value:.2f} nodes)"
        for item in evidence.items
        if item.holds["constant size"]
    ]
    words = TEXTS.words["constant_sizes"].format(problems=", ".join(constant)) if constant else ""
    return Evidence(evidence.items, contrary=contrary, constant=words)


def _course(problem: str, some: ResultRows) -> Item:
    """One problem; the paper associates its curves with the numbers of the table."""
    entry, (first, last) = TABLE2[problem, "sbpr-iterations"], some.ends("iteration")
    values = {form: last.tested(form, f"{form}_error") for form in FORMS}
    compared = {form: verdict(entry.value, mean) for form, mean in values.items()}
    size = last["mean_nodes"]
    size_compared = size_verdict(entry.nodes, size)
    holds = {f"value {word}": word == compared["value"] for word in ("agrees", "higher", "lower")}
    holds |= {f"size {word}": word == size_compared for word in ("agrees", "more", "fewer")}
    for key, (wanted, _) in MOVING.items():
        side = compare(last.column(key), first.column(key)).side
        holds |= {key: side == wanted, f"{key} opposite": side not in (wanted, "level")}
    sizes = [its_rows.column("mean_nodes") for its_rows in some.groups("seed").values()]
    holds["constant size"] = all(max(each) - min(each) <= ROUNDING for each in sizes)
    facts: dict[str, Any] = {"first": first, "last": last, "entry": entry, "values": values, "compared": compared}
    return Item(holds, name=PROBLEMS[problem], size=size, size_compared=size_compared, **facts)


def tables(rows: ResultRows) -> list[TextTable]:
    """First and last iteration, and the last compared with the published value and size."""
    evidence, columns = courses(rows), TEXTS.columns
    lines = [item.facts for item in evidence.items]
    return [
        text_table("First and last iteration", columns["course"], lines, evidence.facts["constant"]),
        text_table("The last iteration compared with table 2", columns["last"], lines, TEXTS.words["last"]),
    ]


def pictures(rows: ResultRows) -> list[Picture]:
    """A row of three panels per problem."""
    panels = []
    for problem, some in rows.groups("problem").items():
        iterations, entry = some.column("iteration"), TABLE2[problem, "sbpr-iterations"]
        values = (curve(some, "iteration", form, name) for form, name in FORMS.items())
        value = (*values, level("paper", iterations, entry.value))
        size = (curve(some, "iteration", "mean_nodes", "occupied"), level("paper", iterations, entry.nodes))
        rate = (curve(some, "iteration", "exploration", "mean over visits"),)
        panels.append(
            (
                Panel(PROBLEMS[problem], "iteration", "value", value),
                Panel("", "iteration", "nodes per agent", size, span=(0, None)),
                Panel("", "iteration", "exploration rate", rate, span=(0, None)),
            )
        )
    return [Picture("appendix", TEXTS.words["caption"], tuple(panels))]


rows = partial(flat, keys=("problem", "seed"))
EXPERIMENT = Experiment("appendix", cells, rows, tables, {"courses": courses}, pictures)
