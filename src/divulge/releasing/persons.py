"""Whose promise it is: people in the place of rows, and a look for people whose rows nobody has put together."""

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError, number_of
from divulge.extras import require
from divulge.files.tables.buffers import as_numbers
from divulge.files.tables.source import Source, is_plain
from divulge.files.tables.values import type_of_values
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds import LDP
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.model.mechanisms.arguments import positive
from divulge.releasing.column import Release
from divulge.releasing.planning import assumed
from divulge.releasing.planning.choosing import Chosen, choose
from divulge.releasing.records.levels import rounded_up
from divulge.releasing.records.receipt import whom
from divulge.releasing.request import Request
from divulge.units import nats_per

LOOKED_AT = 1 << 18
"""So many rows, the first ones, are looked through for people with several: their columns fit into memory."""

_MOST_EACH = 100
"""A column with more rows a value than this, on average, names groups and not people."""

_LEAST_NAMED = 10
"""With fewer values than this, a column names groups."""

_PAIRS = 30
"""So many pairs of rows with the same name show what rows of one name have in common."""

_SAME, _CHANCE = 0.95, 0.9
"""Of pairs with one name so large a share agrees where a name has one answer; of all pairs no more than that do."""

PERSON = frozenset((
    "id", "pid", "uid", "person", "patient", "respondent", "participant", "email", "ssn", "mrn",
    "patientid", "personid", "userid", "customerid", "patientennummer", "patientennr", "kundennummer",
    "personalnummer", "versichertennummer",
))  # fmt: skip
"""What a column is called that says who."""

ROLE = frozenset((
    "customer", "client", "member", "user", "student", "pupil", "employee", "insured", "citizen", "resident", "subject",
    "kunde", "kunden", "versicherte", "versicherten", "patienten", "personen", "mitglied", "mitglieder",
))  # fmt: skip
"""The same before a word for a number: alone it may also say whether somebody is one."""

NUMBER = frozenset(("id", "nr", "no", "num", "number", "code", "key", "nummer", "kennung", "identifier"))


@dataclass(frozen=True, eq=False)
class People:
    """The rows of a table by person.

    column : the column that says who
    of_row : int64 array of shape (rows,); the person of each row, in [0, number)
    number : how many people there are
    """

    column: str
    of_row: np.ndarray
    number: int

    @property
    def rows(self) -> np.ndarray:
        """How many rows each person has."""
        return np.bincount(self.of_row, minlength=self.number)

    @property
    def first(self) -> np.ndarray:
        """The first row of each person."""
        return np.unique(self.of_row, return_index=True)[1]

    def drawn(self, most: int) -> np.ndarray:
        """Return which rows stay where at most so many of a person do: drawn by the system's randomness, all alike.

        No answer, and no order that may depend on answers, has a part in it.
        """
        order = np.lexsort((np.frombuffer(os.urandom(8 * len(self.of_row)), dtype=np.uint64), self.of_row))
        people = self.of_row[order]
        starts = np.r_[0, np.flatnonzero(people[1:] != people[:-1]) + 1] if len(people) else np.empty(0, np.int64)
        rank = np.arange(len(people)) - np.repeat(starts, np.diff(np.r_[starts, len(people)]))
        kept = np.zeros(len(people), dtype=bool)
        kept[order[rank < most]] = True
        return kept


@dataclass(frozen=True, eq=False)
class Protection:
    """What a request protects, in a table.

    source : the rows that go out
    units : what a mechanism is chosen from: one row a person who has one answer, else `source`
    people : of whom each gets one draw; None where each row does
    times : so many draws of a person add up
    left_out : rows beyond those of a person that count
    protects : {"person", "rows_per_person", "one_answer", "people", "squares"}, as the receipt has it
    """

    source: Source
    units: Source
    people: People | None
    times: int
    left_out: int
    protects: dict[str, Any]


def people_in(source: Source, column: str) -> People:
    """Return the rows by person; a row that names nobody is refused."""
    pa = require("pyarrow", "tables")
    source.require_values([column])
    kind = type_of_values(source.schema.field(column).type)
    text = pa.types.is_string(kind) or pa.types.is_string_view(kind)
    parts = [batch.column(0).cast(pa.large_string() if text else kind) for batch in source.batches([column])]
    names = pa.chunked_array(parts, pa.large_string() if text else kind).combine_chunks()
    if names.null_count:
        raise DivulgeError.of(
            "person", "say who in every row", f"column {column!r}", f"empty in {number_of(names.null_count, 'row')}",
            "leave these rows out, or give each a name of its own.",
        )  # fmt: skip
    coded = names.dictionary_encode()
    return People(column, as_numbers(coded.indices).astype(np.int64), len(coded.dictionary))


