"""`python -m decpomdp`: the command."""

from decpomdp.cli.start import run

run()
