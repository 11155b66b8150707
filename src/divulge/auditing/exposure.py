"""What public columns, alone and two together, say about a sensitive one: shares before and after, with error bars."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.files.tables.table import open_table
from divulge.model.labels import label_of
from divulge.model.record import Record
from divulge.model.shown import Shown, Table, Tabled
from divulge.releasing.drawing.coding import dictionary_of
from divulge.releasing.estimating.intervals import clopper_pearson

MOST_VALUES = 1000
"""A column of more values is left out: it names people or is a measurement, and each value has few rows."""
FEW = 30
"""A group of fewer rows is said to be small."""
_BITS = 20


@dataclass(frozen=True)
class Shift(Shown):
    """How far one group of people with the same public values differs from all, for one value of the secret.

    Attributes
    ----------
    secret : the value
    group : tuple
        The values of the public columns.
    before, after : float
        Share of the value among all rows, and among those of the group.
    low, high : float
        Bounds on the share in the population that the group's rows were drawn from.
    hits, rows : int
        Rows of the group with the value, and all rows of the group.

    Examples
    --------
    >>> Shift("ill", ("old",), 0.1, 0.5, 0.2, 0.8, 6, 12).few
    True
    """

    secret: Hashable
    group: tuple[Hashable, ...]
    before: float
    after: float
    low: float
    high: float
    hits: int
    rows: int

    @property
    def few(self) -> bool:
        """Whether the group has so few rows that its share says little about other people."""
        return self.rows < FEW

    @property
    def rise(self) -> float:
        """By what factor the share surely rises: its lower bound over the share among all; below 1 nothing is sure."""
        return self.low / self.before


@dataclass(frozen=True, eq=False)
class Told(Record, Shown):
    """What some public columns say: for each value of the secret, the group that surely raises it most.

    Attributes
    ----------
    columns : tuple of str
    shifts : tuple of Shift
        About people beyond the table, of whom its rows are a sample.
    groups : int
        How many combinations of values occur.
    alone, certain : int
        About the table itself, if it goes out with these columns as they are: rows that share their values with no
        other row, and rows of groups in which all have one answer, which whoever knows the values reads off.

    Examples
    --------
    >>> Told(("age",), (Shift("ill", ("old",), 0.1, 0.5, 0.2, 0.8, 6, 12),), 2).rise
    2.0
    """

    columns: tuple[str, ...]
    shifts: tuple[Shift, ...]
    groups: int
    alone: int = 0
    certain: int = 0

    @property
    def rise(self) -> float:
        """The largest sure rise of any value; 1 where none rises surely."""
        return max([1.0, *(shift.rise for shift in self.shifts)])


@dataclass(frozen=True, eq=False, repr=False)
class Exposure(Tabled, Record):
    """What each public column, alone and with one other, says about a secret one; the most telling first.

    Attributes
    ----------
    secret : str
    rows : int
    shares : {value: share of the rows}
        The rarest first.
    told : tuple of Told
    left_out : {column: why}
    confidence : float
        The bounds of each entry of `told` hold at once with this confidence, for independent rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> ages = ["old"] * 50 + ["young"] * 50
    >>> table = pa.table({"ill": ["yes"] * 40 + ["no"] * 60, "age": ages})
    >>> found = exposure(table, "ill")
    >>> [(shift.secret, shift.group, shift.after) for shift in found.told[0].shifts]
    [('yes', ('old',), 0.8), ('no', ('young',), 1.0)]
    """

    secret: str
    rows: int
    shares: dict[Hashable, float]
    told: tuple[Told, ...]
    left_out: dict[str, str]
    confidence: float

    def _shown(self) -> tuple[str, Table]:
        head = f"What public columns say about {self.secret!r} in {number_of(self.rows, 'row')}: the largest sure rise"
        values = np.array([[told.rise] for told in self.told]).reshape(-1, 1)
        return head, ([" and ".join(told.columns) for told in self.told], ["times"], values)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data.

        Examples
        --------
        >>> import pyarrow as pa
        >>> exposure(pa.table({"a": [1, 2], "b": [1, 2]}), "a").to_dict()["told"][0]["columns"]
        ['b']
        """
        return {
            "secret": self.secret,
            "rows": self.rows,
            "shares": [{"value": value, "share": share} for value, share in self.shares.items()],
            "told": [
                {
                    "columns": list(told.columns),
                    "groups": told.groups,
                    "alone": told.alone,
                    "certain": told.certain,
                    "rise": told.rise,
                    "shifts": [vars(shift) | {"group": list(shift.group), "few": shift.few} for shift in told.shifts],
                }
                for told in self.told
            ],
            "left_out": self.left_out,
            "confidence": self.confidence,
        }


