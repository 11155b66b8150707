"""Families of sets S_y: what an outcome raises, by which each protocol is known."""
