"""What tells two secrets apart: the privacy loss, and the variants of differential privacy built on it."""

from divulge.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
