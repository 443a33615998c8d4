"""Traffic lights in SUMO, one agent each: a grid as a simulator (`grid`). Needs libsumo: decpomdp[sumo]."""
