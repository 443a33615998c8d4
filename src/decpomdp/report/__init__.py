"""What was learned, for people to look at."""
