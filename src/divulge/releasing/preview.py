"""How good a release would be, before anything is drawn: how far estimates will be off, and what becomes of a row."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.clock import OutOfTime
from divulge.errors import DivulgeError, number_of
from divulge.extras import drawable
from divulge.files.settings import using
from divulge.files.tables.source import Source, TableLike, is_plain
from divulge.files.tables.table import open_table
from divulge.model.channel import Channel
from divulge.model.entries import scalar
from divulge.model.labels import key_of
from divulge.model.shown import Shown, printable, shortened
from divulge.protocols.protocol import Protocol
from divulge.releasing.beside import MOST_ROWS, Beside, Counted, beside
from divulge.releasing.column import Release
from divulge.releasing.estimating.counting import EngineName, by_spark, contingency
from divulge.releasing.estimating.estimate import rank, right_inverse
from divulge.releasing.estimating.intervals import INTERVALS, clustered
from divulge.releasing.persons import Protection, chosen_for, on_spark, protection
from divulge.releasing.planning.choosing import Chosen, counted, stand_in
from divulge.releasing.planning.listed import Answers
from divulge.releasing.planning.named import resolved
from divulge.releasing.planning.naming import str_of
from divulge.releasing.records.ran.mechanism import Mechanism
from divulge.releasing.request import Request, asking
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEVELS = (0.5, 1.0, 2.0)
"""What is shown side by side: the strength that was asked for, half of it and twice as much."""

CONFIDENCE = 0.95
"""The probability with which all intervals of a preview hold at once: what survey offices usually state."""
_BAR = 24
"""Characters of a drawn interval: with name and numbers beside it, it fits in a line."""
_MOST_DRAWN = 40
"""Values of a picture, those that occur most: more names than a page has lines cannot be read."""


@dataclass(frozen=True)
class Value:
    """What becomes of one value.

    count : rows that have it: exact, for the keeper's eyes
    half_width : of its estimated share, all intervals together at 95 %; inf where it cannot be estimated
    stays : how often a row that has it says so
    """

    value: Hashable
    count: int
    share: float
    half_width: float
    stays: float

    @property
    def told_from_zero(self) -> bool:
        """Whether an estimate this far off still tells the share from nothing."""
        return self.half_width < self.share


@dataclass(frozen=True)
class Level:
    """One strength: what was asked, the mechanism and what becomes of each value, in all rows and by group."""

    asked: str
    ldp: float
    stays: float
    values: tuple[Value, ...]
    groups: Mapping[Hashable, tuple[Value, ...]]

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return plain data."""
        return {
            "asked": self.asked, "ldp": self.ldp / nats_per(unit), "stays": self.stays,
            "values": [_value_as_json(v, sum(v.count for v in self.values)) for v in self.values],
            "by": {str_of(name): [_value_as_json(v, sum(v.count for v in group)) for v in group]
                   for name, group in self.groups.items()},
        }  # fmt: skip


def _value_as_json(value: Value, rows: int) -> dict[str, Any]:
    return {
        "value": str_of(value.value), "count": value.count, "share": value.share, "half_width": value.half_width,
        "half_width_rows": value.half_width * rows, "stays": value.stays, "told_from_zero": value.told_from_zero,
    }  # fmt: skip


