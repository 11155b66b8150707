"""Telling people: one report about a release, as a page, as text, and as data."""
