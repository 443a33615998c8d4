"""Periodic EM: planning with controllers in layers."""
