"""Leakage as one number for the whole mechanism: information, capacities, entropies."""
