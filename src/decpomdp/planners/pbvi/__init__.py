"""Point-based value iteration on the centralised problem, and the behaviour that follows its policy."""
