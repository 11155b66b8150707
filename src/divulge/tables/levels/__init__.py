"""Levels of columns: hierarchies, what a step up loses, and the search of the lattice of all of them."""
