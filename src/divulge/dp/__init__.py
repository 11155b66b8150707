"""What tells two secrets apart: the privacy loss, and the variants of differential privacy built on it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
