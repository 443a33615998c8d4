"""Simulators of other libraries: PettingZoo and Gymnasium in and out, SUMO (`sumo/`)."""
