"""Columns as they are to be read: spellings of one value made one, and values grouped before anything else is done."""

import unicodedata
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from divulge.errors import DivulgeError, InputFileError, number_of, printable
from divulge.extras import require
from divulge.files.hierarchies import PARTS, Hierarchy
from divulge.files.settings import Settings
from divulge.files.tables.source import Source
from divulge.files.tables.values import is_text, values_of
from divulge.model.labels import label_of, text_of

OTHER = "other"
"""What rare values are called."""

MOST_SPELLINGS = 1_000_000
"""A column whose values have more spellings is no column of answers."""

GroupsLike: TypeAlias = str | Sequence[str] | Mapping[str, str | int | float]
"""Rules of grouping: texts COLUMN=RULE, or {column: rule}."""

_FORM = "a width of ranges such as 10000 or 10000:0:90000, day, month, quarter, year, first:2 or rare:50"


def tidied(source: Source, settings: Settings) -> Source:
    """Return the table with one spelling for each value, and grouped, where settings say so."""
    spelled, groups = columns_of(settings.one_spelling), rules_of(settings.group)
    for column in [*spelled, *groups]:
        source.require_values([column])
    for column in spelled:
        if is_text(source.schema.field(column).type):
            source = _mapped(source, column, _respelled(source, column))
    for column, rule in groups.items():
        source = _mapped(source, column, rule.values(source, column))
    return source


def columns_of(given: Any) -> tuple[str, ...]:
    """Return names of columns, one or several, or none."""
    several: Any = () if given is None else (given,) if isinstance(given, str) else given
    if not isinstance(several, (list, tuple)) or not all(isinstance(name, str) for name in several):
        raise DivulgeError.of("one_spelling", "be names of columns", "it", "not")
    return tuple(several)


# --- spellings


def spellings(values: Sequence[Hashable]) -> dict[str, str]:
    """Return, for texts of which another is the same value, the spelling that stands for all: {text: spelling}.

    Texts are the same where they differ in blanks, in case, or in zeros before digits. What stands for
    them is the longest without blanks, as zeros get lost and do not come by themselves, and of these the one with
    capitals first; how often each occurs is of no account.

    >>> spellings(["01067", "1067", "Jena", "jena ", "Ulm"])
    {'01067': '01067', '1067': '01067', 'Jena': 'Jena', 'jena ': 'Jena'}
    """
    alike: dict[str, list[str]] = {}
    for value in values:
        if isinstance(value, str):
            alike.setdefault(_key(value), []).append(value)
    found: dict[str, str] = {}
    for several in alike.values():
        if len(several) > 1:
            best = min(map(_stripped, several), key=lambda text: (-len(text), text))
            found |= dict.fromkeys(several, best)
    return found


