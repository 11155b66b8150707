"""The sum of independent privacy losses: listed, normal, or on a grid, always from below and from above."""
