"""Named mechanisms as channels.

Those with a privacy parameter take `epsilon`, in nats, or the exact `ratio` = e^epsilon ("3", 3 or Fraction(3, 2)), and
then the channel is exact as well.
"""

from divulge.model.mechanisms.plain import constant, erasure, identity, random, resample, symmetric
from divulge.model.mechanisms.planar import planar_geometric, planar_laplace, tight_constraint
from divulge.model.mechanisms.private import exponential, extremal, geometric, randomized_response, subset_selection

__all__ = [
    "constant",
    "erasure",
    "exponential",
    "extremal",
    "geometric",
    "identity",
    "planar_geometric",
    "planar_laplace",
    "random",
    "randomized_response",
    "resample",
    "subset_selection",
    "symmetric",
    "tight_constraint",
]
