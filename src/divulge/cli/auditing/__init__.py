"""The commands that audit: what was observed, held against what is claimed."""
