"""The answers that there can be, listed before a table is looked at: what is not listed counts as another answer."""

import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.files.forms import fits, level
from divulge.files.opening import naming, opened
from divulge.files.tables.source import Source
from divulge.files.tables.table import OPENERS, open_table
from divulge.files.tables.values import values_of
from divulge.model.labels import key_of, label_of, text_of
from divulge.model.metrics.metric import Metric
from divulge.releasing.column import Release
from divulge.releasing.drawing.coding import Alphabet, Encoded, components, dictionary_of, finder

LINES = {".txt", ".list"}
"""Endings of files that list one value a line."""

_AN_OBJECT = '{"race": ["White", ...]}'
_OR = ", or a table or text whose name says what it is (.csv, .txt)."

NOISY = "noisy"
"""What people write who want the list itself to be found with noise."""

RELEASED = "divulge codebook"
"""How the format of every codebook begins."""

PUBLISHED = f"{RELEASED} of statistics"
"""How the format of a codebook of published statistics begins."""

OTHER = "other"
"""What an answer that is not listed counts as, where nothing else is said."""


class Listed(dict[str, list[Hashable]]):
    """Answers by column, and the file that they were read from: a codebook says what its list was paid with."""

    def __init__(self, lists: Mapping[str, list[Hashable]], book: Mapping[str, Any]) -> None:
        super().__init__(lists)
        self.book = book


@dataclass(frozen=True)
class Answers:
    """The answers that there can be in each of some columns, whatever a table holds.

    listed : {column: the texts of its answers, with what others count as, and the label of a missing one}
    others : {column: what an answer that is not listed, or none, counts as}
    null_as : label of a missing value, or None where it counts as any other that is not listed
    bought : {"epsilon", "delta"} of the publications that named the answers with noise, or None
    taken : whether another publication took the answers from its table, so that each was given by somebody
    """

    listed: Mapping[str, tuple[str, ...]]
    others: Mapping[str, str]
    null_as: str | None = None
    bought: Mapping[str, float] | None = None
    taken: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return what a receipt says of it."""
        paid = {} if self.bought is None else {"bought": dict(self.bought)}
        taken = {"taken": True} if self.taken else {}
        return {"from": "list", "other": list(self.others.values()), **paid, **taken}

    @classmethod
    def of(cls, request: Release) -> "Answers | None":
        """Return what a request lists, or its mechanism or prior where it says what others count as; else None."""
        columns = request.columns
        if request.values is None and request.other is None:
            return None
        if request.values is not None:
            found = read_values(request.values, columns[0] if len(columns) == 1 else None)
            lacking = [name for name in columns if name not in found]
            if lacking:
                raise DivulgeError.of("values", "list the answers of every released column, each once",
                                      f"column {lacking[0]!r}", "not listed")  # fmt: skip
            texts = {name: tuple(map(str, found[name])) for name in columns}
        else:
            found, texts = {}, _named(request)
        null_as = None if request.null_as is None else str(text_of(request.null_as))
        others = {name: request.other or _other(several) for name, several in texts.items()}
        for name, several in texts.items():
            if request.values is not None and null_as in several:
                raise DivulgeError.of("null_as", f"be another label than those listed for column {name!r}", "it",
                                      "one of them")  # fmt: skip
            if request.values is None and others[name] not in several:
                raise DivulgeError.of("other", "be an answer that the mechanism, or the prior, has", "it",
                                      repr(others[name]))  # fmt: skip
        more = () if null_as is None or request.values is None else (null_as,)
        return cls(
            {name: tuple(dict.fromkeys([*several, others[name], *more])) for name, several in texts.items()},
            others, null_as, bought(found, columns), taken(found, columns),
        )  # fmt: skip

    def kinds(self, schema: Any) -> dict[str, Any]:
        """Return the type in which the answers of each column go through: its own where they mean the same in it."""
        pa = require("pyarrow", "tables")
        found = {name: Alphabet(several).arrow_values(schema.field(name).type).type
                 for name, several in self.listed.items()}  # fmt: skip
        return {name: pa.string() if pa.types.is_large_string(kind) else kind for name, kind in found.items()}

    def view(self, source: Source) -> Source:
        """Return the table with listed answers alone."""
        pa = require("pyarrow", "tables")
        for name in self.listed:
            source.require_columns([name])
        kinds = self.kinds(source.schema)
        schema = source.schema
        for name, kind in kinds.items():
            schema = schema.set(schema.get_field_index(name), schema.field(name).with_type(kind))

        def stream(columns: Sequence[str], coded: Sequence[str]) -> Any:
            for batch in source.stream(columns, coded):
                arrays = [
                    self._replaced(name, array, kinds[name]) if name in kinds else array
                    for name, array in zip(batch.schema.names, batch.columns, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)

        return replace(source, schema=schema, stream=stream, divided=None)

    def _replaced(self, name: str, array: Any, kind: Any) -> Any:
        """Return an array with each value as the listed answer that it is."""
        pa = require("pyarrow", "tables")
        listed, picked, _ = self.encoded(name, dictionary_of(array))
        if (key := (name, array.type, kind)) not in self._typed:
            self._typed[key] = Alphabet(self.listed[name]).arrow_values(array.type).cast(kind)
        typed = self._typed[key]
        indices = pa.array(picked, mask=picked == len(listed))
        return pa.DictionaryArray.from_arrays(indices, typed) if pa.types.is_string(kind) else typed.take(indices)

    @cached_property
    def _typed(self) -> dict[tuple[str, Any, Any], Any]:
        """The list of a column, once for each type that its values come and go in."""
        return {}

    @cached_property
    def _finders(self) -> dict[str, Callable[[Hashable], int | None]]:
        """What finds a value in the list of each column, made once and not for every batch."""
        return {name: finder(several) for name, several in self.listed.items()}

    def encoded(self, name: str, given: Encoded) -> Encoded:
        """Return the rows of a column as listed answers: what is not listed, or missing, as what it counts as."""
        values, where, _ = given
        listed, find = self.listed[name], self._finders[name]
        other = listed.index(self.others[name])
        none = other if self.null_as is None else next((i for i, x in enumerate(listed) if x == self.null_as), -1)
        codes = [other if (i := find(label_of(value))) is None else i for value in values]
        found = np.array([*codes, len(listed) if none < 0 else none], dtype=np.int32)[where]
        return list(listed), found, int((found == len(listed)).sum())

    def completed(self, counts: Mapping[Hashable, int], schema: Any) -> dict[Hashable, int]:
        """Return counts with every answer, or combination of several columns', that could be there."""
        alphabets = [
            [label_of(value) for value in values_of(Alphabet(several).arrow_values(schema.field(name).type))]
            for name, several in self.listed.items()
        ]
        labels: list[Any] = list(product(*alphabets)) if len(alphabets) > 1 else alphabets[0]
        known = {key_of(label): count for label, count in counts.items()}
        return {label: known.get(key_of(label), 0) for label in labels}

    @property
    def combinations(self) -> int:
        """How many answers of all columns together there can be."""
        found = 1
        for several in self.listed.values():
            found *= len(several)
        return found


