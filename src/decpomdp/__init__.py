"""Learn small finite-state controllers for teams that must act without talking."""
