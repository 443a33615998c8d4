"""Robots, boxes and sites on a grid as a drawing that moves; what stands where is the domain's word (`pictures.py`)."""

from collections.abc import Mapping, Sequence
from typing import Any

from decpomdp.report.drawing import DISPLAY, MOVE, TURN, Change, Drawing, Film, Mark, Part

CELL = 90.0
BESIDE = 38.0  # pixels between robots that share a cell
NOSE = ((0.0, -23.0), (19.0, 14.0), (0.0, 18.0), (-19.0, 14.0))  # a robot that looks up
TICK = ((0.0, 6.0), (3.0, 3.0), (6.0, 6.5), (13.0, -2.0), (16.0, 1.0), (6.0, 12.0))  # what is done
HEAD = 24.0  # pixels above a zone's boxes, where its name stands

Thing = Mapping[str, Any]
Pose = tuple[float, float, float, bool]  # x, y, turn, whether it is there at all


def grid_film(picture: Mapping[str, Any], states: Sequence[Sequence[int]], names: Mapping[int, str]) -> Film:
    """A drawing with a frame for every state: states[k][t]; `picture` is what `picture_of` says about them."""
    shown = {int(state): things for state, things in picture["states"].items()}
    standing, robots = _standing(shown), _robots(shown)
    parts: list[Part] = []
    changes: list[Change] = []
    pick: list[dict[int, int]] = []  # per change: state -> which choice
    for look, where in standing.items():
        changes.append(Change(len(parts), DISPLAY, (0.0, 1.0)))
        pick.append({state: int(state in where) for state in shown})
        parts.append(Part(_marks(dict(look))))
    for label, poses in robots.items():
        for marks, turns in _robot(label, poses):
            for what, values in _changes(poses, turns).items():
                choices = tuple(dict.fromkeys(values.values()))
                changes.append(Change(len(parts), what, choices))
                pick.append({state: choices.index(values[state]) for state in shown})
            parts.append(Part(marks, said=f"agent {label}", agent=int(label) - 1))
    wide, high = picture["columns"] * CELL, picture["rows"] * CELL
    cells = [
        Mark("rect", "cell", {"x": c * CELL, "y": r * CELL, "width": CELL, "height": CELL})
        for r in range(picture["rows"])
        for c in range(picture["columns"])
    ]
    drawing = Drawing(-2, -2, wide + 4, high + 4, tuple(cells), tuple(parts), tuple(changes))
    frames = tuple(tuple(tuple(places[state] for places in pick) for state in episode) for episode in states)
    captions = tuple(tuple(f"state {names[state]}" for state in episode) for episode in states)
    return Film(drawing, frames, captions)


def _standing(shown: Mapping[int, Sequence[Thing]]) -> dict[tuple[tuple[str, Any], ...], set[int]]:
    """What does not move by itself, each with the states in which it is so; zones first, they lie below."""
    found: dict[tuple[tuple[str, Any], ...], set[int]] = {}
    for state, things in shown.items():
        for thing in things:
            if thing["kind"] != "agent":
                found.setdefault(tuple(sorted(thing.items())), set()).add(state)
    return dict(sorted(found.items(), key=lambda item: dict(item[0])["kind"] != "zone"))


def _robots(shown: Mapping[int, Sequence[Thing]]) -> dict[str, dict[int, Pose]]:
    """Per robot: where it is in every state; those in one cell stand beside each other."""
    labels = dict.fromkeys(str(t["label"]) for things in shown.values() for t in things if t["kind"] == "agent")
    poses: dict[str, dict[int, Pose]] = {label: {} for label in labels}
    for state, things in shown.items():
        agents = [thing for thing in things if thing["kind"] == "agent"]
        for label in labels:
            poses[label][state] = _pose(next((t for t in agents if str(t["label"]) == label), None), agents)
    return poses


def _pose(thing: Thing | None, agents: Sequence[Thing]) -> Pose:
    if thing is None:
        return 0.0, 0.0, 0.0, False
    near = [t for t in agents if (t["column"], t["row"]) == (thing["column"], thing["row"])]
    shift = (near.index(thing) - (len(near) - 1) / 2) * BESIDE
    return (thing["column"] + 0.5) * CELL + shift, (thing["row"] + 0.5) * CELL + 8, float(thing.get("turn", -1.0)), True


def _robot(label: str, poses: Mapping[int, Pose]) -> list[tuple[tuple[Mark, ...], bool]]:
    """Body and number: the number stays upright when the body turns."""
    look = f"robot a{(int(label) - 1) % 4}"
    turns = any(there and turn >= 0 for _, _, turn, there in poses.values())
    body = Mark("polygon", look, {}, points=NOSE) if turns else Mark("circle", look, {"cx": 0.0, "cy": 0.0, "r": 17.0})
    number = Mark("text", "name", {"x": 0.0, "y": 6.0, "size": 16.0}, label)
    return [((body,), True), ((number,), False)] if turns else [((body, number), False)]


def _changes(poses: Mapping[int, Pose], turns: bool) -> dict[str, dict[int, Any]]:
    """One value per state for everything about a robot that changes; who is nowhere stays where it was first seen."""
    seen = next((pose for pose in poses.values() if pose[3]), (0.0, 0.0, 0.0, False))
    kept = {state: pose if pose[3] else (*seen[:3], False) for state, pose in poses.items()}
    found: dict[str, dict[int, Any]] = {MOVE: {state: (pose[0], pose[1]) for state, pose in kept.items()}}
    if turns:
        found[TURN] = {state: pose[2] for state, pose in kept.items()}
    if not all(pose[3] for pose in poses.values()):
        found[DISPLAY] = {state: float(pose[3]) for state, pose in kept.items()}
    return found


def _marks(thing: Thing) -> tuple[Mark, ...]:
    x, y, wide = thing["column"] * CELL, thing["row"] * CELL, thing.get("width", 1) * CELL
    words = str(thing.get("label", ""))
    if thing["kind"] == "zone":
        ground = {"x": x + 1, "y": y + 1, "width": wide - 2, "height": CELL - 2}
        return Mark("rect", "zone", ground), Mark("text", "label", {"x": x + 30, "y": y + 17, "size": 13.0}, words)
    if thing["kind"] == "box":
        body = {"x": x + 14, "y": y + HEAD, "width": wide - 28, "height": CELL - HEAD - 12, "rx": 5.0}
        name = {"x": x + wide / 2, "y": y + HEAD + (CELL - HEAD - 12) / 2 + 5, "size": 13.0}
        return Mark("rect", "box", body), Mark("text", "onbox", name, words)
    if thing["kind"] == "site":
        done = bool(thing.get("done"))
        area = {"x": x + 6, "y": y + 6, "width": CELL - 12, "height": CELL - 12, "rx": 10.0}
        at = {"x": x + CELL / 2, "y": y + 23, "size": 12.0}
        marks = (Mark("rect", "site done" if done else "site", area), Mark("text", "label", at, words))
        tick = tuple((x + CELL - 26 + a, y + CELL - 24 + b) for a, b in TICK)
        return (*marks, Mark("polygon", "tick", {}, points=tick)) if done else marks
    return ()