def most_of(source: Source, column: str, other: str | None) -> int | None:
    """Return how many rows one person has at most, or how many people of another column; None where nobody can say."""
    names = [column] if other is None else [column, other]
    if any(source.schema.get_field_index(name) < 0 or not _has_values(source, name) for name in names):
        return None
    try:
        people = [people_in(source, name) for name in names]
    except DivulgeError:  # of a row that names nobody it is not known whose it is
        return None
    if other is None:
        return int(people[0].rows.max(initial=0))
    pairs = np.unique(np.stack([one.of_row for one in people]), axis=1)
    return int(np.bincount(pairs[0], minlength=1).max(initial=0))


def some_rows(source: Source, kept: np.ndarray) -> Source:
    """Return the table with only those rows."""
    pa = require("pyarrow", "tables")

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Any:
        start = 0
        for batch in source.stream(columns, coded):
            part = kept[start : start + batch.num_rows]
            start += batch.num_rows
            if part.all():
                yield batch
            elif part.any():
                yield batch.filter(pa.array(part))

    return replace(source, rows=int(kept.sum()), stream=stream, divided=None)


def protection(request: Request, source: Source, columns: Sequence[str]) -> Protection:
    """Return what a request protects; where nothing was said, and people seem to have several rows, ask."""
    said: dict[str, Any] = {"person": request.person, "rows_per_person": request.rows_per_person}
    every = Protection(source, source, None, request.rows_per_person or 1, 0, said)
    if request.person is None:
        if request.rows_per_person is None and not request.per_row:
            require_one_row_each(source, columns)
        return every
    if request.person in columns:
        raise DivulgeError.of("person", "be another column than the sensitive one", "it", repr(request.person))
    people = people_in(source, request.person)
    if request.per_row:
        return every
    rows = people.rows
    if request.rows_per_person is not None:
        kept = people.drawn(request.rows_per_person)
        view = source if kept.all() else some_rows(source, kept)
        return replace(every, source=view, units=view, left_out=int((~kept).sum()))
    if not request.one_answer:
        if rows.max(initial=0) > 1:
            raise DivulgeError.of(
                "person", "come with what a person's rows have in common", "the number of people with several rows",
                f"{int((rows > 1).sum()):,} of {people.number:,}",
                "one_answer=True (--one-answer) where all rows of a person have the same answer; rows_per_person=N "
                "(--rows-per-person N) where answers change, of which N share the promise.",
            )  # fmt: skip
        return replace(every, protects=said | {"rows_per_person": 1})
    said |= {"one_answer": True, "people": people.number, "squares": rounded_up(int((rows**2).sum()))}
    first = np.zeros(len(people.of_row), dtype=bool)
    first[people.first] = True
    return Protection(source, some_rows(source, first), people, 1, 0, said)


def on_spark(request: Request, source: Source) -> Protection:
    """Return what a request protects where Spark does the work, which puts no rows together."""
    if request.person is not None and not request.per_row:
        raise DivulgeError.of("person", "be left out with Spark, which draws for each row", "it", "given",
                              "rows_per_person=N (--rows-per-person N) alone shares the promise.")  # fmt: skip
    said: dict[str, Any] = {"person": None, "rows_per_person": request.rows_per_person}
    return Protection(source, source, None, request.rows_per_person or 1, 0, said)


def chosen_for(whose: Protection, request: Release, counted: Any, count: bool) -> Chosen:
    """Return mechanisms of which all draws about a person keep what was asked."""
    found = choose(counted, share(request, whose.times), count=count)
    private = found.private
    if whose.left_out:
        several = number_of(whose.left_out, "row")
        private += (f"{several} beyond the {whose.times} of a person that count were left out, drawn by chance.",)
    mechanisms = tuple(replace(one, times=whose.times, person=whom(whose.protects)) for one in found.mechanisms)
    return replace(found, mechanisms=mechanisms, private=private)


def refuse_two_answers(people: People, answers: np.ndarray) -> None:
    """Refuse people who have several answers where one was said to be all: how many they are, for the keeper."""
    first = answers[people.first]
    several = np.unique(people.of_row[answers != first[people.of_row]])
    if len(several):
        raise DivulgeError.of(
            "one_answer", "be so for everybody", "the number of people with several answers",
            f"{len(several):,} of {people.number:,}. Nothing was published",
            "write their answers alike, or let rows_per_person=N (--rows-per-person N) share the promise.",
        )  # fmt: skip


