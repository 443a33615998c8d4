"""Other ways to learn from logs, on the same logs: exact values against the number of episodes.

    python benchmarks/peers.py --ways clone "q last" "q window"
    python benchmarks/peers.py --figure docs/pictures/peers.png        runs what is missing, then draws

clone       behaviour cloning: the mean of Dec-SBPR with equal utilities
q last      tabular Q-learning of every agent from the team reward; its memory is the last observation
q window    the same with the last two observations
cql         one recurrent net (GRU) per agent, independent conservative Q-learning; needs torch (CPU is enough):
            python -m venv peers && peers/bin/pip install . torch; peers/bin/python benchmarks/peers.py
logs        `decpomdp learn LOGS`, 60 s each: most of the time

Q-learning backs up actions that occur only. Values of `cql` are means of played episodes; all others are exact.
"""

import argparse
import itertools
import json
import warnings
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from logs import logs, team_of

import decpomdp as dp
from decpomdp.interaction.world.method import behaviour_value

LABELS = {
    "logs": "decpomdp learn LOGS",
    "clone": "behaviour cloning",
    "q last": "Q, last observation",
    "q window": "Q, last two",
    "cql": "CQL, recurrent nets",
}
LIMIT = 60.0  # seconds of `logs`

SWEEPS, FEWEST = 300, 3  # of Q-learning; occurrences of a pair that is backed up
UPDATES, BATCH, WIDE, ALPHA, RATE = 600, 64, 32, 1.0, 3e-3  # of the recurrent net
PLAYED = 1000  # episodes of it


def cloned(data: dp.Episodes, seed: int) -> dp.Team:
    return dp.learn(data, dp.Sbpr(utility="equal", judge=False), seed=seed, threads=1).team


def q_learned(data: dp.Episodes, window: int) -> dp.Team:
    """Every agent alone; its memory is a number in base |O| + 1 of its last observations, 0 for none."""
    firsts = np.zeros(data.steps, bool)
    firsts[data.offsets[:-1]] = True
    lasts = np.zeros(data.steps, bool)
    lasts[data.offsets[1:] - 1] = True
    controllers = []
    for n, agent in enumerate(data.agents):
        base, actions = len(agent.observations) + 1, len(agent.actions)
        count = base**window
        memory, seen = np.zeros(data.steps, int), data.observations[:, n].astype(int) + 1
        for r in range(data.steps):
            memory[r] = seen[r] if firsts[r] else (memory[r - 1] * base + seen[r]) % count
        pair, paid = memory * actions + data.actions[:, n], np.bincount
        times = paid(pair, minlength=count * actions)
        rewards = paid(pair, data.rewards, count * actions)
        moves = np.zeros((count * actions, count))
        np.add.at(moves, (pair[:-1][~lasts[:-1]], memory[1:][~lasts[:-1]]), 1.0)
        on = np.maximum(moves.sum(1), 1.0)
        known, q = times >= FEWEST, np.zeros(count * actions)
        for _ in range(SWEEPS):
            masked = np.where(known, q, -np.inf).reshape(count, actions).max(1)
            best = np.where(np.isfinite(masked), masked, 0.0)
            q = rewards / np.maximum(times, 1) + data.discount * (moves / on[:, None]) @ best
        choice = np.where(known, q, -1e300).reshape(count, actions).argmax(1)
        onward = [[(m * base + o + 1) % count for o in range(base - 1)] for m in range(count)]
        controllers.append(dp.Controller.deterministic(choice.tolist(), onward, actions))
    return dp.Team.of(data, controllers)


