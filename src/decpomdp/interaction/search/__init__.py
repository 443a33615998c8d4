"""The method `search`: a portfolio of starts, then iterated local search."""
