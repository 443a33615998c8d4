"""The loop of Dec-SBPR: play a batch, learn from it, repeat."""