def conservative(data: dp.Episodes, problem: str, seed: int) -> float:
    """Independent CQL with recurrent nets, and the mean return of the episodes that they play."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    lengths, rng = data.lengths, np.random.default_rng(seed)
    longest = int(lengths.max())
    rows = data.offsets[:-1, None] + np.minimum(np.arange(longest), lengths[:, None] - 1)
    mask = torch.tensor(np.arange(longest) < lengths[:, None], dtype=torch.float32)
    scale = max(float(np.abs(data.rewards).max()), 1e-9)
    rewards = torch.tensor(data.rewards[rows] / scale, dtype=torch.float32)

    class Net(nn.Module):
        def __init__(self, observations: int, actions: int) -> None:
            super().__init__()
            self.sizes = observations + 1, actions + 1
            self.cell, self.head = nn.GRU(sum(self.sizes), WIDE, batch_first=True), nn.Linear(WIDE, actions)

        def inputs(self, seen: torch.Tensor, did: torch.Tensor) -> torch.Tensor:
            """One-hot last observation and last action; 0: none."""
            parts = (nn.functional.one_hot(part, size) for part, size in zip((seen, did), self.sizes, strict=True))
            return torch.cat(list(parts), -1).float()

        def forward(self, x: torch.Tensor, h: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
            out, h = self.cell(x, h)
            return self.head(out), h

    nets = []
    for n, agent in enumerate(data.agents):
        net, target = (Net(len(agent.observations), len(agent.actions)) for _ in range(2))
        seen = torch.tensor(data.observations[:, n].astype(int)[rows] + 1)
        acts = torch.tensor(data.actions[:, n].astype(int)[rows])
        x = net.inputs(seen, torch.cat([torch.zeros_like(acts[:, :1]), acts[:, :-1] + 1], 1))
        optimiser = torch.optim.Adam(net.parameters(), RATE)
        for update in range(UPDATES):
            if update % 50 == 0:
                target.load_state_dict(net.state_dict())
            some = torch.tensor(rng.integers(0, data.count, BATCH))
            q = net(x[some])[0]
            own = q.gather(-1, acts[some, :, None])[..., 0]
            with torch.no_grad():
                after = target(x[some])[0].max(-1).values
                ahead = torch.cat([after[:, 1:] * mask[some][:, 1:], torch.zeros(BATCH, 1)], 1)
            error = (own - rewards[some] - data.discount * ahead) ** 2 + ALPHA * (q.logsumexp(-1) - own)
            loss = (error * mask[some]).sum() / mask[some].sum()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        nets.append(net)
    return _played(nets, data, problem, seed)


def _played(nets: list, data: dp.Episodes, problem: str, seed: int) -> float:
    import torch

    simulator = dp.DenseSimulator(problem)
    simulator.reset(PLAYED, seed)
    total, weight = np.zeros(PLAYED), 1.0
    seen = np.full((PLAYED, len(nets)), -1)
    did, hidden = np.full((PLAYED, len(nets)), -1), [None] * len(nets)
    for _ in range(60):
        now = np.empty((PLAYED, len(nets)), int)
        for n, net in enumerate(nets):
            with torch.no_grad():
                x = net.inputs(torch.tensor(seen[:, n] + 1), torch.tensor(did[:, n] + 1))
                q, hidden[n] = net(x[:, None], hidden[n])
            now[:, n] = q[:, 0].argmax(-1).numpy()
        step = simulator.step(now)
        total += weight * step.rewards
        seen, did, weight = np.asarray(step.observations, int), now, weight * data.discount
    return float(total.mean())


WAYS = {  # name: (value of what it learns, its mark in the figure)
    "logs": (
        lambda data, problem, seed: _exact(dp.learn(data, seed=seed, threads=1, time_limit=LIMIT).team, problem),
        "o-",
    ),
    "clone": (lambda data, problem, seed: _exact(cloned(data, seed), problem), "s--"),
    "q last": (lambda data, problem, seed: _exact(q_learned(data, 1), problem), "^:"),
    "q window": (lambda data, problem, seed: _exact(q_learned(data, 2), problem), "v:"),
    "cql": (conservative, "D-."),
}


def _exact(team: dp.Team, problem: str) -> float:
    return dp.evaluate(team, problem).value


class Cell(NamedTuple):
    """One log and one way to learn from it."""

    problem: str
    behaviour: str
    episodes: int
    seed: int
    way: str


def drawn(values: dict[Cell, float], behaved: dict[tuple[str, str], float], path: Path) -> None:
    """Value against the number of episodes: a row per behaviour, a column per problem, medians over seeds."""
    from matplotlib.figure import Figure

    problems = list(dict.fromkeys(cell.problem for cell in values))
    behaviours = list(dict.fromkeys(cell.behaviour for cell in values))
    figure = Figure(figsize=(3.2 * len(problems), 2.6 * len(behaviours)), layout="constrained")
    axes = figure.subplots(len(behaviours), len(problems), squeeze=False, sharex=True)
    for row, behaviour in zip(axes, behaviours, strict=True):
        for axis, problem in zip(row, problems, strict=True):
            for way, (_, mark) in WAYS.items():
                seeds = defaultdict(list)
                for cell, value in values.items():
                    if (cell.problem, cell.behaviour, cell.way) == (problem, behaviour, way):
                        seeds[cell.episodes].append(value)
                counts = sorted(seeds)
                axis.plot(counts, [np.median(seeds[count]) for count in counts], mark, ms=4, label=LABELS[way])
            axis.axhline(behaved[problem, behaviour], color="0.6", lw=1, label="the behaviour")
            axis.set(xscale="log", title=f"{problem}, {behaviour}")
            axis.set_yscale("symlog", linthresh=20) if problem == "dectiger" else None
            counts = sorted({cell.episodes for cell in values})
            axis.set_xticks(counts, [str(count) for count in counts])
            axis.minorticks_off()
        row[0].set_ylabel("value")
    for axis in axes[-1]:
        axis.set_xlabel("episodes")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="*", default=["dectiger", "recycling", "boxpushing"])
    parser.add_argument("--behaviours", nargs="*", default=["random", "30 %", "mixed"])
    parser.add_argument("--episodes", nargs="*", type=int, default=[100, 300, 1000])
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2, 3])
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    parser.add_argument("--teams", type=Path, default=Path("build/teams"))
    parser.add_argument("--out", type=Path, default=Path("build/peers.jsonl"), help="finished cells are not run again")
    parser.add_argument("--figure", type=Path, help="draw all finished cells")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.touch()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()]
    values = {Cell(*row["cell"]): row["value"] for row in rows}
    cells = itertools.product(given.problems, given.behaviours, given.episodes, given.seeds, given.ways)
    for cell in itertools.starmap(Cell, cells):
        if cell not in values:
            data = logs(cell.problem, team_of(cell.problem, given.teams), *cell[1:4])
            values[cell] = WAYS[cell.way][0](data, cell.problem, cell.seed)
            with given.out.open("a") as file:
                file.write(json.dumps({"cell": cell, "value": values[cell]}) + "\n")
    groups = defaultdict(list)
    for cell, value in values.items():
        groups[cell._replace(seed=0)].append(value)
    for cell, found in groups.items():
        spread = f"median {np.median(found):.2f} ({min(found):.2f} to {max(found):.2f}), {len(found)} seeds"
        print(f"{cell.problem} {cell.behaviour} {cell.episodes} {cell.way}: {spread}")
    if given.figure:
        behaved = {}
        for problem, behaviour in {(cell.problem, cell.behaviour) for cell in values}:
            data = logs(problem, team_of(problem, given.teams), behaviour, 3000, 99)
            behaved[problem, behaviour] = behaviour_value(data)
        drawn(values, behaved, given.figure)


if __name__ == "__main__":
    main()
