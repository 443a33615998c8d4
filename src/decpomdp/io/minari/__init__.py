"""Reader of Minari datasets."""
