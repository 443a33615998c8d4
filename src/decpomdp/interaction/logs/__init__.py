"""Learning from logged episodes without a choice of method: all that apply, compared by what the episodes say."""
