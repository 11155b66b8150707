"""Audits of synthetic tables: people whose data made them, against people whose data did not."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.auditing.attributes import AttributeAudit
from divulge.auditing.membership import MembershipAudit, audit_membership
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.tables.source import TableLike
from divulge.files.tables.table import open_table
from divulge.guarantees.guarantee import Guarantee
from divulge.model.labels import text_of
from divulge.model.record import Record
from divulge.model.shown import Shown
from divulge.units import Unit

MOST_DISTANCES = 20_000_000_000
"""People times rows of the synthetic table times columns: minutes."""

_BLOCK = 256
"""People whose distances are computed at once."""

_HIT = 0.5
"""Between the score of those who are named, 1, and of those who are not, 0."""

_SAME = 1e-9
"""Rows that are so near to each other are equally near: distances are sums of rounded shares."""


@dataclass(frozen=True, eq=False)
class SyntheticAudit(Record, Shown):
    """What a synthetic table tells about people whose data made it, beyond what it tells about everybody.

    Attributes
    ----------
    inference : AttributeAudit
        The secret of the nearest rows by what is known, against the commonest secret of the synthetic table; `others`
        are those whose data did not make it.
    membership : MembershipAudit
        From the distance of each person's whole row to the nearest synthetic one.
    singling : MembershipAudit
        From whom a predicate names that is true of one synthetic row alone: a value or a combination of what is known
        that stands there once, or an end of a column of numbers.
    linkage : MembershipAudit or None
        From whose two halves, `known` and `linked`, the same synthetic row is the nearest; None where nobody asked.
    violated : bool
        Whether one of those about membership refutes the claim.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> people = {"age": rng.integers(0, 90, 400).tolist(), "town": rng.integers(0, 9, 400).tolist()}
    >>> people["ill"] = rng.integers(0, 2, 400).tolist()
    >>> import pyarrow as pa
    >>> table = pa.table(people)
    >>> first, rest = table[:200], table[200:]
    >>> copied = audit_synthetic(first, first, rest, secret="ill", known=["age", "town"], claim="dp=1")
    >>> copied.violated, copied.inference.right > 180, copied.membership.epsilon > 1
    (True, True, True)
    """

    inference: AttributeAudit
    membership: MembershipAudit
    singling: MembershipAudit
    linkage: MembershipAudit | None
    violated: bool

    @property
    def attacks(self) -> dict[str, MembershipAudit]:
        """The audits of membership, by name.

        Examples
        --------
        >>> table = {"age": [3, 5, 8, 13], "ill": [0, 1, 0, 1]}
        >>> list(audit_synthetic(table, table, table, secret="ill", known=["age"]).attacks)
        ['membership', 'singling']
        """
        found = {"membership": self.membership, "singling": self.singling, "linkage": self.linkage}
        return {name: one for name, one in found.items() if one is not None}

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return the audit as plain data; logarithms in `unit`.

        Examples
        --------
        >>> table = {"age": [3, 5, 8, 13], "ill": [0, 1, 0, 1]}
        >>> sorted(audit_synthetic(table, table, table, secret="ill", known=["age"]).to_dict())
        ['inference', 'linkage', 'membership', 'singling', 'violated']
        """
        audits = {name: one.to_dict(unit) for name, one in self.attacks.items()}
        return {"inference": self.inference.to_dict(unit), "linkage": None, **audits, "violated": self.violated}


