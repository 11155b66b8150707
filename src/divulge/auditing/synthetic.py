"""Audits of synthetic tables: people whose data made them, against people whose data did not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.auditing.attributes import AttributeAudit
from divulge.auditing.membership import MembershipAudit, audit_membership
from divulge.errors import DivulgeError
from divulge.extras import require
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
    violated : bool
        Whether one of them refutes the claim.

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
    violated: bool

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return the audit as plain data; logarithms in `unit`.

        Examples
        --------
        >>> import pyarrow as pa
        >>> table = pa.table({"age": [3, 5, 8, 13], "ill": [0, 1, 0, 1]})
        >>> sorted(audit_synthetic(table, table, table, secret="ill", known=["age"]).to_dict())
        ['inference', 'membership', 'violated']
        """
        parts = {"inference": self.inference.to_dict(unit), "membership": self.membership.to_dict(unit)}
        return {**parts, "violated": self.violated}


def audit_synthetic(
    synthetic: Any,
    members: Any,
    others: Any,
    *,
    secret: str,
    known: Sequence[str],
    claim: Guarantee | str | None = None,
    base_rate: float | None = None,
    confidence: float = 0.95,
) -> SyntheticAudit:
    """Return what a synthetic table tells about those whose data made it, against people whose data did not.

    Distances are means over columns: of the difference over the range for numbers, and 1 where labels differ (Gower).
    Somebody who knows the columns `known` of a person guesses the commonest secret of the nearest synthetic rows; if
    it is right oftener about members than about others, it is the table that tells. The two audits share the risk.

    Parameters
    ----------
    synthetic, members, others : paths or tables with the same columns
        The synthetic table, the rows that it was made from, and rows of people drawn alike that it was not made from.
    secret : str
    known : columns, without the secret
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
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(1)
    >>> def people(n):
    ...     return pa.table({"age": rng.integers(0, 90, n), "ill": rng.integers(0, 2, n)})
    >>> found = audit_synthetic(people(200), people(200), people(200), secret="ill", known=["age"])
    >>> found.membership.epsilon < 0.5, found.violated
    (True, False)
    """
    columns = _columns(secret, known)
    tables = [
        _read(one, name, columns) for one, name in ((synthetic, "synthetic"), (members, "members"), (others, "others"))
    ]
    sizes = [len(table[secret]) for table in tables]
    if sizes[0] * (sizes[1] + sizes[2]) * len(columns) > MOST_DISTANCES:
        raise DivulgeError.of(
            "members", f"need at most {MOST_DISTANCES:,} distances, times columns", "their number", "larger",
            "draw fewer members and others at random.",
        )  # fmt: skip
    places = {name: _encoded([table[name] for table in tables]) for name in columns}
    secrets = [table[secret] for table in tables]
    usual = _usual(secrets[0])
    near = [np.hstack([places[name][i] for name in columns[:-1]]) for i in range(3)]
    full = [np.hstack([places[name][i] for name in columns]) for i in range(3)]
    guesses = [_guesses(near[0], secrets[0], near[i]) for i in (1, 2)]
    each = 1 - (1 - confidence) / 2
    right, without = guesses[0] == secrets[1], secrets[1] == usual
    inference = AttributeAudit.of_counts(
        sizes[1], int(right.sum()), int(without.sum()), int((right & without).sum()),
        (sizes[2], int((guesses[1] == secrets[2]).sum())), None, each,
    )  # fmt: skip
    scores = -np.concatenate([_nearest(full[0], full[i]) for i in (1, 2)]) / len(columns)
    inside = np.arange(sizes[1] + sizes[2]) < sizes[1]
    membership = audit_membership(scores, inside, base_rate=base_rate, claim=claim, confidence=each)
    return SyntheticAudit(inference, membership, membership.violated)


def _columns(secret: Any, known: Any) -> list[str]:
    """Return the known columns and, last, the secret."""
    found = [known] if isinstance(known, str) else list(known) if isinstance(known, (list, tuple)) else []
    if not found or not all(isinstance(name, str) for name in (*found, secret)) or len({*found, secret}) <= len(found):
        raise DivulgeError.of("known", "name columns, without the secret", "it", "something else")
    return [*found, secret]


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
    try:
        numbers = np.where(empty, "0", whole).astype(np.float64)
    except ValueError:
        numbers = np.array([np.nan])
    if np.isfinite(numbers).all() and not empty.all():
        seen = numbers[~empty]
        spread = float(seen.max() - seen.min()) or 1.0
        place = np.where(empty, 0.0, (numbers - seen.min()) / spread)
        return np.split(np.column_stack([place, empty.astype(np.float64)]), ends)
    labels, codes = np.unique(whole.astype(str), return_inverse=True)
    return np.split(np.eye(len(labels))[codes.ravel()] / 2, ends)


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
