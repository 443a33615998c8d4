"""Parallel execution: threads and Dask clusters."""
