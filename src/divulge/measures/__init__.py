"""What it leaks: one short function a measure, one file a family."""

from divulge.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
