"""Correlated records: chains and networks of variables, released through channels; what all outputs say of one."""

from divulge.late import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
