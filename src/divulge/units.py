"""Units of information. Everything inside is computed in nats; answers can be asked for in bits."""

import math
from typing import Literal

from divulge.errors import DivulgeError

Unit = Literal["nats", "bits"]

NATS_PER_UNIT: dict[str, float] = {"nats": 1.0, "bits": math.log(2.0)}


def nats_per(unit: str) -> float:
    """Return how many nats one `unit` is (1 for "nats", log 2 for "bits").

    Examples
    --------
    >>> nats_per("nats")
    1.0
    """
    try:
        return NATS_PER_UNIT[unit]
    except (KeyError, TypeError):
        raise DivulgeError.unknown("unit", unit, NATS_PER_UNIT) from None