class _Codes:
    """The values of a column met so far, as positions."""

    def __init__(self) -> None:
        self.labels: dict[Hashable, int] = {}

    def of(self, array: Any) -> np.ndarray:
        """Return the position of each row's value; a missing value is one of them."""
        values, indices, missing = dictionary_of(array)
        keys = list(map(label_of, values)) + ([None] if missing else [])
        places = [self.labels.setdefault(key, len(self.labels)) for key in keys]
        return np.array(places, dtype=np.int64)[indices]


def exposure(
    table: Any,
    secret: str,
    columns: str | Sequence[str] | None = None,
    *,
    pairs: bool = True,
    confidence: float = 0.95,
    progress: Callable[[int, int | None], None] | None = None,
) -> Exposure:
    """Return what each public column, alone and with one other, says about the values of a secret column.

    For a group of rows with the same public values, the share of a secret value among them is bounded as in
    Clopper and Pearson (1934), over all groups and values of the columns at once (Bonferroni). For each secret value
    the group stands whose lower bound is largest, so that chance in small groups is not taken for knowledge.

    Parameters
    ----------
    table : path of a file or folder; pandas, polars or pyarrow table; or Source
    secret : name of the sensitive column
    columns : name or names of the public columns; all others when not given
    pairs : bool
        Whether two columns together are looked at as well.
    confidence : number in (0, 1)
    progress : function of (rows read, rows in all or None), called now and then

    Returns
    -------
    Exposure

    Raises
    ------
    DivulgeError
        For a table that cannot be read, a column that it lacks, no rows, or a secret of more than 1,000 values.

    Examples
    --------
    >>> from divulge.datasets import census
    >>> found = exposure(census(["race", "citizenship", "sex"]), "race", pairs=False)
    >>> [told.columns for told in found.told]
    [('citizenship',), ('sex',)]
    >>> round(found.told[0].shifts[0].before, 4)  # the rarest value
    0.0113
    """
    if not 0 < confidence < 1:
        raise DivulgeError.of("confidence", "be in (0, 1)", "it", str(confidence))
    source = open_table(table)
    source.require_values([secret])
    others = [name for name in source.schema.names if name != secret] if columns is None else _listed(columns)
    if secret in others:
        raise DivulgeError.of("columns", "be public columns", "one", "the secret")
    if columns is not None:
        source.require_values(others)
    names, left_out = _readable(source, others)
    counts, codes, rows, left_out = _counted(source, secret, names, left_out, pairs, progress)
    if not rows:
        raise DivulgeError.of("table", "have rows", "it", "empty")
    labels = [list(code.labels) for code in codes]
    totals = np.zeros(len(labels[0]), dtype=np.int64)
    for key, count in zip(*counts[()], strict=True):
        totals[key] += count
    order = np.argsort(totals, kind="stable")
    shares = {labels[0][v]: float(totals[v] / rows) for v in order}
    by_column = [
        _told(tuple(names[i - 1] for i in chosen), chosen, keys, hits, labels, totals, confidence)
        for chosen, (keys, hits) in counts.items()
        if chosen
    ]
    by_column.sort(key=lambda entry: (-round(entry.rise, 6), len(entry.columns)))
    return Exposure(secret, rows, shares, tuple(by_column), left_out, confidence)


def _listed(columns: str | Sequence[str]) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns)


