"""Learn a problem from a `.dpomdp` file: two robots must lift a crate together.

Each has a poor sensor, and they cannot talk. The obvious team lifts whenever the sensor says so; the learned one is
better, because both robots look at fixed times only.
"""

from pathlib import Path

import decpomdp as dp

FILE = Path(__file__).with_name("crate.dpomdp")
WAIT, LIFT = 0, 1


def obvious(model: dp.DecPOMDP) -> dp.Team:
    """Node 0 waits, node 1 lifts; the last observation chooses the node."""
    controller = dp.Controller.deterministic(actions=[WAIT, LIFT], moves=[[0, 1], [0, 1]], action_count=2)
    return dp.Team.of(model, [controller, controller])


def main() -> None:
    model = dp.load(FILE)
    fit = dp.learn(model, steps=5_000_000, seed=1)
    print(f"obvious {dp.evaluate(obvious(model), model).value:.3f}")
    print(f"learned {dp.evaluate(fit.team, model).value:.3f}, exact, with {fit.team.nodes} nodes")
    print(fit.team.in_words())


if __name__ == "__main__":
    main()
