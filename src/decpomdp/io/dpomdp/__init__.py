"""The `.dpomdp` file format of the MADP toolbox, an extension of Cassandra's POMDP files: reader and writer."""
