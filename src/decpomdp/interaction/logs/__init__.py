"""Learning from logged episodes without a given method: all methods that apply, compared by the evidence."""
