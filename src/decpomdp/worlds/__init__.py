"""Episodes -> posterior over Dec-POMDPs: latent-state models of the environment that produced logged episodes."""
