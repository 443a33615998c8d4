"""The grid as the drawings want it (core.scene): north is up, every approach of a light is a street with a queue."""

from decpomdp.core.scene import COLUMN, NEITHER, ROW, Street, StreetMap, StreetScene
from decpomdp.environments.sumo import network
from decpomdp.environments.sumo.simulation import Shown

FULL = 26  # vehicles that stand in a block of 200 m
STOP = 0.1  # blocks before a light where its queue begins


def street_map(side: int) -> StreetMap:
    """Where lights and streets are."""
    lights = [(float(column), float(side - 1 - row)) for column, row in network.places(side)]
    names, streets = network.approaches(side), []
    for n, (column, row) in enumerate(lights):
        for a, (east, north) in enumerate(network.APPROACHES):
            stop = (column + STOP * east, row - STOP * north)
            streets.append(Street(names[4 * n + a], (column + east, row - north), stop, stop))
    return StreetMap(tuple(lights), tuple(streets), FULL)


def street_scene(shown: Shown, acted: bool) -> StreetScene:
    """What waits, and who has green; before the agents have acted, nobody has it from them."""
    axes = shown.views[:, -1].tolist()
    green = tuple((COLUMN, ROW)[axis] if acted else NEITHER for axis in axes)
    return StreetScene(tuple(shown.queues.ravel().tolist()), green)
