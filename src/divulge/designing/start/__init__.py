"""Channels without a search: closed forms, arcs round a circle, random sets, randomized rounding."""
