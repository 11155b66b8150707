"""One release in detail: which columns pass through which mechanism, and what a batch of rows becomes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.extras import require
from divulge.releasing.drawing import coding
from divulge.releasing.drawing.alias import AliasTable
from divulge.releasing.drawing.placed import PlacePart
from divulge.releasing.drawing.sampling import draw
from divulge.releasing.records.ran.mechanism import Mechanism
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.reports.part import ReportPart


@dataclass(frozen=True, eq=False)
class Part:
    """A mechanism ready to run on its columns."""

    mechanism: Mechanism
    secrets: coding.Secrets
    outcomes: coding.Outcomes
    table: AliasTable

    @classmethod
    def of(cls, mechanism: Mechanism, null_as: Any) -> "Part":
        """Return the mechanism with its alias table and codings."""
        channel, width = mechanism.channel, len(mechanism.columns)
        return cls(
            mechanism,
            coding.Secrets.of(channel.secrets, width, null_as),
            coding.Outcomes.of(channel.outcomes, width, null_as),
            AliasTable.of(channel),
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns it replaces."""
        return self.mechanism.columns

    @property
    def alphabets(self) -> tuple[coding.Alphabet, ...]:
        """The outcomes of each column."""
        return self.outcomes.alphabets

    def coded(self, columns: Mapping[str, coding.Encoded]) -> coding.Coded:
        """Return the secret of each row as its position, negative where it has none."""
        return self.secrets.coded([columns[name] for name in self.columns])

    def drawn(self, codes: np.ndarray, rows: np.ndarray | None = None, threads: int | None = None) -> np.ndarray:
        """Return a fresh outcome for each secret, as its position."""
        return draw(self.table, codes, rows, threads=threads)

    def fields(self, given: Sequence[Any], names: Sequence[str]) -> list[list[Any]]:
        """Return the Arrow fields that each column becomes, under its name in the output."""
        return [[one.with_name(name)] for one, name in zip(self.outcomes.fields(given), names, strict=True)]

    def arrays(self, drawn: np.ndarray, fields: Sequence[Any]) -> list[list[Any]]:
        """Return what each column becomes."""
        return [[one] for one in self.outcomes.arrays(drawn, fields)]


AnyPart = Part | ReportPart | PlacePart


def part_of(mechanism: Any, null_as: Any) -> "AnyPart":
    """Return a mechanism ready to run."""
    if isinstance(mechanism, MetricNoise):
        return PlacePart(mechanism)
    return Part.of(mechanism, null_as) if isinstance(mechanism, Mechanism) else ReportPart.of(mechanism, null_as)


@dataclass
class Faults:
    """How many rows of which columns have a value the mechanism does not know, or none; never which value."""

    unknown: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])
    missing: dict[tuple[str, ...], int] = field(default_factory=dict[tuple[str, ...], int])

    @property
    def tallies(self) -> tuple[dict[tuple[str, ...], int], dict[tuple[str, ...], int]]:
        """(unknown, missing)."""
        return self.unknown, self.missing

    def add(self, columns: tuple[str, ...], coded: coding.Coded) -> None:
        """Count the faults of a batch."""
        for tally, code in zip(self.tallies, (coding.UNKNOWN, coding.MISSING), strict=True):
            count = coded.count(code)
            if count:
                tally[columns] = tally.get(columns, 0) + count

    def __bool__(self) -> bool:
        return bool(self.unknown or self.missing)

    def refuse(self) -> None:
        """Raise DivulgeError if there are any."""
        for columns, count in self.unknown.items():
            raise DivulgeError.of(
                "source", "hold only secrets of the mechanism", _called(columns),
                f"in {number_of(count, 'row')} something else. Nothing was published",
                "give the mechanism a row for every value; in a column of numbers a label is 3, not 3.0, and in one of "
                "text, as in CSV, 3.00 and 3 are two values.",
            )  # fmt: skip
        for columns, count in self.missing.items():
            raise DivulgeError.of(
                "source", "have a value in every row, or missing as a category", _called(columns),
                f"without one in {number_of(count, 'row')}. Nothing was published",
                "null_as=LABEL (--null-as) makes “missing” a value of that name; a mechanism of your own must have it.",
            )  # fmt: skip


