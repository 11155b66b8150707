"""Privacy against utility: the frontier, the least level, and named mechanisms beside a design."""
