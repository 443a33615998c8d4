"""Simulator -> team: learning by interaction."""
