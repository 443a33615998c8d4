"""The planner FB-HSVI: heuristic search value iteration over occupancy states."""
