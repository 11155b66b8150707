"""All cases: importing the modules registers them."""

from search import adversaries, dp, guarantees, measures, noise, rest
from search.registry import CASES, COVERED

__all__ = ["CASES", "COVERED", "adversaries", "dp", "guarantees", "measures", "noise", "rest"]
