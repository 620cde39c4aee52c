"""Which nodes share a kernel: plan data, legality, cost, and the planner's search."""