def _other(texts: Sequence[str]) -> str:
    return next((text for text in texts if text.casefold() == OTHER), OTHER)


def _named(request: Release) -> dict[str, tuple[str, ...]]:
    """Return the answers that a mechanism or a prior names, by column."""
    known: Any = getattr(request.mechanism, "channel", request.mechanism)
    known = known if hasattr(known, "secrets") else request.prior
    if isinstance(request.distance, Metric):
        return {request.columns[0]: tuple(str(text_of(label)) for label in request.distance.labels)}
    if not hasattr(known, "secrets"):
        raise DivulgeError.of("other", "come with the answers that there can be (values=, --values), or with a "
                              "mechanism or prior that names them", "it", "alone")  # fmt: skip
    labels = components(known.secrets, len(request.columns))
    return {name: tuple(dict.fromkeys(str(text_of(label[i])) for label in labels))
            for i, name in enumerate(request.columns)}  # fmt: skip


def read_values(given: Any, only: str | None = None) -> dict[str, list[Hashable]]:
    """Return {column: values} from a mapping, or a file of one: JSON, a table with a column of answers, a codebook.

    A list alone, or a text file with one value a line, is that of the column `only`.
    """
    if only is not None and isinstance(given, (list, tuple)):
        return {only: _listed(only, given)}
    if isinstance(given, Mapping):
        lists = {str(column): _listed(str(column), values) for column, values in given.items()}
        return Listed(lists, getattr(given, "book", {}))
    if not isinstance(given, (str, os.PathLike)):
        raise DivulgeError.of(
            "values", "be {column: list of values} or a file of that", "it", f"a {type(given).__name__}"
        )
    if str(given).partition("=")[0] == NOISY and not Path(given).exists():
        raise DivulgeError.of(
            "values", "be a list of answers, or a file of one", "it", repr(str(given)),
            "a list with noise is a publication of its own, which the ledger counts: `divulge publish TABLE --count C "
            "--guarantee adp=0.5:1e-6 --null-as missing -o list.csv` tells the answers that occur often, and "
            "--values list.codebook.json (values='list.codebook.json') takes them.",
        )  # fmt: skip
    if "=" in str(given) and not Path(given).exists():
        raise DivulgeError.of(
            "values", "be a file with the answers of each column", "it", "no file",
            f"write them as JSON, such as {_AN_OBJECT}, or as a table with a column of answers for each, and give the "
            "name of that file.",
        )  # fmt: skip
    if Path(given).suffix.lower() in OPENERS.keys() - LINES:
        return _of_table(given)
    with opened(given) as stream, naming(Path(given).name):
        if Path(given).suffix.lower() in LINES:
            if only is None:
                hint = f"take JSON, such as {_AN_OBJECT}, or a table with a column of answers for each."
                raise DivulgeError(f"must say of which column its answers are: not one alone has answers. Hint: {hint}")
            lines = stream.read().decode("utf-8-sig").replace("\r\n", "\n").removesuffix("\n").split("\n")
            return {only: _listed(only, lines)}
        try:
            found = json.loads(stream.read())
        except ValueError:
            raise DivulgeError("must be JSON, such as " + _AN_OBJECT + _OR) from None
        if only is not None and isinstance(found, list):
            return {only: _listed(only, found)}
        if not isinstance(found, dict):
            raise DivulgeError("must hold an object such as " + _AN_OBJECT + ".")
        return Listed({column: _listed(column, values) for column, values in _codebook(found).items()}, found)


