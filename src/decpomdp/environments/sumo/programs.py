"""SUMO's own programs for the lights: fixed-time, which is in the network, and actuated, which is made from it here.

Fixed-time: 42 s of green for the column, 3 s of yellow, the same for the row. Actuated: SUMO's standard: a green of
at least 5 s goes on for as long as vehicles follow each other within 3 s, and for 50 s at most. Actuated and late: the
same, but every green ends 5 s later than it would. That is how much later, on average, a light ends it that decides
every 10 s; it tells what deciding so seldom costs, and is no baseline.
"""

import tempfile
from functools import cache
from pathlib import Path

from decpomdp.environments.sumo.network import GREEN, YELLOW, lights

YELLOW_SECONDS = 3
SHORTEST, USUAL, LONGEST = 5, 42, 50  # seconds of an actuated green
LATE = {"actuated": 0, "actuated-late": 5}  # seconds by which it ends later


@cache
def actuated_file(side: int, control: str) -> Path:
    """The actuated programs of all lights as a file for SUMO; it goes when the process ends."""
    folder = tempfile.TemporaryDirectory(prefix="decpomdp-sumo-")
    _folders.append(folder)
    path = Path(folder.name) / f"{control}{side}.add.xml"
    path.write_text(actuated(side, LATE[control]), encoding="utf-8")
    return path


_folders: list["tempfile.TemporaryDirectory[str]"] = []  # kept until the process ends


def actuated(side: int, late: int = 0) -> str:
    """The same in words."""
    logics = "\n".join(_logic(light, late) for light in lights(side))
    return f"<additional>\n{logics}\n</additional>\n"


def _logic(light: str, late: int) -> str:
    phases = []
    for green, yellow in zip(GREEN, YELLOW, strict=True):
        phases.append(f'<phase duration="{USUAL}" minDur="{SHORTEST}" maxDur="{LONGEST}" state="{green}"/>')
        phases += [f'<phase duration="{late}" state="{green}"/>'] if late else []
        phases.append(f'<phase duration="{YELLOW_SECONDS}" state="{yellow}"/>')
    return f'<tlLogic id="{light}" type="actuated" programID="actuated" offset="0">{"".join(phases)}</tlLogic>'
