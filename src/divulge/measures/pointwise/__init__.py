"""Leakage by outcome: bounds on the information density, one value per outcome, guessing, and tails."""
