"""Hostile and broken input: what every reader does with any bytes at all."""
