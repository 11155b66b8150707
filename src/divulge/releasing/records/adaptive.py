"""What releases guarantee together where each was chosen in the light of all answers before it; and person by person:
what each has spent of an account of their own, known by keyed words alone, and sealed."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.dp.filters import Filter
from divulge.dp.individual import Accounts
from divulge.errors import DivulgeError
from divulge.releasing.records.database import Database
from divulge.releasing.records.fingerprint import Key
from divulge.releasing.records.promised import Spent, added, at, summed_zcdp

MOST_PEOPLE = 10_000_000
"""Accounts of one book: 24 bytes each, read and written with every release."""

_WORDS = np.dtype([("high", np.uint64), ("low", np.uint64)])
_LINE = np.dtype([("who", _WORDS), ("spent", np.float64)])


def adaptively_together(
    releases: Sequence[Spent], delta: Fraction | float, aside: Fraction | float
) -> Fraction | float:
    """Return an epsilon that holds for all releases together at `delta`, whichever were chosen on the way.

    All of them add up in zCDP, for which the sum of what was really chosen may be held against a bound (a filter); of a
    release that has (epsilon, delta) alone, epsilon^2 / 2 and its delta, which is taken from the part set aside. An
    epsilon that weighs summed epsilons against an epsilon of summed zCDP is none of a filter: whoever chooses on the
    way would choose that weight too.

    Source: Rogers, Roth, Ullman, Vadhan, arXiv:1605.08294; Whitehouse, Ramdas, Rogers, Wu, arXiv:2203.05481.

    >>> gauss = Spent(("x",), None, None, loss=math.inf, rho=0.1)
    >>> rare = Spent(("x",), None, None, loss=math.inf, rho=math.inf, adp=(1.0, 1e-7))
    >>> round(float(adaptively_together([gauss, gauss], 1e-6, 0.0)), 2)  # of rho = 0.2
    3.13
    >>> adaptively_together([gauss, rare], 1e-6, 0.0)  # nothing is set aside
    inf
    >>> round(float(adaptively_together([gauss, rare], 1e-6, 1e-7)), 2)  # of rho = 0.6
    5.81
    """
    apart = [one.adp for one in releases if one.adp is not None and math.isinf(one.rho)]
    if added(missed for _, missed in apart) > aside:
        return math.inf
    rest = [one for one in releases if one.adp is None or math.isfinite(one.rho)]
    rho = added([summed_zcdp(rest), *(Fraction(epsilon) ** 2 / 2 for epsilon, _ in apart)])
    return at(rho, Fraction(delta) - Fraction(aside)) if rho else Fraction(0)


def charged(
    connection: Any, database: Database, key: Key, book: tuple[str, str, str], words: np.ndarray, costs: np.ndarray
) -> np.ndarray:
    """Charge people what a release costs them, and return who can pay: who cannot pays nothing, and is left out.

    `book` is (what the ledger calls the accounts, the column of people, what each account holds); `words` has shape
    (people, 2), no two alike; `costs` are rounded up, in the measure of the filter.
    """
    name, table = key.mark("\0".join(book).encode()), database.accounts
    row = connection.execute(database.sql.select(table.c.content).where(table.c.book == name)).first()
    held = np.empty(0, _LINE) if row is None else _opened(row[0], key)
    here = np.ascontiguousarray(words, np.uint64).view(_WORDS).ravel()
    who, where = np.unique(np.concatenate([held["who"], here]), return_inverse=True)
    if not len(who) <= MOST_PEOPLE:
        raise DivulgeError.of("accounts", f"be of at most {MOST_PEOPLE:,} people", "their number", f"{len(who):,}")
    spent, asked = np.zeros((2, len(who)))
    spent[where[: len(held)]], asked[where[len(held) :]] = held["spent"], costs
    fits, after = Accounts(Filter(book[2]), spent).charge(asked)
    lines = np.empty(len(who), _LINE)
    lines["who"], lines["spent"] = who, after.spent
    connection.execute(table.delete().where(table.c.book == name))
    connection.execute(table.insert().values(book=name, content=key.sealed(lines.tobytes())))
    return fits[where[len(held) :]]


def _opened(content: bytes, key: Key) -> np.ndarray:
    try:
        return np.frombuffer(key.opened(content), _LINE)
    except ValueError:
        raise DivulgeError(
            "the key of the ledger must be the one that its accounts are sealed with; it is another. Nothing was "
            "drawn. Hint: restore it from a copy, or begin a new ledger."
        ) from None