def _stripped(text: str) -> str:
    """Return a text with one blank between words and none at its ends, its letters composed."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _key(text: str) -> str:
    """Return what texts of one value have in common."""
    key = _stripped(text).casefold()
    return key.lstrip("0") or "0" if key.isdecimal() and key.isascii() else key


def _respelled(source: Source, column: str) -> Callable[[Hashable], str | None]:
    """Return what spells a value of a column as all the same are spelled; blanks alone are a missing value."""
    seen = set[str]()
    compute = require("pyarrow.compute", "tables")
    for batch in source.batches([column], [column]):
        array = batch.column(0)
        values = array.dictionary if hasattr(array, "dictionary") else compute.unique(array)
        seen.update(value for value in values.to_pylist() if value is not None)
        if len(seen) > MOST_SPELLINGS:
            raise InputFileError(
                f"{printable(source.name)}: column {printable(repr(column))} must have at most {MOST_SPELLINGS:,} "
                "values to be given one spelling each."
            )
    one = spellings(sorted(seen))
    return lambda value: one.get(str(value), str(value)).strip() or None


# --- groups


@dataclass(frozen=True)
class Rule:
    """How values of a column are grouped: by the first level of a hierarchy, or rare ones together."""

    hierarchy: Hierarchy | None = None
    rare: int = 0

    @classmethod
    def of(cls, text: Any) -> "Rule":
        """Return the rule that a text says.

        >>> Rule.of("10000:0:90000").hierarchy.path(95000)[1], Rule.of("first:2").hierarchy.path("01067")[1]
        ('>= 90000', '01*')
        """
        said = str(text).strip()
        kind, _, number = said.partition(":")
        if said in PARTS:
            return cls(Hierarchy.dates(said))
        try:
            if kind in ("first", "rare"):
                count = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
                return cls(Hierarchy.prefix(count)) if kind == "first" else cls(rare=_positive(count))
            width, *ends = said.split(":")
            if len(ends) in (0, 2):
                low, high = ends or (None, None)
                return cls(Hierarchy.ladder(width, low=low or None, high=high or None, start=low or 0))
        except DivulgeError:
            pass
        raise DivulgeError.of("group", f"be {_FORM}", "it", repr(said)[:40])

    def values(self, source: Source, column: str) -> Callable[[Hashable], str | None]:
        """Return what groups a value of a column; what has no place is refused, by their number."""
        if self.hierarchy is not None:
            return self.hierarchy.group
        pa = require("pyarrow", "tables")
        counts: dict[Hashable, int] = {}
        for batch in source.batches([column]):
            table = pa.Table.from_batches([batch]).group_by([column]).aggregate([([], "count_all")])
            several = values_of(table.column(column).combine_chunks())
            for value, count in zip(several, table.column("count_all").to_pylist(), strict=True):
                counts[label_of(value)] = counts.get(label_of(value), 0) + count
        often = {value for value, count in counts.items() if count >= self.rare}
        return lambda value: str(text_of(value)) if value in often else OTHER


def _positive(count: int) -> int:
    if count < 1:
        raise DivulgeError.of("group", "count rows from 1", "it", "0")
    return count


def rules_of(given: Any) -> dict[str, Rule]:
    """Return {column: rule} of texts such as "income=10000", or of a mapping."""
    return {name: Rule.of(text) for name, _, text in (one.rpartition("=") for one in group_texts(given))}


def group_texts(given: Any) -> tuple[str, ...]:
    """Return rules as texts, one for each column.

    >>> group_texts({"income": 10000, "born": "year"})
    ('income=10000', 'born=year')
    """
    if isinstance(given, Mapping):
        given = [f"{name}={rule}" for name, rule in given.items()]
    several: Any = () if given is None else (given,) if isinstance(given, str) else given
    texts = isinstance(several, (list, tuple)) and all(isinstance(one, str) for one in several)
    columns = [one.rpartition("=")[0] for one in several] if texts else [""]
    if not all(columns) or len(set(columns)) < len(columns):
        raise DivulgeError.of("group", f"be COLUMN=RULE, once for a column, where a rule is {_FORM}", "it", "not")
    return tuple(several)


# --- views


def _mapped(source: Source, column: str, become: Callable[[Hashable], str | None]) -> Source:
    """Return the table in which each value of a column is what it becomes, as text; missing ones stay missing."""
    pa = require("pyarrow", "tables")
    place = source.schema.get_field_index(column)
    schema = source.schema.set(place, source.schema.field(column).with_type(pa.string()))
    known: dict[Hashable, str | None] = {}

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Any:
        for batch in source.stream(columns, coded):
            names = batch.schema.names
            arrays = [
                _each(source.name, column, array, known, become) if name == column else array
                for name, array in zip(names, batch.columns, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(arrays, names=names)

    return replace(source, schema=schema, stream=stream, divided=None)


def _each(
    name: str, column: str, array: Any, known: dict[Hashable, str | None], become: Callable[[Hashable], str | None]
) -> Any:
    """Return an array of text with what each value becomes; what has no place in a group is refused."""
    pa = require("pyarrow", "tables")
    coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    labels = [None if value is None else label_of(value) for value in values_of(coded.dictionary)]
    unknown = 0
    for label in labels:
        if label is not None and label not in known:
            try:
                known[label] = become(label)
            except (ValueError, KeyError):
                unknown += 1
    if unknown:
        raise InputFileError(
            f"{printable(name)}: column {printable(repr(column))} must hold numbers to be grouped by ranges, dates by "
            f"their parts; {number_of(unknown, 'value')} {'is' if unknown == 1 else 'are'} something else. Hint: give "
            "them no value in the table, or group with rare:N, which takes any value."
        )
    texts = pa.array([None if label is None else known[label] for label in labels], pa.string())
    return texts.take(coded.indices)
