"""Frequency protocols: channels over millions of values that are never written out, and their closed forms."""

from divulge.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
