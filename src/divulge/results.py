"""What functions return: every class of results, by name."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("divulge", __file__)
