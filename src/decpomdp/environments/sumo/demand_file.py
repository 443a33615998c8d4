"""The demand of a seed as a file that SUMO itself reads, beside the network: for its own tools, and to look at.

The simulation draws its vehicles as it goes (`demand`), because every episode has a seed of its own and no end. For ten
minutes of one seed they are shipped: `sumo-gui -n grid4.net.xml.gz -r grid4.rou.xml.gz`. `write_demand` makes such a
file of any seed.
"""

import gzip
import os
from pathlib import Path

from decpomdp.environments.sumo.demand import BLOCK, Demand
from decpomdp.environments.sumo.network import checked_side, route
from decpomdp.io.files import write_bytes

SEED, SECONDS, RATE = 0, 600, 550.0  # of the files that are shipped


def demand_file(side: int) -> Path:
    """The demand that is shipped."""
    return Path(__file__).parent / "networks" / f"grid{checked_side(side)}.rou.xml.gz"


def write_demand(
    path: str | os.PathLike[str], side: int, seed: int = SEED, seconds: int = SECONDS, rate: float = RATE
) -> None:
    """The vehicles of the first `seconds` of a seed, in order of departure."""
    text = "\n".join(_lines(side, seed, seconds, rate)) + "\n"
    write_bytes(path, gzip.compress(text.encode(), mtime=0))


def _lines(side: int, seed: int, seconds: int, rate: float) -> list[str]:
    demand = Demand(side, rate, seed)
    trips = [trip for _ in range(seconds // BLOCK) for trip in demand.block()]
    lines = [
        "<routes>",
        f"  <!-- {side} x {side} lights, seed {seed}, {seconds} s, {rate:g} vehicles an hour and gate -->",
    ]
    for number, trip in enumerate(trips):
        edges = " ".join(route(side, trip.gate, trip.turn_at, trip.turn))
        at = f'id="{number}" depart="{trip.depart:.2f}" departLane="free" departSpeed="max"'
        lines.append(f'  <vehicle {at}><route edges="{edges}"/></vehicle>')
    return [*lines, "</routes>"]
