"""Learning from logged episodes by way of the world: fit latent worlds, plan in them, judge in all of them."""
