"""Mars rovers: two rovers drive between four sites and do one experiment at each; two sites need both rovers.

States: 64 * site of agent 1 + 16 * site of agent 2 + mask, where bit k of the mask says that site k is done. The sites
form a square numbered column by column (0 top left, 1 bottom left, 2 top right, 3 bottom right). Both rovers start at
site 0 with nothing done (state 0). Sites 0 and 3 must be drilled by both rovers together, sites 1 and 2 must be
sampled.
Actions: up, down, left, right, drill, sample. Observations: the rover's own site and whether it is done, without
error ("s3notampled" is spelt as in the published file).

Dynamics: a move succeeds with probability 0.9, independently for the rovers, otherwise the rover stays; moving off the
square leaves it where it is. Drilling or sampling always marks the rover's site as done, even if it was the wrong
action. After a step in which a rover worked and all four sites are done, the state is 0 again. (States with all sites
done are unreachable; in them, moves only change the sites of the rovers.)

Rewards, where "fresh" means not done before the step:
    - A rover that moves costs 0.1.
    - One rover works, the other moves: sampling a fresh site brings 2, drilling it alone -10, working on a done one -1.
    - Both work at the same fresh site: both drill brings 6 at sites 0 and 3 and 0 elsewhere; both sample brings 1 at
      sites 0 and 3 and 2 elsewhere; one of each brings 0. At the same done site: -1 each.
    - Both work at different sites: the published table looks only at what agent 1 does and counts agent 2 as doing the
      same: per site, sampling 2, drilling -10, a done site -1. So (sample, drill) pays like (sample, sample), while
      (drill, sample) pays like (drill, drill). And it pays 0, not -20, for drilling at two fresh sites. Both errors
      are kept so that values are comparable.

Source: C. Amato, S. Zilberstein. Achieving goals in decentralized POMDPs. AAMAS 2009.
"""

from itertools import product

from decpomdp.core import DecPOMDP
from decpomdp.domains.rules import from_rules

MOVES = ("up", "down", "left", "right")
ACTIONS = (*MOVES, "drill", "sample")
SITES = 4
OBSERVATIONS = (
    *("s0notSampled", "s1notSampled", "s2notSampled", "s3notampled"),
    *("s0sampled", "s1sampled", "s2sampled", "s3sampled"),
)
MASKS = 2**SITES
ALL_DONE = MASKS - 1
DRILL_SITES = (0, 3)

SUCCESS = 0.9
MOVE_COST = -0.1
WORK = {"drill": -10.0, "sample": 2.0}  # at a fresh site, one rover's share
DONE_COST = -1.0  # work at a site that is done, per rover

Pair = tuple[str, str]
Sites = tuple[int, int]


def build(discount: float = 0.9) -> DecPOMDP:
    """Two rovers drive between four sites and do one experiment at each; two sites must be drilled by both together.

    Each sees its own site and whether it is done; moves succeed with probability 0.9. When all sites are done,
    everything starts again.
    """
    return from_rules(
        states=range(SITES * SITES * MASKS),
        actions=ACTIONS,
        observations=OBSERVATIONS,
        start=0,
        transition=_transition,
        observation=_seen,
        reward=lambda state, actions: _reward(actions, *_parts(state)),
        discount=discount,
        name="marsrovers",
        scene=_scene,
    )


def _parts(state: int) -> tuple[Sites, int]:
    """The sites of the rovers, and the mask of done sites."""
    place, mask = divmod(state, MASKS)
    one, other = divmod(place, SITES)
    return (one, other), mask


def _transition(state: int, actions: Pair) -> dict[int, float]:
    sites, mask = _parts(state)
    worked = {site for site, action in zip(sites, actions, strict=True) if action in WORK}
    after = mask | sum(1 << site for site in worked)
    if worked and after == ALL_DONE:
        return {0: 1.0}
    one, other = (_drive(site, action) for site, action in zip(sites, actions, strict=True))
    return {(SITES * a + b) * MASKS + after: p * q for (a, p), (b, q) in product(one.items(), other.items())}


def _drive(site: int, action: str) -> dict[int, float]:
    """One rover after the step; it stays while it works."""
    there = _beside(site, action)
    return {site: 1.0} if there == site else {there: SUCCESS, site: 1 - SUCCESS}


def _beside(site: int, action: str) -> int:
    """The site a successful action leads to: site 2 * column + row."""
    column, row = divmod(site, 2)
    row = {"up": 0, "down": 1}.get(action, row)
    column = {"left": 0, "right": 1}.get(action, column)
    return 2 * column + row


def _seen(agent: int, next_state: int) -> str:
    """A rover's own site and whether it is done."""
    sites, mask = _parts(next_state)
    return OBSERVATIONS[sites[agent] + SITES * _done(sites[agent], mask)]


def _done(site: int, mask: int) -> bool:
    return bool(mask >> site & 1)


def _reward(pair: Pair, sites: Sites, mask: int) -> float:
    done = (_done(sites[0], mask), _done(sites[1], mask))
    if any(action in MOVES for action in pair):
        return sum(_share(action, over) for action, over in zip(pair, done, strict=True))
    if sites[0] != sites[1]:
        return _reward_apart(pair, done)
    return 2 * DONE_COST if done[0] else _reward_together(pair, sites[0])


def _share(action: str, done: bool) -> float:
    """The reward of one rover's action if the rovers do not work at the same site."""
    if action in MOVES:
        return MOVE_COST
    return DONE_COST if done else WORK[action]


def _reward_together(pair: Pair, site: int) -> float:
    """Both work at the same fresh site."""
    wants_drill = site in DRILL_SITES
    if pair == ("drill", "drill"):
        return 6.0 if wants_drill else 0.0
    if pair == ("sample", "sample"):
        return 1.0 if wants_drill else 2.0
    return 0.0


def _reward_apart(pair: Pair, done: tuple[bool, bool]) -> float:
    """Both work, at different sites: agent 2 counts as doing what agent 1 does, as in the published table."""
    if pair[0] == "drill" and not any(done):
        return 0.0  # as published; the shares would give -20
    return _share(pair[0], done[0]) + _share(pair[0], done[1])


def _scene(state: int) -> list[dict[str, object]]:
    place, mask = divmod(state, MASKS)
    places = [divmod(site, 2) for site in range(SITES)]  # column, row
    sites: list[dict[str, object]] = [
        {"kind": "site", "column": column, "row": row, "label": "drill" if k in DRILL_SITES else "sample"}
        for k, (column, row) in enumerate(places)
    ]
    done = [{**site, "done": _done(k, mask)} for k, site in enumerate(sites)]
    rovers = [places[site] for site in divmod(place, SITES)]
    return done + [{"kind": "agent", "column": c, "row": r, "label": n + 1} for n, (c, r) in enumerate(rovers)]