def _called(columns: Sequence[str]) -> str:
    return ("column " if len(columns) == 1 else "columns ") + ", ".join(map(repr, columns))


@dataclass(frozen=True, eq=False)
class Plan:
    """All parts of a release and the columns that go out beside them.

    parts : tuple of Part, ReportPart or PlacePart
    given : pyarrow.Schema; of the source
    kept : which other columns go out; all of them when not given
    coded : columns of text that arrive, and go out, as dictionaries
    renamed : the names under which the protected columns go out
    listed : function of (column, its values), optional; what values of protected columns count as, where the rows do
        not come as listed answers already
    """

    parts: "tuple[AnyPart, ...]"
    given: Any
    kept: tuple[str, ...] | None = None
    coded: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    listed: Callable[[str, coding.Encoded], coding.Encoded] | None = None

    def __post_init__(self) -> None:
        names = [one.name for several in self._fields.values() for one in several]
        own = {one.name for part in self.parts for name in part.columns for one in self._fields[name]}
        for name in own:
            if names.count(name) > 1:
                raise DivulgeError.of(
                    "released_as", "be a name that no other column of the output has", "it", repr(name),
                    "choose another one (released_as=, --as), or leave the other column out (keep=, --keep).",
                )  # fmt: skip

    @cached_property
    def protected(self) -> tuple[str, ...]:
        """The columns that pass through a mechanism, in the order of the source."""
        names = {name for part in self.parts for name in part.columns}
        return tuple(name for name in self.given.names if name in names)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns of the source that the output has, in their order, under the names they have there."""
        if self.kept is None:
            return tuple(self.given.names)
        return tuple(name for name in self.given.names if name in self.protected or name in self.kept)

    @cached_property
    def untouched(self) -> tuple[str, ...]:
        """The columns that go out as they are."""
        return tuple(name for name in self.columns if name not in self.protected)

    @cached_property
    def _fields(self) -> dict[str, list[Any]]:
        """For each column of the output, in order, the Arrow fields that it becomes there."""
        pa = require("pyarrow", "tables")
        fields = {name: [self.given.field(name)] for name in self.columns}
        fields |= {name: [pa.field(name, pa.dictionary(pa.int32(), pa.string()))] for name in self.coded}
        fields = {name: fields[name] for name in self.columns}
        for part in self.parts:
            given = [self.given.field(name) for name in part.columns]
            names = [self.renamed.get(name, name) for name in part.columns]
            fields |= dict(zip(part.columns, part.fields(given, names), strict=True))
        return fields

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the released batches."""
        pa = require("pyarrow", "tables")
        return pa.schema([one for several in self._fields.values() for one in several])

    def encoded(self, batch: Any) -> dict[str, coding.Encoded]:
        """Return the protected columns as the values they hold and positions among these."""
        found = {name: coding.dictionary_of(batch.column(name)) for name in self.protected}
        if self.listed is None:
            return found
        return {name: self.listed(name, one) for name, one in found.items()}

    def secrets(self, columns: Mapping[str, coding.Encoded], faults: Faults) -> list[coding.Coded]:
        """Return the positions of the secrets for each part; count what has none."""
        found = [part.coded(columns) for part in self.parts]
        for part, coded in zip(self.parts, found, strict=True):
            faults.add(part.columns, coded)
        return found

    def draws(self, coded: Sequence[coding.Coded], threads: int | None = 1) -> list[np.ndarray]:
        """Return a fresh outcome for each row of each part; without `threads`, on all cores."""
        return [part.drawn(one.where, one.rows, threads) for part, one in zip(self.parts, coded, strict=True)]

    def released(self, batch: Any, outcomes: Sequence[np.ndarray]) -> Any:
        """Return the batch with every protected column replaced by the outcomes of its part."""
        pa = require("pyarrow", "tables")
        columns = {name: [batch.column(name)] for name in self.untouched}
        for part, drawn in zip(self.parts, outcomes, strict=True):
            fields = [one for name in part.columns for one in self._fields[name][:1]]
            columns |= dict(zip(part.columns, part.arrays(drawn, fields), strict=True))
        return pa.record_batch([one for name in self.columns for one in columns[name]], schema=self.schema)
