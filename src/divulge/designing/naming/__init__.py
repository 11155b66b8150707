"""Designs whose outcomes bear names that are true: a value for an outcome that raises it most, or the set it raises."""
