"""Model-based learning from logged episodes: fit latent worlds, plan in them, evaluate the plans in all of them."""
