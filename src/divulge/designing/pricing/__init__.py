"""Pricing oracles of column generation: the vertices that a dual leaves too cheap, and a bound on all of them."""