@dataclass(frozen=True, repr=False)
class Preview(Shown):
    """How good a release would be at several strengths; it holds exact counts, for the keeper's eyes only.

    Examples
    --------
    >>> survey = {"answer": ["yes"] * 100 + ["no"] * 900}
    >>> found = preview(survey, column="answer", mechanism="randomized-response", ratio=9)
    >>> [level.asked for level in found.levels], found.levels[1].stays
    (['randomized-response, ratio 3', 'randomized-response, ratio 9', 'randomized-response, ratio 81'], 0.9)
    """

    columns: tuple[str, ...]
    rows: int
    levels: tuple[Level, ...]
    notes: tuple[str, ...] = ()
    by: str | None = None
    beside: Beside | None = None

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return the preview as plain data, what it comes to in `unit`; what was asked is said as it was.

        Examples
        --------
        >>> survey = {"answer": ["yes"] * 100 + ["no"] * 900}
        >>> found = preview(survey, column="answer", guarantee="ldp=1").to_dict()
        >>> found["rows"], [one["value"] for one in found["levels"][0]["values"]]
        (1000, ['no', 'yes'])
        """
        return {
            "columns": list(self.columns), "rows": self.rows, "confidence": CONFIDENCE, "by": self.by, "unit": unit,
            "levels": [level.to_dict(unit) for level in self.levels], "notes": list(self.notes),
            "beside": None if self.beside is None else self.beside.to_dict(),
        }  # fmt: skip

    def text(self) -> str:
        """Return the preview as text, with a picture of characters.

        Examples
        --------
        >>> survey = {"answer": ["yes"] * 100 + ["no"] * 900}
        >>> print(preview(survey, column="answer", guarantee="ldp=1").text().splitlines()[0])
        A release of 'answer', 1,000 rows. Nothing was drawn, nothing is spent; the counts below are exact: keep them.
        """
        names = ", ".join(map(repr, self.columns))
        lines = [
            f"A release of {names}, {number_of(self.rows, 'row')}. Nothing was drawn, nothing is spent; the counts "
            "below are exact: keep them.",
            "How far the estimated number of rows with each value may be off (95 %, all values together);",
            f"o is the exact number, the dashes are where an estimate may be with {_middle(self.levels).asked}:",
            "",
        ]  # fmt: skip
        lines += _table(self.levels, [level.values for level in self.levels])
        stays = "; ".join(f"{one.asked}: {_percent(one.stays)}" for one in self.levels)
        lines += ["", f"A row stays as it was: {stays}"]
        for level in self.levels:
            lost = [v for v in level.values if not v.told_from_zero]
            shown = ", ".join(str_of(v.value) for v in lost[:6]) + (f" and {len(lost) - 6} more" if lost[6:] else "")
            told = f"too rare to be told from zero: {shown}" if lost else "every value can be told from zero"
            lines.append(f"{level.asked}: {told}")
        for group in self.levels[0].groups:
            lines += ["", f"{self.by} = {str_of(group)}"]
            lines += _table(self.levels, [level.groups[group] for level in self.levels])
        lines += [f"note: {text}" for text in self.notes]
        lines += [] if self.beside is None else ["", *self.beside.words()]
        return "\n".join(map(printable, lines))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the half-widths beside the shares, and return the axes (extra: plot).

        Examples
        --------
        >>> survey = {"answer": ["yes"] * 100 + ["no"] * 900}
        >>> preview(survey, column="answer", guarantee="ldp=1").plot().get_xlabel()
        'share of the rows [%]'
        """
        every, own = self.levels[0].values, ax is None
        shown = sorted(every, key=lambda v: v.count)[-_MOST_DRAWN:]
        names = [_short(str_of(v.value), 32).replace("$", r"\$") for v in shown]
        ax = drawable(ax, (5.4 + 0.06 * max(map(len, names)), 2.2 + 0.35 * len(shown)))
        place = {v.value: i for i, v in enumerate(shown)}
        for k, level in enumerate(self.levels):
            values = [v for v in level.values if v.value in place and math.isfinite(v.half_width)]
            ax.errorbar(
                [100 * v.share for v in values], [place[v.value] + 0.22 * (1 - k) for v in values],
                xerr=[100 * v.half_width for v in values], fmt="o", ms=3, capsize=3, label=printable(level.asked),
                color=("#0072B2", "#D55E00", "#009E73")[k % 3],
            )  # fmt: skip
        ax.axvline(0, color="0.5", lw=1)
        ax.set_yticks(range(len(shown)), names)
        ax.margins(y=0.5 / len(shown))
        ax.set_xlabel("share of the rows [%]")
        some = f", the {len(shown)} most frequent of {len(every):,} values" if len(every) > len(shown) else ""
        said = f"Exact shares of the rows{some},\nand how far estimates may be off; for the keeper alone"
        ax.set_title(said, fontsize=10)
        if own:
            ax.figure.legend(loc="outside lower center", fontsize=9)
        else:
            ax.legend(loc="best", fontsize=9)
        return ax

    def __repr__(self) -> str:
        return self.text()


