"""Channels, joints, priors and payoffs in files: one module a format."""
