"""MCEM: Monte-Carlo expectation-maximisation by playing."""
