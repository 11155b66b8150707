"""What to release instead: the most useful mechanism under a guarantee, with a proof of how good it is."""
