"""What functions return: every class of results, by name."""

from divulge.late import attach

__getattr__, __dir__, __all__ = attach("divulge", __file__, "divulge.results")