def _of_table(given: Any) -> dict[str, list[Hashable]]:
    """Return {column: its cells, but for empty ones} of a file with a table, whose columns are lists of answers.

    A column in which a value stands twice is no list: a table that is to go out names nothing beforehand.
    """
    source = open_table(given)
    lists: dict[str, list[Hashable]] = {name: [] for name in source.schema.names}
    for batch in source.stream(source.schema.names, ()):
        for name, cells in lists.items():
            cells += [value for value in values_of(batch.column(name)) if value is not None]
    with naming(source.name):
        lists = {name: _listed(name, cells) for name, cells in lists.items() if cells and _once(cells)}
        if not lists:
            raise DivulgeError("must have a column that lists every value once.")
        return lists


def _once(cells: Sequence[Hashable]) -> bool:
    return len(set(map(text_of, cells))) == len(cells)


def bought(lists: Mapping[str, Any], columns: Sequence[str]) -> dict[str, float] | None:
    """Return what naming the answers of columns was paid with, by a codebook: the most of any; None where nothing."""
    paid = [one["bought"] for one in _origins(lists, columns) if "bought" in one]
    if not all(fits(one, {"epsilon": level, "delta": level}) for one in paid):
        raise DivulgeError.of("values", "be a codebook as it was written", "what its list was paid with", "another")
    return {kind: max(float(one[kind]) for one in paid) for kind in ("epsilon", "delta")} if paid else None


def taken(lists: Mapping[str, Any], columns: Sequence[str]) -> bool:
    """Say whether the answers of any of the columns are from a codebook whose list was taken from its table."""
    return any(one.get("taken") or one.get("from") == "table" for one in _origins(lists, columns))


def _origins(lists: Mapping[str, Any], columns: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return what a codebook says of where its lists are from: of published statistics by column, of a release once."""
    book: Mapping[str, Any] = getattr(lists, "book", {})
    kind = str(book.get("format", ""))
    if kind.startswith(PUBLISHED):
        return [one for one in book.get("columns", ()) if isinstance(one, Mapping) and one.get("column") in columns]
    if not kind.startswith(RELEASED):
        return []
    whole = book.get("answers")
    return [whole if isinstance(whole, Mapping) else {"from": "table"}]  # of an earlier version, which did not say


def _codebook(found: dict[str, Any]) -> dict[str, Any]:
    """Return {column: values} of a codebook of released columns, or the object itself."""
    if str(found.get("format", "")).startswith(RELEASED):
        columns = found.get("columns")
        entries = columns if isinstance(columns, list) else [found]
        out: dict[str, Any] = {}
        for entry in entries:
            if isinstance(entry, Mapping):
                names = entry.get("column", entry.get("columns"))
                names = entry.get("about") if names is None else names
                name = names[0] if isinstance(names, list) and len(names) == 1 else names
                channel = entry.get("channel")
                entry = {**(channel if isinstance(channel, Mapping) else {}), **entry}
                values = next((entry[key] for key in ("values", "secrets") if isinstance(entry.get(key), list)), None)
                if isinstance(name, str) and values is not None:
                    out[name] = [v["value"] if isinstance(v, Mapping) and "value" in v else v for v in values]
        return out
    return found


def _listed(column: str, values: Any) -> list[Hashable]:
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__") or isinstance(values, Mapping):
        raise DivulgeError.of(
            "values", "be a list for each column", f"that of {column!r}", f"a {type(values).__name__}"
        )
    found = list(values)
    if not found:
        raise DivulgeError.of("values", "list at least one value of each column", f"that of {column!r}", "empty")
    texts = [
        text_of(value) if isinstance(value, Hashable) and not isinstance(value, tuple) else None for value in found
    ]
    if None in texts:
        raise DivulgeError.of(
            "values", "be text, numbers or dates", f"one of {column!r}", "missing or something else",
            "null_as=LABEL (--null-as) counts missing values under a label of the list.",
        )  # fmt: skip
    if len(set(texts)) != len(texts):
        raise DivulgeError.of("values", "list every value once", f"one of {column!r}", "there twice")
    return [str(text) for text in texts]
