"""Traffic lights in SUMO: one controller for all lights, and the table of policies on 4 x 4 and 10 x 10.

python benchmarks/sumo.py table [FOLDER]                        everything: learn, then both tables
python benchmarks/sumo.py learn [TEAM.json [ITERATIONS [SEED [SIDE [START.json]]]]]
python benchmarks/sumo.py compare TEAM.json [SIDE [SEEDS [DECISIONS [RATE [FILE.csv]]]]]
python benchmarks/sumo.py course TEAM.json [SIDE [SEEDS [DECISIONS]]]   how many wait, by the time of the episode
python benchmarks/sumo.py late FILE.csv [SIDE [SEEDS [DECISIONS [RATE]]]]   what greens that end 5 s late cost actuated
python benchmarks/sumo.py seeds FILE.csv [POLICY [RIVAL]]       a comparison seed by seed, the busiest seed first
python benchmarks/sumo.py speed                                 decisions a second

Episodes that are in FILE.csv are not played again: an interrupted comparison is continued.

Needs decpomdp[sumo].
"""

import csv
import json
import sys
import time
from dataclasses import asdict, fields, replace
from pathlib import Path

from shared_lights import (
    MEASURES,
    PROGRAMS,
    TEST_SEED,
    Score,
    SharedSettings,
    Trial,
    difference,
    learned,
    scores,
    summary,
    transferred,
)

from decpomdp.environments.sumo.grid import RATE, SumoGrid
from decpomdp.io.runs import team_digest
from decpomdp.io.team import read_team, write_team
from decpomdp.rollouts.play import players_of

SEEDS, DECISIONS = 5, 180
LATER = "actuated-late"


def learn(path="sumo-team.json", iterations=None, seed="0", side="4", start=None):
    settings, trial = SharedSettings(), Trial()
    if side == "10":  # an episode has a hundred lights to learn from, and costs as much
        settings, trial = replace(settings, episodes=2, step=0.3), Trial(episodes=2, horizon=60, every=4)
    first = None if start is None else read_team(start)
    if iterations is not None:
        settings = replace(settings, iterations=int(iterations))
    begin, best = time.perf_counter(), None
    for iteration, team, ratio in learned(SumoGrid(int(side)), settings, int(seed), trial, first):
        if team != best:
            write_team(team, path)  # an interrupt leaves the best so far
            best = team
        print(f"iteration {iteration:3d}  best so far: worst measure {ratio:.3f} of longest queue  "
              f"{time.perf_counter() - begin:5.0f} s", flush=True)  # fmt: skip
    print(f"{path}: {best.controllers[0].nodes} nodes at every light")


def compare(path, side="4", seeds=str(SEEDS), decisions=str(DECISIONS), rate=str(RATE), out=None):
    grid = SumoGrid(int(side), rate=float(rate))
    teams = {**grid.policies(), "learned": transferred(read_team(path), grid)}
    numbers = [TEST_SEED + k for k in range(int(seeds))]
    played = {**settings_of(side, decisions, rate), "team": team_digest(read_team(path))}
    found, played = ([], played) if out is None else kept(out, played)

    def watch(score):
        print(score, flush=True)
        found.append(score)
        if out is not None:
            keep(out, found, played)

    for name in (*PROGRAMS, *teams):
        left = [seed for seed in numbers if (name, seed) not in {(one.policy, one.seed) for one in found}]
        some = {name: teams[name]} if name in teams else {}
        for few in (left[begin : begin + grid.workers] for begin in range(0, len(left), grid.workers)):
            scores(grid, some, few, int(decisions), () if some else (name,), watch)
    report(found, side, decisions, rate)


def settings_of(side, decisions, rate):
    return {"side": int(side), "decisions": int(decisions), "rate": float(rate)}


def kept(path, wanted):
    """The scores of a file and how they were played, which must be as wanted; none if there is no file."""
    if not Path(path).exists():
        return [], wanted
    kinds = {field.name: field.type for field in fields(Score)}
    with open(path, newline="") as file:
        played = json.loads(file.readline().removeprefix("# "))
        if any(played.get(key, value) != value for key, value in wanted.items()):
            sys.exit(f"error: {path}: expected scores of {wanted}, got those of {played}; take another file")
        rows = [Score(**{key: kinds[key](cell) for key, cell in row.items()}) for row in csv.DictReader(file)]
    return rows, {**played, **wanted}


def keep(path, found, played):
    with open(path, "w", newline="") as file:
        file.write(f"# {json.dumps(played)}\n")
        writer = csv.DictWriter(file, [field.name for field in fields(Score)])
        writer.writeheader()
        writer.writerows(asdict(score) for score in found)


