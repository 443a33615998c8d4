"""`python -m decpomdp`: the command."""

from decpomdp.cli.main import run

run()
