"""What a leakage figure means: the attacker behind it, evaluated, made explicit, and played."""

from divulge.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
