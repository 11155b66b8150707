"""Exact sampling: from values to positions, from randomness to outcomes."""