def require_one_row_each(source: Source, columns: Sequence[str]) -> None:
    """Refuse a table in which people seem to have several rows."""
    named = repeated(source, columns)
    if named is None:
        return
    column = named or "COLUMN"
    what = f"column {named!r}" if named else "what the other columns say of a row"
    raise DivulgeError.of(
        "person", "be named where people have several rows", what, "the same in several rows, as if it were one person",
        f"person={column!r} (--person {column}) protects a person: with one_answer=True (--one-answer) where all rows "
        "of a person have one answer, with rows_per_person=N (--rows-per-person N) where answers change; per_row=True "
        "(--per-row) says that each row is another person, or that the promise is about a row alone.",
    )  # fmt: skip


def repeated(source: Source, columns: Sequence[str]) -> str | None:
    """Return a column that seems to say who, and has the same in several rows; "" where all others together do so.

    A column does by its name, where it repeats. Any column does, and so do all together, where the sensitive answer is
    the same in rows that have the same there, far more often than in any two rows: then draws of their own for each
    row would be averaged. And one whose rows stand together does where another column tells its rows apart, such as
    visits by number, though by chance it would not. Nothing is read where no other column is there.
    """
    if set(source.schema.names) <= set(columns):
        return None
    known = _codes(source)
    others = [name for name in known if name not in columns]
    secret = _together([known[name] for name in columns if name in known])
    for name in others:
        if _is_called_so(name) and _repeats(known[name], 2):
            return name
    for name in others:
        codes = known[name]
        if _repeats(codes, _LEAST_NAMED) and (
            (secret is not None and _one_answer(codes, secret))
            or any(_tells_apart(codes, known[other]) for other in others if other != name)
        ):
            return name
    whole = _together([known[name] for name in others])
    if len(others) > 1 and whole is not None and secret is not None and _repeats(whole, _LEAST_NAMED):
        return "" if _one_answer(whole, secret) else None
    return None


def named_after_people(source: Source, columns: Sequence[str]) -> str | None:
    """Return a column besides these that is called after people, and has the same in several rows."""
    names = [name for name in source.schema.names if name not in columns and _is_called_so(name)]
    return next((name for name, codes in _codes(source, names).items() if _repeats(codes, 2)), None)


