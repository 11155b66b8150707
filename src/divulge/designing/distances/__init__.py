"""The best mechanism under metric privacy: linear programs over pairs of near places, with a bound on every other."""
