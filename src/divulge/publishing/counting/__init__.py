"""The exact part: which groups there are, whole numbers in each, and values that nobody listed."""
