"""Episodes -> posterior over Dec-POMDPs: latent-state models of the world that produced logged episodes."""
