"""What a leakage figure means: the attacker behind it, evaluated, made explicit, and played."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
