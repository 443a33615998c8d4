"""The demand files that are shipped: what the simulation draws, in SUMO's own words."""

import gzip
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from decpomdp.environments.sumo.network import (
    BLOCK,
    FILE_RATE,
    FILE_SECONDS,
    FILE_SEED,
    SIDES,
    Demand,
    demand_file,
    network_file,
    write_demand,
)

PLAY = """
import sys, libsumo
libsumo.start(["sumo", "-n", sys.argv[1], "-r", sys.argv[2], "--no-step-log", "--no-warnings"])
for _ in range(120):
    libsumo.simulationStep()
print(libsumo.simulation.getDepartedNumber() >= 0 and len(libsumo.vehicle.getIDList()))
libsumo.close()
"""


@pytest.mark.parametrize("side", SIDES)
def test_the_shipped_files_are_what_is_drawn(tmp_path, side):
    write_demand(tmp_path / "again.rou.xml.gz", side)
    again = (tmp_path / "again.rou.xml.gz").read_bytes()
    assert gzip.decompress(again) == gzip.decompress(demand_file(side).read_bytes())


@pytest.mark.parametrize("side", SIDES)
def test_every_vehicle_is_there_and_drives_on_streets_of_the_network(side):
    drawn = Demand(side, FILE_RATE, FILE_SEED)
    trips = [trip for _ in range(FILE_SECONDS // BLOCK) for trip in drawn.block()]
    vehicles = ElementTree.fromstring(gzip.decompress(demand_file(side).read_bytes())).findall("vehicle")
    assert [float(vehicle.get("depart")) for vehicle in vehicles] == [trip.depart for trip in trips]
    network = ElementTree.fromstring(gzip.decompress(network_file(side).read_bytes()))
    streets = {edge.get("id") for edge in network.findall("edge")}
    used = {street for vehicle in vehicles for street in vehicle.find("route").get("edges").split()}
    assert used <= streets
    assert len(vehicles) > 100


@pytest.mark.slow
def test_sumo_plays_them():
    pytest.importorskip("libsumo")
    files = [str(network_file(4)), str(demand_file(4))]
    done = subprocess.run([sys.executable, "-c", PLAY, *files], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout.split()[-1]) > 20
