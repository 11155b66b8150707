"""What a leakage means: promises as records, what they imply, and whether they hold."""

from divulge.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
