"""Learning from logs: sizes and values from noisy episodes of good teams, and against the behaviour that left the logs.

    python benchmarks/logs.py sizes                optimal teams with 5 % noise: exact sizes and optimal values
    python benchmarks/logs.py behaviours           noise, PBVI, random, mixed: share of the way to the best known value
    python benchmarks/logs.py priors               other hyperparameters of the stick-breaking prior

Teams are learned by search and kept in --teams. One line per fit; a summary at the end. Values are exact.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np

import decpomdp as dp
from decpomdp.planners.pbvi.semi_random import semi_random

STEPS = 20
SEARCH = {  # problem: settings of the search that finds the team in the logs
    "boxpushing": {"steps": 20_000_000, "seed": 1},
    "recycling": {"steps": 20_000_000, "seed": 1},
    "gridsmall": {"steps": 60_000_000, "seed": 3, "max_nodes": 5},
    "dectiger": {"steps": 20_000_000, "seed": 1},
    "broadcast": {"steps": 60_000_000, "seed": 3, "max_nodes": 3},
    "marsrovers": {"steps": 250_000_000, "seed": 3},
}
OTHER = {"steps": 20_000_000, "seed": 1}  # of every other problem
TWO = ("sensing,2", "relay,2", "resource,2", "door,2", "positions,4", "far,5", "random,6", "meeting,5")
THREE = ("sensing,2", "relay,2", "resource,2", "door,1")  # kind and size
GENERATED = [
    f"generated:{kind},agents={agents},size={size},seed={200 + 2 * agents}"
    for agents, kinds in ((2, TWO), (3, THREE))
    for kind, size in (each.split(",") for each in kinds)
]
NOISE = {"5 %": 0.05, "10 %": 0.1, "30 %": 0.3}
BEHAVIOURS = (*NOISE, "mixed", "random", "PBVI 0.3")


def team_of(problem: str, folder: Path) -> dp.Team:
    """The team in the logs, learned once."""
    path = folder / f"{problem}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        dp.learn(problem, threads=1, **SEARCH.get(problem, OTHER)).team.save(path)
    return dp.Team.load(path)


def logs(problem: str, team: dp.Team, behaviour: str, episodes: int, seed: int) -> dp.Episodes:
    """Episodes of a behaviour."""
    if behaviour in NOISE:
        return dp.simulate(problem, team.exploring(NOISE[behaviour]), episodes, STEPS, seed=seed, threads=1)
    if behaviour == "random":
        return dp.simulate(problem, "random", episodes, STEPS, seed=seed, threads=1)
    if behaviour == "mixed":
        halves = [logs(problem, team, each, episodes // 2, seed) for each in ("random", "10 %")]
        return dp.Episodes.concatenate(halves)
    model = dp.load(problem)
    expert = dp.plan(model, "pbvi", beliefs=200, threads=1).policy
    parts = semi_random(model, expert, 0.3, episodes=episodes, steps=STEPS, seed=seed, threads=1)
    return dp.Episodes.concatenate(list(parts))


def fitted(episodes: dp.Episodes, settings: dp.Sbpr, seed: int) -> tuple[dp.Fit, float]:
    """A fit and its processor seconds."""
    began = time.process_time()
    fit = dp.learn(episodes, settings, seed=seed, threads=1)
    return fit, time.process_time() - began


def sizes(given: argparse.Namespace) -> None:
    totals: dict[tuple[int, str], list[tuple[bool, bool]]] = {}
    for count in given.episodes or (100, 300, 1000, 10_000):
        for problem in given.problems or ("boxpushing", "recycling", "gridsmall", "dectiger"):
            team = team_of(problem, given.teams)
            best, nodes = dp.evaluate(team, problem).value, max(team.nodes)
            for seed in given.seeds:
                data, line = logs(problem, team, "5 %", count, seed), []
                ways = {"sbpr": {}, "dp": {"prior": "dp"}, "fixed": {"prior": f"fixed:{nodes}"}}
                ways |= {"em x8": {"prior": f"em:{nodes}"}}
                ways |= {"em x1": {"prior": f"em:{nodes}", "starts": 1, "start": "random"}}
                for name, settings in ways.items():
                    if given.only and name not in given.only:
                        continue
                    fit, seconds = fitted(data, dp.Sbpr(judge=False, **settings), seed)
                    value = dp.evaluate(fit.team, problem).value
                    right = value >= best - 1e-3 * abs(best)
                    exact = fit.team.nodes == team.nodes
                    totals.setdefault((count, name), []).append((right, exact))
                    found = "+".join(map(str, fit.team.nodes))
                    line.append(f"{name} {found} {value:.2f}{'*' if right else ''} {seconds:.1f} s")
                print(f"K={count} {problem} {team.nodes} {best:.2f} seed {seed}: " + " | ".join(line), flush=True)
    for (count, name), found in totals.items():
        right, exact = np.mean(found, axis=0)
        print(f"K={count} {name}: optimal {right:.0%}, exact sizes {exact:.0%} of {len(found)}")


def behaviours(given: argparse.Namespace) -> None:
    ways: dict[str, list[float]] = {}
    worse = acted = fits = 0
    for count in given.episodes or (300, 3000):
        for behaviour in given.only or BEHAVIOURS:
            for problem in given.problems or (*SEARCH, *GENERATED):
                team = team_of(problem, given.teams)
                best = dp.evaluate(team, problem).value
                for seed in given.seeds:
                    data = logs(problem, team, behaviour, count, seed)
                    earned = float(data.returns().mean())
                    error = float(data.returns().std() / np.sqrt(data.count))
                    fit, seconds = fitted(data, dp.Sbpr(), seed)
                    short = dp.exact_value(problem, fit.team, STEPS).value
                    top = dp.exact_value(problem, team, STEPS).value
                    way = (short - earned) / (top - earned)
                    fits, worse = fits + 1, worse + (short < earned - 3 * error)
                    instead = ""
                    if fit.facts["verdict"] == "cloned behaviour":
                        acted += 1
                        learned, _ = fitted(data, dp.Sbpr(judge=False), seed)
                        instead = f" in place of {dp.exact_value(problem, learned.team, STEPS).value:.2f}"
                    if behaviour == "PBVI 0.3":  # a central planner: no team can do all that it does
                        clone, _ = fitted(data, dp.Sbpr(utility="equal", judge=False), seed)
                        instead += f", its clone {dp.exact_value(problem, clone.team, STEPS).value:.2f}"
                    ways.setdefault(behaviour, []).append(way)
                    print(
                        f"K={count} {behaviour} {problem} seed {seed}: it earns {earned:.2f}, learned {short:.2f} of "
                        f"{top:.2f} (way {way:.2f}), infinite horizon {dp.evaluate(fit.team, problem).value:.2f} of "
                        f"{best:.2f}, "
                        f"nodes {fit.team.nodes}, estimate {fit.facts['estimate']:.2f} "
                        f"({fit.facts['estimate_low']:.2f} to {fit.facts['estimate_high']:.2f}), "
                        f"{fit.facts['verdict']}{instead}, {seconds:.1f} s",
                        flush=True,
                    )
    for behaviour, found in ways.items():
        print(f"{behaviour}: median way {np.median(found):.2f}, worst {min(found):.2f}, {len(found)} fits")
    print(f"below the behaviour beyond noise: {worse} of {fits}; the cloned behaviour was returned: {acted}")


def priors(given: argparse.Namespace) -> None:
    tried = {"c=.1 d=1": {}, "d=100": {"d": 100.0}, "d=1e-6": {"d": 1e-6}, "c=1 d=1": {"c": 1.0, "d": 1.0}}
    tried |= {"sigma=.3 c=1 d=.3": {"sigma": 0.3, "c": 1.0, "d": 0.3}}
    for count in given.episodes or (100, 1000):
        for problem in given.problems or ("boxpushing", "recycling", "dectiger"):
            team = team_of(problem, given.teams)
            best = dp.evaluate(team, problem).value
            for seed in given.seeds:
                data, line = logs(problem, team, "5 %", count, seed), []
                for name, prior in tried.items():
                    fit, seconds = fitted(data, dp.Sbpr(prior=dp.StickBreaking(**prior), judge=False), seed)
                    value = dp.evaluate(fit.team, problem).value
                    star = "*" if value >= best - 1e-3 * abs(best) else ""
                    line.append(f"{name}: {fit.posterior.sizes} {value:.2f}{star} {seconds:.1f} s")
                print(f"K={count} {problem} seed {seed}: " + " | ".join(line), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("sizes", "behaviours", "priors"))
    parser.add_argument("--problems", nargs="*", help="default: the paper's, for behaviours twelve generated ones too")
    parser.add_argument("--episodes", nargs="*", type=int)
    parser.add_argument("--seeds", nargs="*", type=int, default=[2, 4, 6])
    parser.add_argument("--only", nargs="*", help="behaviours or learners")
    parser.add_argument("--teams", type=Path, default=Path("build/teams"))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    {"sizes": sizes, "behaviours": behaviours, "priors": priors}[given.what](given)


if __name__ == "__main__":
    main()
