"""A Markov chain counted from the rows of a table: who, when, in which state; with intervals of each share."""

from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.files.tables.table import open_table
from divulge.model.channel import Channel
from divulge.model.entries import open_share
from divulge.model.prior import Prior
from divulge.model.shown import Shown
from divulge.releasing.estimating.intervals import clopper_pearson

STATES = 1000
"""A matrix of more states has a million shares: group places first."""


@dataclass(frozen=True, repr=False)
class EstimatedChain(Shown):
    """What the rows of a table say of how states follow each other.

    Attributes
    ----------
    initial : Prior
        Shares of the first states.
    transition : Channel
        Shares of moves; a state that is never left stays.
    counts : ndarray of int, shape (n, n)
        Moves.
    lower, upper : ndarray, shape (n, n)
        Exact intervals of each share (Clopper and Pearson), which hold together at `confidence` if moves are
        independent draws.
    steps : int
        The most rows that one person has.

    Examples
    --------
    >>> table = {"who": [1, 1, 2, 2], "day": [1, 2, 1, 2], "place": ["home", "work", "home", "home"]}
    >>> estimated_chain(table, "who", "day", "place").transition.matrix.tolist()[0]
    [Fraction(1, 2), Fraction(1, 2)]
    """

    initial: Prior
    transition: Channel
    counts: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    confidence: float
    steps: int
    people: int

    def __repr__(self) -> str:
        moves = int(self.counts.sum())
        return (
            f"chain of {len(self.initial.secrets)} states from {moves:,} moves of {self.people:,} people; shares are "
            f"known to within {float((self.upper - self.lower).max()) / 2:.2g} at worst.\n"
            "It was counted from these people: used beside a release about them, it is a release of its own.\n"
            f"{self.transition!r}"
        )


def estimated_chain(table: Any, id: str, time: str, state: str, confidence: float = 0.95) -> EstimatedChain:
    """Return the chain that the rows of a table suggest: shares of moves, with intervals.

    `table` has one row a person and moment; `confidence` is that of all intervals together.

    >>> table = {"who": [1, 1, 2, 2], "day": [1, 2, 1, 2], "place": ["home", "work", "home", "home"]}
    >>> estimated_chain(table, "who", "day", "place").counts.tolist()
    [[1, 1], [0, 0]]
    """
    for argument, name in (("id", id), ("time", time), ("state", state)):
        DivulgeError.unless(name, str, argument, "be the name of a column")
    confidence = open_share(confidence, "confidence")
    rows: dict[Any, list[tuple[Any, Any]]] = defaultdict(list)
    for batch in open_table(table).batches([id, time, state]):
        columns = [batch.column(i).to_pylist() for i in range(3)]
        for name, column in zip((id, time, state), columns, strict=True):
            if None in column:
                raise DivulgeError.of("table", f"have no missing value in {name!r}", "some row", "missing")
        for who, when, where in zip(*columns, strict=True):
            rows[who].append((when, where))
    moves: Counter[tuple[Any, Any]] = Counter()
    first: Counter[Any] = Counter()
    for visits in rows.values():
        visits.sort(key=lambda one: one[0])
        if any(a[0] == b[0] for a, b in pairwise(visits)):
            raise DivulgeError.of("table", "have one row a person and time", f"a time in {time!r}", "there twice")
        first[visits[0][1]] += 1
        moves.update((a[1], b[1]) for a, b in pairwise(visits))
    states = sorted({*first, *(s for pair in moves for s in pair)}, key=str)
    if len(states) > STATES:
        raise DivulgeError.of(
            "state", f"have at most {STATES:,} values", "their number", f"{len(states):,}", "group them."
        )
    if not moves:
        raise DivulgeError.of("id", "name people with two rows or more", "each", "there once")
    counts = np.array([[moves[a, b] for b in states] for a in states])
    totals = counts.sum(axis=1)
    exact = [
        [Fraction(int(v), int(total)) if total else Fraction(a == b) for b, v in enumerate(row)]
        for a, (row, total) in enumerate(zip(counts, totals, strict=True))
    ]
    risk = (1 - confidence) / counts.size
    trials = np.broadcast_to(np.maximum(totals, 1)[:, None], counts.shape)
    low, high = clopper_pearson(counts, trials, risk)
    low, high = np.where(totals[:, None] > 0, low, 0.0), np.where(totals[:, None] > 0, high, 1.0)
    initial = Prior([Fraction(first[s], len(rows)) for s in states], states)
    longest = max(map(len, rows.values()))
    return EstimatedChain(initial, Channel(exact, states, states), counts, low, high, confidence, longest, len(rows))
