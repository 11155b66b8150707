"""Mechanisms on general alphabets: noise on numbers, what each outcome leaks and what the mechanism leaks at most."""

from divulge.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
