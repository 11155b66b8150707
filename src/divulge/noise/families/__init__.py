"""Noise distributions as a table."""
