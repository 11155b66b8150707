"""Bayesian networks: tables, files, sums over them, the worst outputs, pictures."""
