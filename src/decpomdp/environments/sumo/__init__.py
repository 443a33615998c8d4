"""Real traffic: a grid of lights in SUMO, one agent each; libsumo comes with decpomdp[sumo]. Begin with `grid.py`.

A worker process imports this package: nothing is imported here.
"""