def _readable(source: Any, others: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Divide columns into those whose values can be told apart and those left out, with the reason."""
    names, left_out = list[str](), dict[str, str]()
    for name in others:
        try:
            source.require_values([name])
        except DivulgeError:
            left_out[name] = "its values are neither text, numbers, dates nor times"
        else:
            names.append(name)
    return names, left_out


Counts = dict[tuple[int, ...], tuple[np.ndarray, np.ndarray]]
"""Positions of public columns (from 1) -> (key of each cell that occurs, its rows); () counts the secret alone."""


def _counted(
    source: Any,
    secret: str,
    names: Sequence[str],
    left_out: dict[str, str],
    pairs: bool,
    progress: Callable[[int, int | None], None] | None,
) -> tuple[Counts, list[_Codes], int, dict[str, str]]:
    """Count the cells of the secret with each column and each pair of columns, in one pass over the rows."""
    codes = [_Codes() for _ in range(1 + len(names))]
    kept = list(range(1, len(codes)))
    cells: dict[tuple[int, ...], list[tuple[np.ndarray, np.ndarray]]] = {}
    rows = 0
    for batch in source.batches([secret, *names], [secret, *names]):
        at = {0: codes[0].of(batch.column(secret))}
        if len(codes[0].labels) > MOST_VALUES:
            raise DivulgeError.of("secret", f"have at most {MOST_VALUES:,} values", "it", "a column of more")
        for i in list(kept):
            at[i] = codes[i].of(batch.column(names[i - 1]))
            if len(codes[i].labels) > MOST_VALUES:
                kept.remove(i)
                left_out[names[i - 1]] = (
                    f"it has more than {MOST_VALUES:,} values, each of few rows: who knows one finds a person"
                )
        rows += batch.num_rows
        for chosen in [(), *_choices(kept, pairs)]:
            found = np.unique(_key(at[0], [at[i] for i in chosen]), return_counts=True)
            cells.setdefault(chosen, []).append(found)
        if progress:
            progress(rows, source.rows)
    wanted = {(), *_choices(kept, pairs)}
    return {chosen: _merged(parts) for chosen, parts in cells.items() if chosen in wanted}, codes, rows, left_out


def _choices(kept: Sequence[int], pairs: bool) -> Iterable[tuple[int, ...]]:
    return [(i,) for i in kept] + (list(combinations(kept, 2)) if pairs else [])


def _key(secret: np.ndarray, public: Sequence[np.ndarray]) -> np.ndarray:
    key = np.zeros(len(secret), dtype=np.int64)
    for part in public:
        key = (key << _BITS) | part
    return (key << _BITS) | secret


def _merged(parts: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    keys, where = np.unique(np.concatenate([key for key, _ in parts]), return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, where, np.concatenate([count for _, count in parts]))
    return keys, counts


def _told(
    columns: tuple[str, ...],
    chosen: tuple[int, ...],
    keys: np.ndarray,
    hits: np.ndarray,
    labels: Sequence[Sequence[Hashable]],
    totals: np.ndarray,
    confidence: float,
) -> Told:
    """Return for each secret value, rarest first, the group that surely raises its share most."""
    groups, group_of = np.unique(keys >> _BITS, return_inverse=True)
    secret_of = keys & ((1 << _BITS) - 1)
    sizes = np.zeros(len(groups), dtype=np.int64)
    np.add.at(sizes, group_of, hits)
    risk = (1 - confidence) / (len(groups) * len(totals))
    low, high = clopper_pearson(hits, sizes[group_of], risk)
    shifts: list[Shift] = []
    rows = int(totals.sum())
    for v in np.argsort(totals, kind="stable"):
        (mine,) = np.nonzero(secret_of == v)
        best = mine[np.lexsort((groups[group_of[mine]], -sizes[group_of[mine]], -np.round(low[mine], 12)))[0]]
        values, group = list[Hashable](), int(groups[group_of[best]])
        for i in reversed(chosen):
            values.append(labels[i][group & ((1 << _BITS) - 1)])
            group >>= _BITS
        size = int(sizes[group_of[best]])
        shifts.append(
            Shift(
                labels[0][v],
                tuple(reversed(values)),
                float(totals[v] / rows),
                float(hits[best] / size),
                float(low[best]),
                float(high[best]),
                int(hits[best]),
                size,
            )
        )
    alone, certain = int((sizes == 1).sum()), int(hits[hits == sizes[group_of]].sum())
    return Told(columns, tuple(shifts), len(groups), alone, certain)
