"""Options as data: how one stands on a command line, and how its value is written to JSON and read back."""

import io
import json
import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np

from divulge.errors import DivulgeError
from divulge.files.channels import as_json
from divulge.files.opening import kind
from divulge.guarantees.catalog import as_guarantee, parse
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.guarantees.kinds.tables import TABLES
from divulge.measures.robust import L1Ball, LowerBounded
from divulge.model.channel import Channel
from divulge.model.entries import rational
from divulge.model.metrics import written as metrics
from divulge.model.metrics.metric import Metric
from divulge.model.metrics.quantities import rate
from divulge.model.prior import Prior

EngineName = Literal["local", "spark"]
"""Where the work is done: on this machine in a stream, or by Spark."""


@dataclass(frozen=True)
class Option:
    """How a field stands on a command line.

    help : what it is, in a line
    of : the type of one value; `list[str]` may be repeated, `Path` is written, `bool` stands alone
    metavar : what the help calls the value
    flags : its names, where they are not --NAME
    """

    help: str
    of: Any = str
    metavar: str | None = None
    flags: tuple[str, ...] = ()

    def named(self, name: str) -> tuple[str, ...]:
        """Return what is typed for the field of this name."""
        return self.flags or (f"--{name.replace('_', '-')}",)


def written(value: Any, name: str, strict: bool = True) -> Any:
    """Return an option as JSON holds it: guarantees as text, channels and priors as objects with labels.

    >>> written((dv.LDP("1/3"), dv.LDP(1)), "guarantee"), written(dv.Prior(["1/4", "3/4"], ["a", "b"]), "prior")
    (['ldp=1/3', 'ldp=1'], {'secrets': ['a', 'b'], 'probabilities': ['1/4', '3/4']})
    """
    if isinstance(value, np.generic):
        return written(value.item(), name, strict)
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Guarantee):
        return value.text()
    if isinstance(value, LowerBounded):
        return {"secrets": list(value.secrets), "least": written(value.least_probability, name)}
    if isinstance(value, L1Ball):
        return {"center": written(value.center, name), "radius": written(value.radius, name)}
    if isinstance(value, Prior):
        shares = [str(p) if value.exact else float(p) for p in value.probabilities.tolist()]
        return {"secrets": list(value.secrets), "probabilities": shares}
    if isinstance(value, Metric):
        return metrics.as_data(value)
    if isinstance(value, Mapping):
        return {str(key): written(one, name, strict) for key, one in value.items()}
    given: Any = value
    if hasattr(given, "to_option"):
        return given.to_option()
    if (channel := _channel_of(value)) is not None:
        stream = io.BytesIO()
        as_json.write(channel, stream)
        return json.loads(stream.getvalue())
    if isinstance(value, (list, tuple)):
        return [written(one, name, strict) for one in value]
    if not strict:
        return f"a {type(value).__name__}"
    raise DivulgeError.of(name, "be a path, a name, numbers, or a channel, prior or guarantee to stand in a request",
                          "it", f"a {type(value).__name__}")  # fmt: skip


def _channel_of(value: Any) -> Channel | None:
    """Return a channel, that of whole numbers, or that of a design."""
    held = getattr(value, "channel", value)
    found = (held, getattr(held, "exact", None))
    return next((one for one in found if isinstance(one, Channel)), None)


_KINDS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    str: ("text", lambda value: isinstance(value, str)),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    int: ("a whole number", lambda value: type(value) is int),
    float: ("a number", lambda value: isinstance(value, str) or (type(value) in (int, float) and _is_double(value))),
    Sequence: ("a list of texts", lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value)),
}
"""Type of a field -> what JSON has in its place; a fraction, or a rate with its unit, stands there as text."""


def _is_double(number: float) -> bool:
    return abs(number) <= sys.float_info.max


def require_kind(name: str, value: Any, hint: Any) -> None:
    """Refuse what a file says of a field whose types do not include it; fields of any type are read elsewhere.

    >>> require_kind("sheet", 3, str | None)
    Traceback (most recent call last):
    divulge.errors.DivulgeError: `sheet` must be text; it is a number.
    """
    several = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    types = [get_origin(one) or one for one in several]
    if value is None and NoneType in several:
        return
    wanted = [_KINDS[one] for one in types if one in _KINDS]
    if wanted and not any(fits(value) for _, fits in wanted):
        raise DivulgeError.of(name, f"be {' or '.join(said for said, _ in wanted)}", "it", kind(value))


def read(value: Any) -> Any:
    """Return the option that `written` described.

    >>> read({"secrets": ["a", "b"], "probabilities": ["1/4", "3/4"]}).to_dict()
    {'a': Fraction(1, 4), 'b': Fraction(3, 4)}
    """
    if isinstance(value, list):
        return tuple(map(read, value))
    if not isinstance(value, dict):
        return value
    keys = set(value)
    if keys == {"secrets", "outcomes", "matrix"}:
        return as_json.channel(io.BytesIO(json.dumps(value).encode()))
    if keys == {"secrets", "probabilities"}:
        return Prior(value["probabilities"], list(read(value["secrets"])))
    if keys == metrics.KEYS:
        return metrics.of_data(value)
    if keys == {"secrets", "least"}:
        return LowerBounded(list(read(value["secrets"])), _number(value["least"]))
    if keys == {"center", "radius"}:
        return L1Ball(read(value["center"]), _number(value["radius"]))
    return {name: read(one) for name, one in value.items()}


def _number(value: Any) -> Any:
    return rational(value) if isinstance(value, str) else value


def as_names(names: Any, argument: str) -> tuple[str, ...]:
    """Return one or several names as a tuple; refuse what is none."""
    several: Any = (names,) if isinstance(names, str) or not isinstance(names, (list, tuple)) else tuple(names)
    for name in several:
        DivulgeError.unless(name, str, argument, "be a name or a list of names")
    return several


def as_columns(column: Any) -> tuple[str, ...]:
    """Return one or several names of columns as a tuple."""
    columns = as_names(column, "column")
    if not columns or len(set(columns)) != len(columns):
        raise DivulgeError.of("column", "name one column, or several different ones", "it", repr(column))
    return columns


def as_several(guarantee: Any, distances: bool = False) -> tuple[Guarantee, ...]:
    """Return one or several guarantees, or none, as a tuple of Guarantee; not of groups, and of distances if said."""
    several = guarantee if isinstance(guarantee, (list, tuple)) else [] if guarantee is None else [guarantee]
    read = tuple(map(_with_distance, several))
    for one in read:
        if isinstance(one, TABLES):
            hint = "divulge generalize (dv.generalize) coarsens a table until its groups keep it."
            raise DivulgeError.of("guarantee", "be about what is said of a person", "it", f"{one}, of groups", hint)
        if isinstance(one, MetricPrivacy) and not distances:
            hint = (
                "grid='500m' and box=... (--grid, --box) move places, or numbers, by exact noise; distance=FILE "
                "(--distance FILE) says how far answers of a list are apart."
            )
            raise DivulgeError.of("guarantee", "be without distances where no cells are laid", "it", str(one), hint)
    return read


def _with_distance(one: Any) -> Guarantee:
    """Return a guarantee; of text such as "metric=1/km" one about two points that are 1 apart, in the unit of the rate.

    The grid of the release is the metric; what is promised about all of its cells is the same rate.
    """
    if not (isinstance(one, str) and one.partition("=")[0].strip() == "metric"):
        return as_guarantee(one)
    per = rate(one.partition("=")[2])[2]
    return parse(one, Metric.line([0, 1], unit=per))