def _codes(source: Source, of: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Return columns of the first rows as positions among their values, -1 where there is none."""
    pa = require("pyarrow", "tables")
    names = [name for name in source.schema.names if _has_values(source, name) and (of is None or name in of)]
    if not names or len(set(names)) != len(names):
        return {}
    parts: list[Any] = []
    rows = 0
    for batch in source.batches(names):
        parts.append(batch.slice(0, LOOKED_AT - rows))
        rows += parts[-1].num_rows
        if rows >= LOOKED_AT:
            break
    table = pa.Table.from_batches(parts) if parts else source.schema.empty_table().select(names)
    found: dict[str, np.ndarray] = {}
    for name in names:
        column, rows_of = table.column(name), None
        if not pa.types.is_dictionary(column.type):
            plain = column.combine_chunks()
        elif column.num_chunks == 1:  # each value is looked at once, and not in every row
            plain, rows_of = column.chunk(0).dictionary, column.chunk(0).indices
        else:
            plain = column.cast(column.type.value_type).combine_chunks()
        if pa.types.is_string_view(plain.type):
            plain = plain.cast(pa.string())
        elif pa.types.is_decimal(plain.type) and plain.type.bit_width < 128:
            plain = plain.cast(pa.decimal128(plain.type.precision, plain.type.scale))
        coded = plain.dictionary_encode().indices
        places = coded if rows_of is None else coded.take(rows_of)
        places = places.fill_null(-1) if places.null_count else places
        found[name] = as_numbers(places).astype(np.int64)
    return found


def _has_values(source: Source, name: str) -> bool:
    place = source.schema.get_field_index(name)
    return place >= 0 and is_plain(source.schema.field(place).type)


def _together(columns: Sequence[np.ndarray]) -> np.ndarray | None:
    """Return several columns as one, whose values are numbered without gaps."""
    found: np.ndarray | None = None
    for codes in columns:
        both = codes + 1 if found is None else found * (int(codes.max(initial=0)) + 2) + codes + 1
        if int(both.max(initial=0)) < _SORTED * len(both):
            there = np.bincount(both) > 0
            found = (np.cumsum(there) - 1)[both]
        else:
            found = np.unique(both, return_inverse=True)[1]
    return found


_SORTED = 8
"""Times as many numbers as rows are sorted to see which are there: below, a list of all is read sooner (measured)."""


def _times(codes: np.ndarray) -> np.ndarray:
    """Return how many rows have each value that is there, of values that are numbered without large gaps."""
    times = np.bincount(codes[codes >= 0])
    return times[times > 0]


def _is_called_so(name: str) -> bool:
    """Say whether a column is called after a person, or the number of one."""
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name))]
    if not words or len(words) > 2:
        return False
    alone = "".join(words) in PERSON
    return alone or (words[0] in PERSON | ROLE and words[-1] in NUMBER and len(words) == 2)


def _repeats(codes: np.ndarray, least: int) -> bool:
    """Say whether a column has several rows for some of its values, and few for all."""
    times = _times(codes)
    values, there = len(times), int(times.sum())
    return least <= values < there <= _MOST_EACH * values


def _pairs(codes: np.ndarray) -> int:
    """Return how many pairs of rows have the same."""
    times = _times(codes)
    return int((times * (times - 1)).sum() // 2)


def _one_answer(codes: np.ndarray, secret: np.ndarray) -> bool:
    """Say whether rows with the same name have the same answer, far more often than any two rows."""
    there = codes >= 0
    pairs, n = _pairs(codes), int(there.sum())
    if pairs < _PAIRS:
        return False
    both = _together([codes[there], secret[there]])
    assert both is not None
    chance = Fraction(_pairs(secret[there]), n * (n - 1) // 2)
    return _pairs(both) >= _SAME * pairs and chance <= _CHANCE


def _tells_apart(codes: np.ndarray, other: np.ndarray) -> bool:
    """Say whether rows with the same name stand together, and never have the same in the other column, by no chance."""
    there = (codes >= 0) & (other >= 0)
    codes, other = codes[there], other[there]
    values = len(_times(other))
    runs = 1 + int((codes[1:] != codes[:-1]).sum()) if len(codes) else 0
    if not 2 <= values <= 50 or runs != len(_times(codes)):
        return False
    n, pairs = len(codes), _pairs(codes)
    both = _together([codes, other])
    assert both is not None
    return pairs * _pairs(other) >= 20 * (n * (n - 1) // 2) and _pairs(both) == 0


SHARED = ("ldp", "dp", "pml", "pmc", "lip", "alip", "zcdp", "rdp")
"""Guarantees of a person's rows together that follow from a share for each: losses of independent draws add up."""


def share(request: Release, times: int) -> Release:
    """Return what each of so many draws about a person has to keep, so that all of them keep what was asked.

    Their ldp adds up, and so do rho and, at one order, the Renyi divergence. pml, pmc and lip of all answers of a
    person are at most the ldp of all draws, whatever was known before; sums of pml bound nothing.
    """
    if times == 1:
        return request
    changed: dict[str, Any] = {"guarantee": tuple(_share(one, times) for one in request.kept), "unit": "nats"}
    nats = nats_per(request.unit)
    if request.epsilon is not None:
        changed["epsilon"] = math.nextafter(float(request.epsilon) * nats / times, 0.0)
    if request.ratio is not None:
        changed |= {"ratio": None, "epsilon": math.log(positive(request.ratio, "ratio")) / times * (1 - 2**-50)}
    if isinstance(request.prior, str) and request.prior.startswith("noisy="):
        spent = assumed.positive(request.prior.partition("=")[2], "noisy")
        changed["prior"] = f"noisy={spent / times}"
    return replace(request, **changed)


def _share(one: Guarantee, times: int) -> Guarantee:
    if isinstance(one, MetricPrivacy):
        return replace(one, epsilon=Fraction(one.epsilon) / times)
    if one.kind not in SHARED:
        raise DivulgeError.of(
            "guarantee", f"be {', '.join(SHARED)} where a person's rows share it", "it", one.kind,
            "one_answer=True (--one-answer) draws once a person, under any guarantee.",
        )  # fmt: skip
    values = one.values()
    if one.kind == "zcdp":
        return replace(one, **{name: _part(value, times) for name, value in values.items()})
    if one.kind == "rdp":
        return replace(one, epsilon=_part(values["epsilon"], times))
    least = min(Fraction(values[name]) for name in values)
    return LDP(_part(least, times))


def _part(value: Any, times: int) -> Fraction:
    """Return a share, so that so many of it are no more than the whole."""
    return Fraction(value) / times