def audit_synthetic(
    synthetic: TableLike,
    members: TableLike,
    others: TableLike,
    *,
    secret: str,
    known: Sequence[str],
    linked: Sequence[str] = (),
    claim: Guarantee | str | None = None,
    base_rate: float | None = None,
    confidence: float = 0.95,
) -> SyntheticAudit:
    """Return what a synthetic table tells about those whose data made it, against people whose data did not.

    Distances are means over columns: of the difference over the range for numbers, and 1 where labels differ (Gower).
    Somebody who knows the columns `known` of a person guesses the commonest secret of the nearest synthetic rows; if
    it is right oftener about members than about others, it is the table that tells. Whether a predicate that is true of
    one synthetic row alone is true of a person, and whether one synthetic row is nearest to both halves of a person,
    are counted for each person by itself, so that the ends of Clopper and Pearson hold. All audits share the risk.

    Parameters
    ----------
    synthetic, members, others : paths or tables with the same columns
        The synthetic table, the rows that it was made from, and rows of people drawn alike that it was not made from.
    secret : str
    known : columns, without the secret
    linked : columns, none of them known, optional
        Those of somebody else's table, who would like to know which of their rows is the same person's.
    claim : Guarantee or text, optional
        As for `audit_membership`: what the making of the table claims about any person's row.
    base_rate : float in (0, 1), optional
        The share of members among those who are looked at.
    confidence : float in (0, 1)

    Returns
    -------
    SyntheticAudit

    Raises
    ------
    DivulgeError
        For missing columns, tables without rows, and more distances than minutes hold.

    References
    ----------
    Giomi, Boenisch, Wehmeyer, Tasnadi, "A Unified Framework for Quantifying Privacy Risk in Synthetic Data",
    arXiv:2211.10459. Gower, "A general coefficient of similarity and some of its properties", 1971.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def people(n):
    ...     return {"age": rng.integers(0, 90, n), "ill": rng.integers(0, 2, n)}
    >>> found = audit_synthetic(people(200), people(200), people(200), secret="ill", known=["age"])
    >>> found.membership.epsilon < 0.5, found.violated
    (True, False)
    """
    columns, apart = _columns(secret, known), _apart(known, linked)
    names = [*columns, *(name for name in apart if name != secret)]
    tables = [
        _read(one, name, names) for one, name in ((synthetic, "synthetic"), (members, "members"), (others, "others"))
    ]
    sizes = [len(table[secret]) for table in tables]
    if sizes[0] * (sizes[1] + sizes[2]) * len(names) > MOST_DISTANCES:
        raise DivulgeError.of(
            "members", f"need at most {MOST_DISTANCES:,} distances, times columns", "their number", "larger",
            "draw fewer members and others at random.",
        )  # fmt: skip
    places = {name: _encoded([table[name] for table in tables]) for name in names}
    known_places, whole, others_places = (_side_by_side(places, some) for some in (columns[:-1], columns, apart))
    each = 1 - (1 - confidence) / (4 if apart else 3)

    def audited(score: Callable[[int], np.ndarray], cut: float | None) -> MembershipAudit:
        scores = np.concatenate([score(1), score(2)])
        inside = np.arange(len(scores)) < sizes[1]
        return audit_membership(scores, inside, base_rate=base_rate, claim=claim, confidence=each, cut=cut)

    membership = audited(lambda i: -_nearest(whole[0], whole[i]) / len(columns), None)
    alone = _Alone.of(tables[0], columns)
    singling = audited(lambda i: alone.names(tables[i]).astype(float), _HIT)
    pairs = (known_places, others_places)
    linkage = audited(lambda i: _linked(pairs, i).astype(float), _HIT) if apart else None
    inference = _inferred([table[secret] for table in tables], known_places, each)
    broken = any(one.violated for one in (membership, singling, linkage) if one is not None)
    return SyntheticAudit(inference, membership, singling, linkage, broken)


def _side_by_side(places: Mapping[str, list[np.ndarray]], names: Sequence[str]) -> list[np.ndarray]:
    """Return the places of some columns, for each of the three tables."""
    return [np.hstack([places[name][i] for name in names]) for i in range(3)] if names else []


def _inferred(secrets: list[np.ndarray], near: list[np.ndarray], confidence: float) -> AttributeAudit:
    """Return how often the secret of the nearest rows is right, against the commonest one and about others."""
    usual = _usual(secrets[0])
    guesses = [_guesses(near[0], secrets[0], near[i]) for i in (1, 2)]
    right, without = guesses[0] == secrets[1], secrets[1] == usual
    return AttributeAudit.of_counts(
        len(right), int(right.sum()), int(without.sum()), int((right & without).sum()),
        (len(secrets[2]), int((guesses[1] == secrets[2]).sum())), None, confidence,
    )  # fmt: skip


