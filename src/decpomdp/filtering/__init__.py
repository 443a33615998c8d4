"""Filtering: probabilities of recorded actions and expected node counts of controllers."""
