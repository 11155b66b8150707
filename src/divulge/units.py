"""Units of information. Everything inside is computed in nats; answers can be asked for in bits."""

import math
from collections.abc import Mapping
from typing import Any, Literal, SupportsFloat

from divulge.errors import DivulgeError

Unit = Literal["nats", "bits"]

NATS_PER_UNIT: dict[str, float] = {"nats": 1.0, "bits": math.log(2.0)}


def nats_per(unit: str) -> float:
    """Return how many nats one `unit` is (1 for "nats", log 2 for "bits").

    >>> nats_per("nats")
    1.0
    """
    try:
        return NATS_PER_UNIT[unit]
    except (KeyError, TypeError):
        raise DivulgeError.unknown("unit", unit, NATS_PER_UNIT) from None


LARGEST_LOG = 700.0
"""e to this and a little more is a double; no table of people tells such a factor from infinity."""


def factor(epsilon: SupportsFloat) -> float:
    """Return e^epsilon, by how much a level in nats multiplies; +inf where that is beyond doubles.

    >>> factor(0.0), factor(1e4)
    (1.0, inf)
    """
    return math.exp(epsilon) if float(epsilon) < LARGEST_LOG else math.inf


def levels_in(levels: Mapping[str, Any], unit: str) -> dict[str, Any]:
    """Return {kind: level} in nats in another unit; a delta is a probability, and "inf" stays.

    >>> levels_in({"ldp": "inf", "adp": math.log(4), "delta": 1e-6}, "bits")
    {'ldp': 'inf', 'adp': 2.0, 'delta': 1e-06}
    """
    scale = nats_per(unit)
    return {kind: level if kind == "delta" or level == "inf" else level / scale for kind, level in levels.items()}