def course(path, side="10", seeds=str(SEEDS), decisions=str(DECISIONS)):
    grid = SumoGrid(int(side))
    teams = {"actuated": None, **grid.policies(), "learned": transferred(read_team(path), grid)}
    numbers, parts = [TEST_SEED + k for k in range(int(seeds))], int(decisions) // 30
    for name, team in teams.items():
        players, control = (None, name) if team is None else (players_of(team), "agents")
        played = grid.play_seeds(players, numbers, 30 * parts, control=control)
        for column, table in (("waiting", played.waits), ("on their way", played.present)):
            means = table.sum(axis=1).reshape(len(numbers), parts, 30).mean(axis=(0, 2))
            print(
                f"{name:14s} {column:12s} by five minutes: " + "  ".join(f"{mean:6.0f}" for mean in means), flush=True
            )
        if team is not None:
            print(f"{name:14s} switches at {100 * played.paths.actions.mean():.0f} % of all decisions", flush=True)
    grid.close()


def late(out, side="10", seeds=str(SEEDS), decisions=str(DECISIONS), rate=str(RATE)):
    """Add to the file of a comparison: the actuated program, as late as lights that decide every ten seconds."""
    grid = SumoGrid(int(side), rate=float(rate))
    found, played = kept(out, settings_of(side, decisions, rate))
    numbers = [TEST_SEED + k for k in range(int(seeds))]
    for name in ("actuated", LATER):
        left = [seed for seed in numbers if (name, seed) not in {(one.policy, one.seed) for one in found}]
        for few in (left[begin : begin + grid.workers] for begin in range(0, len(left), grid.workers)):
            found += scores(grid, {}, few, int(decisions), (name,), lambda score: print(score, flush=True))
            keep(out, found, played)
    report(found, side, decisions, rate)


def seeds(path, policy="learned", rival="actuated"):
    """The policy less the rival, in per cent of the rival."""
    found, played = kept(path, {})
    scored = {(score.policy, score.seed): score for score in found}
    both = [seed for name, seed in scored if name == policy and (rival, seed) in scored]
    print(f"{policy} less {rival}, {played['side']} x {played['side']} lights, {played['decisions']} decisions")
    for seed in sorted(both, key=lambda seed: -scored[rival, seed].vehicles):
        mine, theirs = scored[policy, seed], scored[rival, seed]
        cells = [f"{m} {100 * (getattr(mine, m) / getattr(theirs, m) - 1):+.1f} %" for m in MEASURES]
        print(f"seed {seed}  {theirs.vehicles} vehicles  " + "  ".join(cells))


def report(found, side, decisions, rate):
    known = {score.policy for score in found}
    names = [name for name in (*PROGRAMS, LATER, "random", "longest-queue", "learned") if name in known]
    print(f"\n{side} x {side} lights, {decisions} decisions of 10 s, {rate} vehicles an hour and gate; "
          "mean and 95 % interval over demand seeds")  # fmt: skip
    print("| policy | total waiting (vehicle-hours) | mean travel time (s) | arrived |")
    print("|---|---|---|---|")
    for name in names:
        print(f"| {name} | " + " | ".join(cell(summary(found, name, m), m) for m in MEASURES) + " |")
    for name in names[:-1]:
        cells = [cell(difference(found, names[-1], name, m), m) for m in MEASURES]
        print(f"| {names[-1]} less {name} | " + " | ".join(cells) + " |")


def cell(interval, measure):
    scale, digits = (3600, 1) if measure == "waiting" else (1, 1 if measure == "travel" else 0)
    return f"{interval.mean / scale:.{digits}f} ± {interval.give / scale:.{digits}f}"


def table(folder="sumo-table"):
    Path(folder).mkdir(parents=True, exist_ok=True)
    team = str(Path(folder) / "team.json")
    learn(team)
    compare(team, "4", out=Path(folder) / "grid4.csv")
    compare(team, "10", out=Path(folder) / "grid10.csv")


def speed():
    for side, horizon in ((4, 60), (10, 30)):
        for workers in (1, 2):
            grid = SumoGrid(side, workers=workers)
            players = players_of(grid.policies()["longest-queue"])
            grid.play_seeds(players, list(range(workers)), 1)
            begin = time.perf_counter()
            grid.play_seeds(players, list(range(2 * workers)), horizon)
            seconds = time.perf_counter() - begin
            grid.close()
            print(f"{side:2d} x {side}, {workers} processes: {2 * workers * horizon / seconds:.1f} decisions a second, "
                  "warm-up included", flush=True)  # fmt: skip


if __name__ == "__main__":
    commands = {"table": table, "learn": learn, "compare": compare, "course": course, "late": late, "speed": speed}
    {**commands, "seeds": seeds}[sys.argv[1]](*sys.argv[2:])
