"""Write a controller by hand: the optimal three-step plan for Dec-Tiger, repeated forever.

Listen twice; open the door away from the sound if both sounds agreed, listen once more if not; start again.
"""

import decpomdp as dp

LISTEN, OPEN_LEFT, OPEN_RIGHT = 0, 1, 2
# node: action, next node on hear-left, next node on hear-right
TABLE = [
    (LISTEN, 1, 2),  # 0 nothing heard yet
    (LISTEN, 3, 4),  # 1 heard left
    (LISTEN, 4, 5),  # 2 heard right
    (OPEN_RIGHT, 0, 0),  # 3 heard left twice: the tiger is on the left
    (LISTEN, 0, 0),  # 4 the sounds disagreed
    (OPEN_LEFT, 0, 0),  # 5 heard right twice
]


def controller() -> dp.Controller:
    """The same controller serves both agents."""
    actions = [row[0] for row in TABLE]
    moves = [row[1:] for row in TABLE]
    return dp.Controller.deterministic(actions, moves, action_count=3)


def main() -> None:
    model = dp.load("dectiger")
    team = dp.Team.of(model, [controller(), controller()])
    closed_form = (-2 - 1.8 + 0.81 * 9.190812) / (1 - 0.9**3)
    print(f"exact value {dp.evaluate(team, model).value:.4f}, closed form {closed_form:.4f}")


if __name__ == "__main__":
    main()
