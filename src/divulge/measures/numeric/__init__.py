"""What the formulas need: passes over a matrix, accurate convex functions, the radius of a channel."""
