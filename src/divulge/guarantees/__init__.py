"""What a leakage means: promises as records, what they imply, and whether they hold."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
