"""Outcomes that are sets: the label of an outcome is the set of the values that it raises."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from divulge.designing.polytope.limits import Limits
from divulge.designing.rounding import Checker
from divulge.model.labels import Labels

if TYPE_CHECKING:
    from divulge.designing.result import Design

_LISTED = 6
"""Values that the name of a set lists: a line; of the others it says how many they are."""
_DIGITS = 30
"""Bits to which a weight must exceed the mean to count as raised: 1e-9, above what rounding to integers moves."""
_MARKS = (" or ", "any but ", "any value", " most ", " more", " kind ", ",", "“")


class ValueSet(str):
    """The label of an outcome: in words, the values whose probability rises when it is seen.

    It is text, so that it can be written and compared as such; `values` holds the set.

    Examples
    --------
    >>> prior = dv.Prior({"Catholic": 0.5, "None": 0.3, "Jewish": 0.2})
    >>> labels = dv.design(prior, dv.PML("1/10"), outcomes="sets").outcomes
    >>> labels[0], labels[0].values
    ('any but Catholic', ('None', 'Jewish'))
    """

    values: tuple[Hashable, ...]

    __slots__ = ("values",)

    def __new__(cls, text: str, values: Sequence[Hashable] = ()) -> Self:
        self = super().__new__(cls, text)
        self.values = tuple(values)
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str, tuple[Hashable, ...]]]:
        return type(self), (str(self), self.values)


def set_label(values: Sequence[Hashable], everything: Sequence[Hashable], more: str = "") -> ValueSet:
    """Return the label of a set of values, of all that there are, with more words to tell it from others."""
    inside, number = set(values), len(everything)
    if len(inside) in (0, number):
        text = "any value"
    elif number - len(inside) < len(inside):
        text = "any but " + _listed([v for v in everything if v not in inside], " or ")
    else:
        text = _listed(values, " or ")
    return ValueSet(text + more, values)


def _listed(values: Sequence[Hashable], last: str) -> str:
    shown = [_quoted(v) for v in values[:_LISTED]]
    if len(values) > _LISTED:
        return ", ".join(shown) + f"{last}{len(values) - _LISTED} more"
    return last.join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _quoted(value: Hashable) -> str:
    """Return the value as text, in quotation marks where it could be read as more than one value or as a phrase."""
    text = str(value)
    return f"“{text}”" if any(mark in f" {text} " for mark in _MARKS) or not text.strip() else text


def labeled_by_sets(design: "Design") -> "Design":
    """Return the design with outcomes labeled by the sets that they raise under its prior, decided exactly."""
    checker = Checker.of(design.prior.probabilities, Limits())
    up = raised(design.integers, checker.mass(design.integers), int(checker.prior.sum()))
    up &= design.prior.support[:, None]
    labels = labels_of(design.prior.secrets, up, design.integers)
    return replace(design, outcomes=labels, naming="sets", unnamed_bound=design.bound)


def raised(weights: np.ndarray, mass: np.ndarray, whole: int) -> np.ndarray:
    """Return which values each outcome raises by more than last digits, (N, M), from integers and their exact means."""
    least = [int(m) + (int(m) >> _DIGITS) for m in mass.tolist()]
    return np.array([[w * whole > m for w, m in zip(row, least, strict=True)] for row in weights.tolist()])


def labels_of(secrets: Labels, up: np.ndarray, weights: np.ndarray) -> tuple[ValueSet, ...]:
    """Return a label for each outcome, no two equal: the set that it raises, then which of it most, then a number."""
    everything = list(secrets)
    sets = [[x for x, inside in zip(everything, column, strict=True) if inside] for column in up.T]
    labels = [set_label(values, everything) for values in sets]
    seen = Counter(labels)
    for y, label in enumerate(labels):
        if seen[label] > 1 and len(sets[y]) > 1:
            column = weights[:, y]
            most = [x for x, w in zip(everything, column.tolist(), strict=True) if w == column.max()]
            if len(most) < len(sets[y]):
                labels[y] = set_label(sets[y], everything, f", {_listed(most, ' and ')} most")
    seen, count = Counter(labels), Counter[str]()
    for y, label in enumerate(labels):
        if seen[label] > 1:
            count[label] += 1
            labels[y] = ValueSet(f"{label} ({count[label]} of {seen[label]})", label.values)
    return tuple(labels)
