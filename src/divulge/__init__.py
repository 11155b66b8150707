"""Divulge: what a data release gives away about a secret, and how to release something better.

The public names are listed in `__init__.pyi` and loaded when they are first used, so that `import divulge` stays fast.
"""

from divulge.late import attach

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = attach(__name__, __file__)
