"""What is believed before a release by who knows columns of a person: shares of answers among rows alike in them."""

import csv
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.guarantees.catalog import parse
from divulge.guarantees.guarantee import Guarantee
from divulge.measures.robust import ConvexHull
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.releasing.column import Release, grouped
from divulge.releasing.estimating.counting import contingency
from divulge.releasing.planning.assumed import Assumed, assumption
from divulge.units import factor

MOST_SHARES = 1 << 16
"""Pairs of a group and an answer at most: the keeper's record and the ledger have them all, in two megabytes."""


def believed(source: Any, choice: Release, counts: Mapping[Hashable, int] | None) -> Assumed:
    """Return what is assumed of the attacker: as `assumption` reads it, or the shares in groups of known columns."""
    if not grouped(choice.prior):
        return assumption(choice.prior, counts, choice.prior_from_data)
    if choice.prior_from_data:
        raise DivulgeError.of("prior", "be left out with prior_from_data", "it", "given as well")
    assert counts is not None
    known = _columns_in(choice)
    places = {x: i for i, x in enumerate(counts)}
    groups: dict[Any, list[int]] = {}
    width = len(choice.columns)
    found: dict[Any, int] = dict(contingency(source, (*choice.columns, *known)).to_dict())
    for key, count in found.items():
        parts = tuple(choice.null_as if part is None else part for part in key[:width])
        held = groups.setdefault(key[width:], [0] * len(places))
        held[places[parts if width > 1 else parts[0]]] += count
    promises = _kept(choice, _Counted(np.array(list(groups.values()))))
    rows = np.unique(np.array([np.array(row) // np.gcd.reduce(row) for row in groups.values()]), axis=0)
    if rows.size > MOST_SHARES:
        raise DivulgeError.of("prior", f"have at most {MOST_SHARES:,} pairs of a group and an answer", "it",
                              f"with {rows.size:,}", "coarsen the table first (divulge generalize).")  # fmt: skip
    shares = [[Fraction(n, sum(row)) for n in row] for row in rows.tolist()]
    return Assumed("groups", Prior.from_counts(dict(counts)), beliefs=ConvexHull(shares, list(counts)), within=promises)


@dataclass(frozen=True)
class _Counted:
    """Groups by their counts, shape (groups, answers), for guarantees to be decided on."""

    counts: np.ndarray

    def subject_of(self, kind: type[Guarantee]) -> Any:
        return self.counts.sum(axis=1) if kind.kind == "k" else Joint.from_counts(self.counts.T)


def _kept(choice: Release, groups: _Counted) -> tuple[str, ...]:
    """Return what groups keep by themselves, as text, in nats; refuse what they do not."""
    asked = [one.read_in(choice.unit, to_keep=True) for one in choice.within]
    for one in asked:
        verdict = one.holds_for(groups)
        if not verdict.holds:
            raise DivulgeError.of("within", f"be kept by the groups: {one.label}", "its measured value",
                                  str(verdict.measured), "coarsen the table first (divulge generalize).")  # fmt: skip
    return tuple(one.text() for one in asked)


LIFTS: dict[str, Callable[[Any], float]] = {
    **dict.fromkeys(("pml", "lip", "delta-disclosure"), lambda one: factor(one.epsilon)),
    "alip": lambda one: factor(one.upper),
    "lift": lambda one: float(one.ratio),
    **dict.fromkeys(("beta", "enhanced-beta"), lambda one: 1 + float(one.beta)),
}
"""Kind of guarantee -> how many times as likely an answer becomes at most."""


def most_lift(within: Sequence[str]) -> float:
    """Return the largest lift that guarantees of groups leave, inf where none bounds it.

    >>> most_lift(["k=5", "lift=3", "beta=1"]), most_lift(["k=5", "t=0.2"])
    (2.0, inf)
    """
    found = [LIFTS[one.kind](one) for one in map(parse, within) if one.kind in LIFTS]
    return min(found, default=math.inf)


def _columns_in(choice: Release) -> tuple[str, ...]:
    """Return the columns of groups=A,B."""
    line = str(choice.prior).partition("=")[2]
    known = tuple(name.strip() for name in next(csv.reader([line]), []))
    if not all(known) or not known or len(set(known)) < len(known):
        raise DivulgeError.of("prior", "be groups=COLUMNS, with different names and commas between", "it", repr(line))
    for name in known:
        if name in choice.columns:
            raise DivulgeError.of("prior", "name known columns, and not the one that is released", "one", repr(name))
    return known
