"""Compiled loops over array elements. Arguments are arrays, scalars and NamedTuples of arrays; no validation.

Kernels draw random numbers only through `sampling.draw`, a pure function of (key, counter): the result of a kernel
is a function of its arguments, for any number of threads.
"""
