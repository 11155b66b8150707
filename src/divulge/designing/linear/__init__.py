"""Scores, which are linear in the channel: one program, its closed forms, and sets of priors."""
