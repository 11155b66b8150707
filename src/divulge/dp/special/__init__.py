"""Quantum outcomes, restricted adversaries and sub-Gaussian bounds: loaded only when asked for."""
