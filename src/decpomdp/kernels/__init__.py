"""Loops over array elements, compiled. Arrays, scalars and NamedTuples of arrays in; no validation, no exceptions.

Kernels draw random numbers only through `sampling.draw`, a pure function of (key, counter): the result of a kernel
is a function of its arguments, for any number of threads.
"""
