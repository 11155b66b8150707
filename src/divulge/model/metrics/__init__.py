"""Distances between secrets, and the units they are in."""
