"""Reading in a process of its own, whose memory and time are measured."""

import subprocess
import sys

SCRIPT = """
import resource, sys
import numpy, pyarrow.csv, pyarrow.parquet
import decpomdp as dp
from decpomdp.io import opening, table_csv
path, megabytes, seconds, longest, memory = sys.argv[1], *map(int, sys.argv[2:])
table_csv.LONGEST = longest or table_csv.LONGEST
opening.memory = (lambda: memory) if memory else opening.memory
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
resource.setrlimit(resource.RLIMIT_AS, (8 << 30,) * 2)  # allocators reserve far more than they use
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
try:
    found = READ
    print("read", found.steps, len(found.agents))
except dp.FormatError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""
TABLE, EPISODES = "dp.read_table(path, 0.9)", "dp.read_episodes(path)"


def limited(path, megabytes=300, seconds=10, read=TABLE, longest=0, memory=0):
    """What is said of a file by a process that takes no more memory than that beside what it has, and so much time.

    `longest` is what a row may have, `memory` what the machine is said to have, if not 0.
    """
    numbers = map(str, (megabytes, seconds, longest, memory))
    command = [sys.executable, "-c", SCRIPT.replace("READ", read), str(path), *numbers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    line, taken = done.stdout.splitlines()
    assert int(taken) <= megabytes
    return line.removeprefix(str(path)).removeprefix(":").strip()
