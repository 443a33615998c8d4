"""Other worlds as simulators, and our problems as theirs: PettingZoo."""
