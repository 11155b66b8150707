"""The bounds of the theorems, on python-flint balls."""
