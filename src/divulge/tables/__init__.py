"""Whole tables: who could be found by columns that people know, what would be learned, and what to coarsen."""

from divulge.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
