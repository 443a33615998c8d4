"""What `make demo` runs: simulate Dec-Tiger, then evaluate two teams exactly."""

from dectiger_horizon3 import controller

import decpomdp as dp


def main() -> None:
    model = dp.load("dectiger")
    for name, team in (
        ("random", dp.Team.uniform(model)),
        ("listen twice, then decide", dp.Team.of(model, [controller(), controller()])),
    ):
        sampled = dp.sampled_value(model, team, episodes=20_000, seed=1)
        print(f"{name}: simulated {sampled.value:.2f} +- {sampled.standard_error:.2f}", end=", ")
        print(f"exact {dp.evaluate(team, model).value:.4f}")


if __name__ == "__main__":
    main()
