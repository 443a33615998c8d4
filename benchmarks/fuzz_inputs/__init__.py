"""Inputs that `fuzz.py` makes and mutates."""
