"""Suprema, tails, means and guesses, each with what is proved of it."""
