"""Mechanisms on general alphabets: noise on numbers, what each outcome leaks and what the mechanism leaks at most."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
