"""Outcomes that are given or forbidden, and utilities about another variable."""