@dataclass(frozen=True)
class _Alone:
    """Predicates that are true of one synthetic row alone: values, combinations, and ends of numbers."""

    values: dict[str, set[str]]
    known: list[str]
    combinations: set[tuple[str, ...]]
    ends: dict[str, tuple[float, float]]

    @classmethod
    def of(cls, table: Mapping[str, np.ndarray], columns: list[str]) -> "_Alone":
        """Return the predicates of a table; the last column is the secret, which is in no combination."""
        values = {name: {v for v, n in Counter(table[name].tolist()).items() if n == 1} for name in columns}
        known = columns[:-1]
        rows = Counter(zip(*(table[name].tolist() for name in known), strict=True))
        ends: dict[str, tuple[float, float]] = {}
        for name in columns:
            numbers = _numbers(table[name])
            if numbers is not None:
                low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
                first, last = ((numbers == end).sum() == 1 for end in (low, high))
                ends[name] = low if first else -math.inf, high if last else math.inf
        return cls(values, known, {row for row, n in rows.items() if n == 1}, ends)

    def names(self, table: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return for each person whether one of the predicates is true of it."""
        rows = zip(*(table[name].tolist() for name in self.known), strict=True)
        found = np.array([row in self.combinations for row in rows])
        for name, once in self.values.items():
            found |= np.array([value in once for value in table[name].tolist()])
        for name, (low, high) in self.ends.items():
            numbers = _numbers(table[name])
            if numbers is not None:
                with np.errstate(invalid="ignore"):
                    found |= (numbers <= low) | (numbers >= high)
        return found


def _linked(halves: tuple[list[np.ndarray], list[np.ndarray]], i: int) -> np.ndarray:
    """Return for each person whether a synthetic row is among the nearest to both halves of it."""
    blocks = zip(*(_blocks(half[0], half[i]) for half in halves), strict=True)
    near = [
        np.logical_and(*(block <= block.min(axis=1, keepdims=True) + _SAME for _, block in pair)).any(axis=1)
        for pair in blocks
    ]
    return np.concatenate(near)


def _columns(secret: Any, known: Any) -> list[str]:
    """Return the known columns and, last, the secret."""
    found = [known] if isinstance(known, str) else list(known) if isinstance(known, (list, tuple)) else []
    if not found or not all(isinstance(name, str) for name in (*found, secret)) or len({*found, secret}) <= len(found):
        raise DivulgeError.of("known", "name columns, without the secret", "it", "something else")
    return [*found, secret]


def _apart(known: Any, linked: Any) -> list[str]:
    """Return the columns of the other half of a person; none where nobody asked."""
    found: list[Any] = [linked] if isinstance(linked, str) else list(linked) if _listed(linked) else [None]
    first = [known] if isinstance(known, str) else list(known)
    if not all(isinstance(name, str) for name in found) or len({*found, *first}) < len(found) + len(first):
        raise DivulgeError.of("linked", "name columns, none of them known", "it", "something else")
    return found


def _listed(given: Any) -> bool:
    return isinstance(given, (list, tuple))


def _read(table: Any, name: str, columns: list[str]) -> dict[str, np.ndarray]:
    """Return columns as arrays of texts, empty where a cell is missing."""
    source = open_table(table)
    source.require_values(columns)
    parts = [{c: batch.column(c).to_pylist() for c in columns} for batch in source.batches(columns)]
    found = {c: np.array([text_of(cell) or "" for part in parts for cell in part[c]], dtype=object) for c in columns}
    if not len(found[columns[0]]):
        raise DivulgeError.of(name, "have rows", "it", "empty")
    return found


def _encoded(given: list[np.ndarray]) -> list[np.ndarray]:
    """Return places in which distances, summed over coordinates, are those of Gower."""
    whole = np.concatenate(given)
    ends = np.cumsum([len(one) for one in given])[:-1]
    empty = whole == ""
    numbers = _numbers(whole)
    if numbers is not None:
        seen = numbers[~empty]
        spread = float(seen.max() - seen.min()) or 1.0
        place = np.where(empty, 0.0, (numbers - seen.min()) / spread)
        return np.split(np.column_stack([place, empty.astype(np.float64)]), ends)
    labels, codes = np.unique(whole.astype(str), return_inverse=True)
    return np.split(np.eye(len(labels))[codes.ravel()] / 2, ends)


def _numbers(texts: np.ndarray) -> np.ndarray | None:
    """Return a column of numbers, NaN where a cell is missing; None where one is no number, or all are missing."""
    empty = texts == ""
    try:
        numbers = np.where(empty, "0", texts).astype(np.float64)
    except ValueError:
        return None
    return np.where(empty, np.nan, numbers) if np.isfinite(numbers).all() and not empty.all() else None


def _blocks(rows: np.ndarray, targets: np.ndarray) -> Any:
    distance = require("scipy.spatial.distance", "science").cdist
    for first in range(0, len(targets), _BLOCK):
        yield first, distance(targets[first : first + _BLOCK], rows, "cityblock")


def _nearest(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the distance of each target to the nearest row."""
    return np.concatenate([np.round(block.min(axis=1), 9) for _, block in _blocks(rows, targets)])


def _guesses(rows: np.ndarray, secrets: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the commonest secret of the nearest rows; of those that tie, the one that is commoner in all rows."""
    labels, codes = np.unique(secrets.astype(str), return_inverse=True)
    votes = np.eye(len(labels))[codes.ravel()]
    usual = votes.mean(axis=0)
    found = np.empty(len(targets), dtype=object)
    for first, block in _blocks(rows, targets):
        near = block <= block.min(axis=1, keepdims=True) + _SAME
        found[first : first + len(block)] = labels[(near @ votes + usual / 2).argmax(axis=1)]
    return found


def _usual(secrets: np.ndarray) -> str:
    """Return the commonest secret; the first in the order of texts where several are."""
    labels, counts = np.unique(secrets.astype(str), return_counts=True)
    return str(labels[counts.argmax()])
