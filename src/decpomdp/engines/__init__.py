"""Where work runs. Knows nothing of decision problems."""
