"""Lists of releases as they are written down: what each record means, and what all of them add up to."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from divulge.dp.accounting.composition import ROUNDED, Composition, compose
from divulge.dp.accounting.promises import AdpRelease, RenyiRelease, ZcdpRelease
from divulge.dp.accounting.sampling import FixedSizeSampled, PoissonSampled
from divulge.dp.knowledge import Known
from divulge.dp.mechanisms import MECHANISMS, TreeAggregation
from divulge.dp.shuffling.shuffled import Shuffled
from divulge.errors import DivulgeError
from divulge.units import Unit, nats_per

KINDS: dict[str, Any] = {
    **MECHANISMS,
    "adp": AdpRelease,
    "zcdp": ZcdpRelease,
    "renyi": RenyiRelease,
    "tree-aggregation": TreeAggregation,
    "shuffled": Shuffled,
}
"""Name of a release -> its class; the fields of the class are the parameters of the record."""

SAMPLED: dict[tuple[str, ...], Any] = {
    ("rate", "neighbors"): PoissonSampled,
    ("sample", "population"): FixedSizeSampled,
}
"""Parameters that any mechanism may have besides its own -> what they make of it."""

_OTHER = ("mechanism", "neighbors", "noise", "monotone")
"""Parameters that are no numbers; their mechanisms check them."""

CURVE = (1e-3, 1e-6, 1e-9)
"""The deltas at which epsilon is told when none is asked for."""


def from_records(records: Any, read_channel: Callable[[str], Any], tolerance: float = 1e-6) -> Composition:
    """Return the composition of releases given as records, such as {"mechanism": "laplace", "scale": 1, "count": 10}.

    `read_channel` opens the file of a record {"mechanism": "channel", "file": ...}.
    """
    if not isinstance(records, Sequence) or isinstance(records, (str, bytes)) or not records:
        raise DivulgeError.of("releases", "be a list of at least one release", "it", _kind(records))
    releases = [_release(record, place, read_channel) for place, record in enumerate(records)]
    return compose(*releases, tolerance=tolerance)


def _release(record: Any, place: int, read_channel: Callable[[str], Any]) -> tuple[Any, Any]:
    where = f"release {place}"
    if not isinstance(record, Mapping) or "mechanism" not in record:
        hint = 'write {"mechanism": "laplace", "scale": 1, "count": 10}.'
        raise DivulgeError.of("releases", 'hold objects with a "mechanism"', where, _kind(record), hint)
    given = {str(key): value for key, value in record.items() if key not in ("mechanism", "count")}
    name, count = record["mechanism"], record.get("count", 1)
    if name == "channel":
        if set(given) != {"file"}:
            raise DivulgeError.of("releases", 'give a channel by its "file" alone', where, ", ".join(given) or "empty")
        return read_channel(str(given["file"])), count
    if not isinstance(name, str) or name not in KINDS:
        known = ", ".join([*KINDS, "channel"])
        raise DivulgeError.of("releases", f"name one of {known}", where, repr(name)[:60])
    wrapped = {kind: [given.pop(key) for key in keys if key in given] for keys, kind in SAMPLED.items()}
    if all(wrapped.values()):
        hint = 'give "rate" (records take part by chance) or "sample" and "population" (so many do).'
        raise DivulgeError.of("releases", "be sampled in one way", where, "sampled in two", hint)
    release = _filled(KINDS[name], given, where)
    for kind, values in wrapped.items():
        if values:
            release = _filled(kind, dict(zip([f.name for f in fields(kind)], [release, *values], strict=False)), where)
    return release, count


def _kind(found: Any) -> str:
    """Return what is in the place of a release, without its content: it may be another file, with data in it."""
    if isinstance(found, Mapping):
        return "an object without one" if found else "an empty object"
    return {str: "text", list: "an empty list", type(None): "null"}.get(type(found), "a number")


def _filled(kind: Any, given: dict[str, Any], where: str) -> Any:
    """Return an instance of a dataclass from numbers by name; a name too many or too few is refused."""
    known = {entry.name: entry for entry in fields(kind)}
    needed = [name for name, entry in known.items() if entry.default is MISSING]
    wrong = [name for name in given if name not in known] + [name for name in needed if name not in given]
    if wrong:
        wanted = ", ".join(name if name in needed else f"{name} (optional)" for name in known)
        condition = f"have the parameters {wanted}"
        raise DivulgeError.of("releases", condition, f"{wrong[0]!r} of {where}", "unknown or missing")
    for name, value in given.items():
        if name not in _OTHER and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise DivulgeError.of("releases", "have numbers as parameters", f"{name!r} of {where}", repr(value)[:60])
    return kind(**given)


def wide(composed: Composition, found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the brackets on epsilon of a `summary` that are wider than was aimed at though no promise is why."""
    if composed.known is Known.PROMISE:
        return []
    rows = [row for row in (*found.get("curve", []), found) if isinstance(row.get("epsilon"), dict)]
    widths = [row["epsilon"]["upper"] - row["epsilon"]["lower"] for row in rows]
    return [row for row, width in zip(rows, widths, strict=True) if found["tolerance"] * ROUNDED < width < math.inf]


def summary(
    composed: Composition, delta: float | None, epsilon: float | None, orders: Sequence[float], unit: Unit = "nats"
) -> dict[str, Any]:
    """Return what releases add up to, by name: epsilon or delta with both bounds, pure epsilon, Renyi curve, zCDP."""
    if delta is not None and epsilon is not None:
        raise DivulgeError("give --delta or --epsilon; there are both.")
    if epsilon is not None and not epsilon >= 0:
        raise DivulgeError.of("epsilon", "be at least 0", "it", str(epsilon))
    scale = nats_per(unit)
    found: dict[str, Any] = {
        "releases": sum(count for _, count in composed.releases),
        "unit": unit,
        "tolerance": composed.tolerance / scale,
    }
    if delta is not None:
        bracket = composed.epsilon(delta, unit)
        found |= {"delta": delta, "epsilon": {"lower": bracket.lower, "upper": bracket.upper}}
    elif epsilon is not None:
        bracket = composed.delta(epsilon, unit)
        found |= {"epsilon": epsilon, "delta": {"lower": bracket.lower, "upper": bracket.upper}}
    else:
        brackets = [(d, composed.epsilon(d, unit)) for d in CURVE]
        found["curve"] = [{"delta": d, "epsilon": {"lower": b.lower, "upper": b.upper}} for d, b in brackets]
    found["pure_epsilon"] = composed.pure_epsilon / scale
    found["renyi"] = [{"alpha": alpha, "epsilon": composed.renyi(alpha, unit)} for alpha in orders]
    found["zcdp"] = {"rho": composed.zcdp / scale}
    return found
