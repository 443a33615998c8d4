"""Tables: many runs side by side, resumable."""
