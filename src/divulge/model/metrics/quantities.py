"""Lengths and times in text: 500m is half a kilometer, 1/km a rate; lengths are kept in km, times in h."""

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from divulge.errors import DivulgeError
from divulge.model.entries import parse

KEPT_IN: dict[str, tuple[str, Fraction]] = {
    "m": ("km", Fraction(1, 1000)),
    "km": ("km", Fraction(1)),
    "mi": ("km", Fraction("1.609344")),
    "s": ("h", Fraction(1, 3600)),
    "min": ("h", Fraction(1, 60)),
    "h": ("h", Fraction(1)),
    "d": ("h", Fraction(24)),
}
"""Unit -> the unit it is kept in, and how much of that it is. Any other word is a unit of its own."""

_QUANTITY = re.compile(r"\s*([0-9][0-9.eE+/-]*?|\.[0-9]+)\s*([^\W\d_]+)?\s*")
_RATE = re.compile(r"\s*(.*?)\s*(?:(?:/|\s+per\s+)\s*([^\W\d_]+))?\s*")


def quantity(value: Any, argument: str) -> tuple[Any, str]:
    """Return (number, unit) of a number, or of text such as "500m"; the unit of a bare number is "".

    >>> quantity("500m", "step"), quantity("1/2", "step"), quantity(2, "step")
    ((Fraction(1, 2), 'km'), (Fraction(1, 2), ''), (2, ''))
    """
    if not isinstance(value, str):
        return value, ""
    found = _QUANTITY.fullmatch(value)
    if found is None or (found[2] or "").lower() in ("e", "inf", "nan"):
        raise DivulgeError.of(argument, "be a number, or one with its unit such as 500m", "it", repr(value))
    number = Fraction(parse(found[1], lambda: f"`{argument}` must be a number; it is"))
    unit, size = KEPT_IN.get(found[2], (found[2], Fraction(1))) if found[2] else ("", Fraction(1))
    return number * size, unit


def rate(text: str) -> tuple[str, Fraction, str]:
    """Return (number as text, what it is multiplied by, unit) of text such as "1/km"; "1/2" has no unit.

    >>> rate("1/km"), rate("2/m"), rate("1/2")
    (('1', Fraction(1, 1), 'km'), ('2', Fraction(1000, 1), 'km'), ('1/2', Fraction(1, 1), ''))
    """
    found = _RATE.fullmatch(text)
    assert found is not None, text
    if not found[2]:
        return found[1], Fraction(1), ""
    unit, size = KEPT_IN.get(found[2], (found[2], Fraction(1)))
    return found[1], 1 / size, unit


def per_unit(text: str, unit: str) -> Any:
    """Return the rate that a text such as "1/km" is, per `unit`; of a bare number the text, and of others a refusal.

    >>> per_unit("1/m", "km"), per_unit("1/2", "km")
    (Fraction(1000, 1), '1/2')
    """
    written, times, own = rate(text)
    if not own:
        return text
    if own != unit:
        raise DivulgeError.of(
            "epsilon", f"be per {unit}, as the metric is" if unit else "be a bare number, as the metric has no unit",
            "it", repr(text), "metrics take a unit: Metric.grid(3, 3, step='500m'), Metric.line(values, unit='h').",
        )  # fmt: skip
    return Fraction(parse(written, lambda: "`epsilon` must be a number; it is")) * times


def unit_of_rates(guarantees: Iterable[Any], argument: str) -> str:
    """Return what guarantees such as "metric=1/step" are per: the unit of distances that have none of their own.

    A unit that is kept in another one is refused: whether numbers are in meters or in km is not to be guessed.

    >>> unit_of_rates(["ldp=1", "metric=1/step"], "guarantee"), unit_of_rates(["metric=1"], "guarantee")
    ('step', '')
    """
    for text in guarantees:
        if isinstance(text, str) and text.partition("=")[0].strip() == "metric":
            found = _RATE.fullmatch(text.partition("=")[2])
            unit = "" if found is None else found[2] or ""
            kept, size = KEPT_IN.get(unit, (unit, Fraction(1)))
            if size != 1:
                must = f"be per {kept} where the distances are numbers alone"
                raise DivulgeError.of(argument, must, "it", repr(text), f"distances have to be in {kept} then.")
            return unit
    return ""