def _middle(levels: Sequence[Any]) -> Any:
    """Return what is shown of the strength that was asked for, which stands in the middle."""
    return levels[len(levels) // 2]


def _percent(share: float) -> str:
    """Return a share in whole percent; all and none only where it is all or none."""
    return "under 1%" if 0 < share < 0.005 else "over 99%" if 0.995 <= share < 1 else f"{share:.0%}"


def _short(text: str, most: int = 40) -> str:
    return shortened(printable(text), most)


def _table(levels: Sequence[Level], columns: Sequence[tuple[Value, ...]]) -> list[str]:
    """Return a line for each value: its count, how far off each level is, and a bar for the level that was asked."""
    rows = sum(v.count for v in columns[0])
    heads = ["value", "rows", *(level.asked for level in levels), ""]
    middle = _middle(columns)
    scale = max((v.share + min(v.half_width, 1) for v in middle), default=1) or 1
    lines = [heads]
    for i in sorted(range(len(columns[0])), key=lambda i: -columns[0][i].count):
        one = columns[0][i]
        off = [_rows(column[i].half_width * rows) for column in columns]
        lines.append([_short(str_of(one.value)), f"{one.count:,}", *off, _bar(middle[i], scale)])
    widths = [max(len(line[j]) for line in lines) for j in range(len(heads))]
    text = (0, len(heads) - 1)
    return [
        "  ".join(
            cell.ljust(w) if j in text else cell.rjust(w) for j, (cell, w) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]


def _rows(value: float) -> str:
    return "no estimate" if math.isinf(value) else f"± {math.ceil(value):,}"


def _bar(value: Value, scale: float) -> str:
    """Return the interval around the share as characters: dashes, with the share as a point."""
    low, high = max(value.share - value.half_width, 0), min(value.share + value.half_width, scale)
    cells = [" "] * (_BAR + 1)
    for i in range(round(_BAR * low / scale), round(_BAR * high / scale) + 1):
        cells[i] = "-"
    cells[round(_BAR * value.share / scale)] = "o"
    return "|" + "".join(cells)


@asking("release")
def preview(source: TableLike, *, by: str | None = None, levels: Sequence[float] = LEVELS, **options: Any) -> Preview:
    """Return how far estimates of a release would be off, and how often rows stay as they are; draw nothing.

    The half-width of a value is that of the interval which `estimate_frequencies` gives by default, at the numbers of
    rows that its outcomes will have on average.

    Parameters
    ----------
    source, column, guarantee, protect, mechanism, epsilon, ratio, purpose, outcomes, prior, within, prior_from_data,
    values, other, rule_out, null_as, raise_small, time_limit, person, one_answer, rows_per_person, per_row, chain,
    engine, unit, delimiter, decimal, encoding, sheet, header, footer, number_names, one_spelling, group, line_breaks,
    limits
        As for `release`.
    protocol, prefixes, grid, box, quarters, distance : None
        Reports, and places that are moved, are not previewed: their statement says how far they are off.
    by : str, optional
        A public column: the same for each of its values, with intervals that hold for all groups together.
    levels : numbers
        Multiples of the strength that are shown; a mechanism of a file has one level.
    sink, table_format, force, receipt, archive, sign, escape_formulas, language, ledger, budget, source_name, people,
    released_as, keep, only_column
        As for `release`; a preview writes and records nothing.

    Returns
    -------
    Preview
        Prints as a table with a picture of characters; `plot` draws it, `to_dict` is plain data. It holds exact counts.

    Raises
    ------
    DivulgeError
        As for `release`.

    Examples
    --------
    >>> survey = {"answer": ["yes"] * 100 + ["no"] * 900}
    >>> found = preview(survey, column="answer", guarantee="ldp=1")
    >>> half, one, two = (level.values[0].half_width for level in found.levels)
    >>> 0.1 > one > two > 0.02, half > one
    (True, True)
    """
    DivulgeError.unless(levels, (list, tuple, range, np.ndarray), "levels", "be a list of numbers")
    if not len(levels):
        raise DivulgeError.of("levels", "have one number or more", "it", "empty")
    multiples = [scalar(level, "levels") for level in levels]
    if not all(0 < level < math.inf for level in multiples):
        raise DivulgeError.of("levels", "be above 0 and finite", "one of them", "not")
    return foresee(Request.of("release", source, **options), source, by=by, levels=multiples)


def foresee(request: Any, source: Any = None, *, by: str | None = None, levels: Sequence[float] = LEVELS) -> Preview:
    """Return the preview of a request, at these multiples of its strength."""
    with using(**request.settings):
        return _foreseen(request, request.source if source is None else source, by, levels)


def _foreseen(request: Release, source: Any, by: str | None, levels: Sequence[float]) -> Preview:
    engine, null_as = request.engine, request.null_as
    apart = next((name for name in ("grid", "distance", "protocol") if getattr(request, name) is not None), None)
    if apart is not None or isinstance(request.mechanism, Protocol):
        raise DivulgeError.of(
            apart or "protocol", "be left out of a preview", "it", "given",
            "the statement says how far estimates are off; dv.protocols.choose has all protocols side by side.",
        )  # fmt: skip
    choice = resolved(request, source)
    columns, mechanism = choice.columns, choice.mechanism
    unstated = choice.epsilon is None and choice.ratio is None
    table = source if by_spark(source, engine) else open_table(source)
    answers = Answers.of(choice)
    if answers is not None and isinstance(table, Source):
        table = answers.view(table)
    if isinstance(table, Source):
        kept = () if choice.only_column else choice.keep
        table.require_columns(table.schema.names if kept is None else kept)
        whose = protection(request, table, columns)
        table, counted_in = whose.source, whose.units
    else:
        whose, counted_in = on_spark(request, table), table
    squares = whose.protects.get("squares")
    counts = counted(contingency(table, columns, engine=engine), null_as)
    groups = {} if by is None else _by(table, columns, by, null_as, engine)
    given = mechanism is not None and not isinstance(mechanism, str)
    scales = (1.0,) if given or (isinstance(mechanism, str) and unstated) else levels
    found: list[Level] = []
    notes: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    late: list[str] = []
    for scale in scales:
        asked = _scaled(choice, scale)
        try:
            chosen = chosen_for(whose, stand_in(asked), counted_in, True)
        except OutOfTime:
            if scale == 1:
                raise
            late.append(_called(asked))
            continue
        except DivulgeError:
            if scale == 1:
                raise
            continue
        if scale == 1:
            private = chosen.private
            notes = chosen.notes if stand_in(asked) is asked else (*chosen.notes, _NOISY)
        found.append(_level(_called(asked), chosen, counts, groups, squares))
    if late:
        notes = (*notes, f"Not shown, as the time limit of {choice.time_limit:g} s was over before: {', '.join(late)}. "
                         "Hint: time_limit (--time-limit) allows it longer.")  # fmt: skip
    few = sum(counts.values()) <= MOST_ROWS
    gone = _beside(choice, table, whose, found) if few and isinstance(table, Source) else None
    return Preview(columns, sum(counts.values()), tuple(found), (*private, *notes), by, gone)


def _beside(choice: Release, table: Source, whose: Protection, found: Sequence[Level]) -> Beside | None:
    """Return what the columns that go out add, at the level that was asked for."""
    schema, kept = table.schema, () if choice.only_column else choice.keep
    out = schema.names if kept is None else [name for name in schema.names if name in kept]
    person = whose.protects["person"] if kept is None else None
    known = [name for name in out if name not in (*choice.columns, person) and is_plain(schema.field(name).type)]
    return beside(table, choice.columns, known, _middle(found).ldp, choice.null_as, Counted.of(choice))


_NOISY = "A preview spends nothing: where the release will estimate the shares with noise, all values are taken to be "\
    "equally likely here, and the epsilon of the estimate is taken off the guarantees."  # fmt: skip


def _by(table: Any, columns: tuple[str, ...], by: str, null_as: Hashable, engine: EngineName) -> Any:
    """Return {value of `by`: counts by value}."""
    if by in columns:
        raise DivulgeError.of("by", "be another column than the released one", "it", repr(by))
    found: dict[Hashable, dict[Hashable, int]] = {}
    for key, count in contingency(table, (*columns, by), engine=engine).to_dict().items():
        assert isinstance(key, tuple)
        parts = tuple(null_as if part is None else part for part in key[:-1])
        label = parts if len(columns) > 1 else parts[0]
        found.setdefault(key[-1], {})[label] = count
    return dict(sorted(found.items(), key=lambda item: str(item[0])))


def _scaled(choice: Release, scale: float) -> Release:
    """Return the choice with its strength multiplied: epsilons by the scale, ratios to its power."""
    if scale == 1:
        return choice
    if isinstance(choice.mechanism, str):
        if choice.epsilon is not None:
            return replace(choice, epsilon=choice.epsilon * scale)
        grown = float(Fraction(str(choice.ratio))) ** scale
        near = Fraction(grown).limit_denominator(10**6)
        return replace(choice, ratio=str(near))
    return replace(choice, guarantee=tuple(_grown(one, scale) for one in choice.guarantee))


def _grown(guarantee: Any, scale: float) -> Any:
    logs = guarantee.logarithmic
    values = {
        name: value if name in guarantee.index else _times(value, scale) if name in logs else float(value) ** scale
        for name, value in guarantee.values().items()
    }
    return type(guarantee)(**values)


def _times(value: Any, scale: float) -> Any:
    return value * Fraction(scale) if isinstance(value, Fraction) else float(value) * scale


def _called(choice: Release) -> str:
    if isinstance(choice.mechanism, str):
        strength = {"epsilon": choice.epsilon, "ratio": choice.ratio}
        said = [
            f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
            for name, value in strength.items()
            if value is not None
        ]
        return ", ".join([choice.mechanism, *said])
    return " ".join(map(str, choice.guarantee)) or "the mechanism"


def _level(
    asked: str,
    chosen: Chosen,
    counts: Mapping[Hashable, int],
    groups: Mapping[Hashable, Mapping[Hashable, int]],
    squares: int | None,
) -> Level:
    if len(chosen.mechanisms) != 1:
        raise DivulgeError.of("column", "be one secret for a preview", "the columns", "released independently",
                              "preview each column by itself.")  # fmt: skip
    only = chosen.mechanisms[0]
    families = len(only.channel.secrets)
    values = _values(only, counts, families, squares)
    rows = sum(counts.values())
    by = {name: _values(only, group, families * max(len(groups), 1), squares) for name, group in groups.items()}
    stays = sum(v.count * v.stays for v in values) / rows
    return Level(asked, only.for_a_person["ldp"], stays, values, by)


def _values(only: Mechanism, counts: Mapping[Hashable, int], families: int, squares: int | None) -> tuple[Value, ...]:
    channel = only.channel
    matrix = channel.weights / 2.0**channel.bits
    known = {key_of(x): n for x, n in counts.items()}
    held = np.array([known.get(key_of(x), 0) for x in channel.secrets], dtype=float)
    rows = held.sum()
    if rows < sum(counts.values()):
        raise DivulgeError.of("source", "hold only secrets of the mechanism", "the number of rows with another value",
                              f"{int(sum(counts.values()) - rows):,}")  # fmt: skip
    shares = held / rows
    radius = half_widths(matrix, shares, rows, (1 - CONFIDENCE) / families, squares)
    place = {key_of(y): j for j, y in enumerate(channel.outcomes)}
    return tuple(
        Value(x, int(n), p, r, float(matrix[i, place[key_of(x)]]) if key_of(x) in place else 0.0)
        for i, (x, n, p, r) in enumerate(
            zip(channel.secrets, held.tolist(), shares.tolist(), radius.tolist(), strict=True)
        )
    )


def half_widths(
    matrix: np.ndarray, shares: np.ndarray, rows: float, risk: float, squares: int | None = None
) -> np.ndarray:
    """Return, for each secret, how far the interval that `estimate_frequencies` gives reaches on its longer side.

    It is the default interval at the outcomes' expected numbers of rows, and misses with probability `risk` at most.

    >>> half_widths(np.eye(2), np.array([0.5, 0.5]), 100.0, 0.05).round(1).tolist()  # Clopper, Pearson
    [0.1, 0.1]
    """
    if rank(matrix) < len(matrix) or not rows > 0:
        return np.full(len(matrix), math.inf)
    inverse = right_inverse(Channel(matrix))
    if squares is not None:
        return np.minimum(clustered(matrix, inverse, int(rows), squares, risk), 1.0)
    return _reach(matrix, inverse, shares, rows, risk)


def half_width(
    matrix: np.ndarray, inverse: np.ndarray, shares: np.ndarray, rows: float, risk: float, secret: int
) -> float:
    """Return the one of `half_widths` at a secret, of a channel with this right inverse.

    >>> round(half_width(np.eye(2), np.eye(2), np.array([0.5, 0.5]), 100.0, 0.05, 1), 1)
    0.1
    """
    return float(_reach(matrix, inverse[:, [secret]], shares, rows, risk)[0])


def _reach(matrix: np.ndarray, inverse: np.ndarray, shares: np.ndarray, rows: float, risk: float) -> np.ndarray:
    counts = _whole(shares @ matrix * rows)
    middle = counts / counts.sum() @ inverse
    low, high = INTERVALS["exact"](counts, matrix, inverse, risk)
    return np.minimum(np.maximum(high - middle, middle - low), 1.0)


def _whole(expected: np.ndarray) -> np.ndarray:
    """Return whole numbers with the same sum, by largest remainder."""
    floors = np.floor(expected).astype(np.int64)
    missing = round(float(expected.sum())) - int(floors.sum())
    order = np.argsort(floors - expected, kind="stable")
    floors[order[: max(missing, 0)]] += 1
    return floors
