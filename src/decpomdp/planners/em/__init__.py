"""EM for planning with a known model."""
