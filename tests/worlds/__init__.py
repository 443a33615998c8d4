"""Worlds fitted to episodes."""
