"""Episodes + controllers -> how likely was what was done, and in which nodes."""
