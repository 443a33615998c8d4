"""Learn a problem from its rules: two robots must lift a crate together.

Each has a poor sensor, and they cannot talk. The obvious team lifts whenever the sensor says so; the learned one is
better, because both robots look at fixed times only. `decpomdp learn examples/own_problem.py:build` does the same.
"""

import decpomdp as dp

BOTH = ("lift", "lift")


def transition(state: str, actions: tuple[str, ...]) -> str | dict[str, float]:
    if state == "crate" and actions != BOTH:
        return "crate"  # it stays until both lift
    return {"empty": 0.8, "crate": 0.2}


def observation(agent: int, next_state: str) -> dict[str, float]:
    seen, wrong = ("something", "nothing") if next_state == "crate" else ("nothing", "something")
    return {seen: 0.8, wrong: 0.2}


def reward(state: str, actions: tuple[str, ...]) -> float:
    if actions == BOTH:
        return 20 if state == "crate" else -10
    return -5 if "lift" in actions else 0


def build() -> dp.DecPOMDP:
    """The problem."""
    return dp.from_rules(
        name="crate",
        states=("empty", "crate"),
        actions=("wait", "lift"),
        observations=("nothing", "something"),
        start="empty",
        transition=transition,
        observation=observation,
        reward=reward,
        discount=0.9,
    )


def obvious(model: dp.DecPOMDP) -> dp.Team:
    """Node 0 waits, node 1 lifts; the last observation chooses the node."""
    controller = dp.Controller.deterministic(actions=[0, 1], moves=[[0, 1], [0, 1]], action_count=2)
    return dp.Team.of(model, [controller, controller])


def main() -> None:
    model = build()
    fit = dp.learn(model, steps=5_000_000, seed=1)
    print(f"obvious {dp.evaluate(obvious(model), model).value:.3f}")
    print(f"learned {dp.evaluate(fit.team, model).value:.3f}, exact, with {fit.team.nodes} nodes")
    print(fit.team.in_words())


if __name__ == "__main__":
    main()
