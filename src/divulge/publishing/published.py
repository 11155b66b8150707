"""What publishing gives: the table, and receipts of it that name no exact number of the source."""

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from divulge.errors import InputFileError
from divulge.extras import require
from divulge.files.channels.as_json import read_document
from divulge.files.forms import Form, Some, fits, level, share, whole
from divulge.files.opening import name_of
from divulge.late import late
from divulge.model.record import Record
from divulge.model.shown import Shown, printable_json, promised, reached
from divulge.publishing.consistency import refuse_contradictions
from divulge.publishing.notes import Note
from divulge.releasing.output.signature import PART, checksum
from divulge.releasing.output.sinks import digest
from divulge.releasing.records.aggregate import Aggregate
from divulge.releasing.records.levels import readable
from divulge.releasing.records.receipt import READ, Receipt
from divulge.releasing.session import address_of
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from pandas import DataFrame

FORMAT = "divulge statistics receipt 1"
GROUPS = "divulge generalization 1"

RECEIPT: Form = {
    "format": FORMAT, "guarantees": {"*": (level, {"*": level})}, "level": share, "loss": level,
    "protected": {"noun": ("row", "person"), "person": (None, str), "at_most": whole,
                  "neighbors": ("replaced", "added"), "groups?": whole, "per_group?": whole},
    "record_prior": (None, {"least": share, "secret": str, "columns": [str]}), "others": ("known", "independent"),
    "queries": Some({
        "kind": str, "column": (None, str), "by": [str], "cells": (None, whole), "family": str, "scale": level,
        "loss": level, "threshold?": (int, float), "step?": (int, float), "low?": (int, float), "high?": (int, float),
        "serves?": [("count", "people", "sum", "mean", "variance", "proportion", "quantile", "cut", "numbers")],
        "at?": str, "draws?": whole, "half_width?": level, "bounds?": [(int, float)],
        "fill?": (int, float),
    }),
    "source": str, "output": (None, str), "rows": (None, whole), "columns": [str], "told": [str], "created": str,
    "notes": [{"name": str, "*": (str, int, float, [str])}],
    "version": str, "digest": (None, str), "table_format?": str,
}  # fmt: skip
"""What a receipt of statistics is made of."""

LEADING = ("statistic", "column", "at")
NUMBERS = ("value", "low", "high", "standard_error")
TRAILING = (*NUMBERS, "note")
NO_INFORMATION = "no information"
"""Stands in the place of a number whose interval is no narrower than what was known before."""


@dataclass(frozen=True, eq=False, repr=False)
class Published(Record, Shown):
    """Statistics of a table, published with noise: the numbers, their intervals, and what they tell about one record.

    Attributes
    ----------
    table : pyarrow.Table, or a frame of pandas or polars where one was published
        One row a number: statistic, column, at (the probability of a quantile, the value of a proportion), the columns
        that group, value, low, high (which cover all true numbers together at `level`), standard_error of the noise.
    guarantees : dict
        {"dp": epsilon, "pml": ...}, in nats and rounded up; {"adp": {"epsilon", "delta"}}.
    queries : tuple of dict
        What was asked of the table, with its noise: kind, columns, number of cells, family, scale, share of the loss.
    level : probability with which all intervals cover
    protected : {"noun": "row" or "person", "person", "at_most", "neighbors"}, and where given "groups" and "per_group"
    prior : {"least", "secret", "columns"} of the guarantees about one record, or None
    others : "known" or "independent"
    loss : the most that the log-likelihood of what is published changes with one unit, in nats; may be inf
    source, output : names without folders
    rows : number of rows where it is public, else None
    columns : every column that was read
    notes : tuple of Note
        What a reader has to know, as data: options, assumptions, clamping.
    aggregate : what the ledger keeps of it
    keeper : dict
        For the keeper alone, never written to the receipt.
    table_format : str or None
        What a catalog calls the format of the output, where that is a table in it; the digest is one of its rows then.
    papers : {name: path}
        What was written, where it was.

    Examples
    --------
    >>> found = dv.publish({"sex": ["f", "m", "f", "f"]}, dv.Count("sex"), guarantee="dp=1", values={"sex": ["f", "m"]})
    >>> found.guarantees, found.table.num_rows
    ({'dp': 1.0}, 4)
    """

    table: Any = field(compare=False)
    guarantees: Mapping[str, Any]
    queries: tuple[Mapping[str, Any], ...]
    level: float
    protected: Mapping[str, Any]
    prior: Mapping[str, Any] | None
    others: str
    loss: float
    source: str
    output: str | None
    rows: int | None
    columns: tuple[str, ...]
    notes: tuple[Note, ...]
    created: str
    version: str
    digest: str | None = None
    aggregate: Aggregate | None = field(default=None, repr=False, compare=False)
    keeper: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    numbers: Any = field(default=None, repr=False, compare=False)
    """The table in Arrow where `table` is a frame, whose types may hold less."""
    table_format: str | None = None
    papers: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __hash__(self) -> int:
        return hash((type(self), self.created, self.digest, self.columns, self.level))

    @property
    def arrow(self) -> Any:
        """The numbers as a pyarrow.Table, whatever was published; None where only the receipt is there.

        Examples
        --------
        >>> import pandas as pd
        >>> people = pd.DataFrame({"sex": ["f", "m", "f", "f"]})
        >>> found = dv.publish(people, dv.Count("sex"), guarantee="dp=1", values={"sex": ["f", "m"]})
        >>> len(found.table), found.arrow.num_rows
        (4, 4)
        """
        return self.table if self.numbers is None else self.numbers

    def _compared(self) -> list[Any]:
        return [self.arrow, *super()._compared()]

    @property
    def mechanisms(self) -> tuple[Aggregate, ...]:
        """What the ledger keeps."""
        return () if self.aggregate is None else (self.aggregate,)

    @property
    def told(self) -> tuple[str, ...]:
        """What a reader has to know, in English sentences."""
        return tuple(note.text for note in self.notes)

    @cached_property
    def by(self) -> tuple[str, ...]:
        """The columns of the table that group."""
        names = [] if self.arrow is None else self.arrow.column_names
        return tuple(name for name in names if name not in (*LEADING, *TRAILING))

    def statistics(self) -> list[dict[str, Any]]:
        """Return one record a number: statistic, by, value, low, high, and what else there is.

        Examples
        --------
        >>> table = {"sex": ["f", "m", "f", "f"]}
        >>> found = dv.publish(table, dv.Count("sex"), guarantee="dp=1", values={"sex": ["f", "m"]})
        >>> [one["by"] for one in found.statistics()]
        [{'sex': 'f'}, {'sex': 'm'}, {'sex': 'other'}, {'sex': 'no answer'}]
        """
        out: list[dict[str, Any]] = []
        for row in [] if self.arrow is None else self.arrow.to_pylist():
            one: dict[str, Any] = {"statistic": row["statistic"]}
            one |= {name: row[name] for name in ("column", "at") if row.get(name) is not None}
            one["by"] = {name: row[name] for name in self.by if row[name] is not None}
            one |= {"note": row["note"]} if row.get("note") is not None else {}
            for name in NUMBERS:
                value = row[name]
                whole = one["statistic"] in ("count", "people", "cut", "numbers") and name != "standard_error"
                one[name] = int(value) if whole and value is not None and value == int(value) else value
            out.append(one)
        return out

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return everything that is public, as JSON holds it.

        Examples
        --------
        >>> table = {"sex": ["f", "m", "f", "f"]}
        >>> found = dv.publish(table, dv.Count("sex"), guarantee="dp=1", values={"sex": ["f", "m"]})
        >>> sorted(found.to_dict())[:3]
        ['columns', 'created', 'digest']
        """
        scale = nats_per(unit)
        return {
            "statistics": self.statistics(),
            **self._about(),
            "guarantees": {kind: _in_unit(value, scale) for kind, value in self.guarantees.items()},
            "loss": _finite(self.loss / scale),
            "queries": [{**query, "loss": _in_unit(query["loss"], scale)} for query in self.queries],
            "notes": [
                {key: _in_unit(value, scale) if key == "loss" else value for key, value in note.to_dict().items()}
                for note in self.notes
            ],
            "unit": unit,
        }

    def _about(self) -> dict[str, Any]:
        return {
            "guarantees": {kind: _in_unit(value, 1.0) for kind, value in self.guarantees.items()},
            "level": self.level, "protected": dict(self.protected),
            "record_prior": None if self.prior is None else dict(self.prior),
            "others": self.others, "loss": _finite(self.loss), "queries": [dict(query) for query in self.queries],
            "source": self.source, "output": self.output, "rows": self.rows, "columns": list(self.columns),
            "told": list(self.told), "notes": [note.to_dict() for note in self.notes],
            "created": self.created, "version": self.version, "digest": self.digest,
            **({"table_format": self.table_format} if self.table_format is not None else {}),
        }  # fmt: skip

    def to_json(self) -> bytes:
        """Return the text of the receipt's file, with its checksum; it holds no number of the table.

        Examples
        --------
        >>> table = {"sex": ["f", "m", "f", "f"]}
        >>> found = dv.publish(table, dv.Count("sex"), guarantee="dp=1", values={"sex": ["f", "m"]})
        >>> b"divulge statistics receipt" in found.to_json()
        True
        """
        body = {"format": FORMAT, **self._about()}
        body["checksum"] = checksum(body)
        return (printable_json(json.dumps(body, indent=1, ensure_ascii=False)) + "\n").encode()

    @classmethod
    def read(cls, path: str | os.PathLike[str], table: Any = None) -> "Published":
        """Return what the receipt in a file tells; one that was edited is refused.

        Examples
        --------
        >>> out = folder / "sexes.csv"
        >>> table = {"sex": ["f", "m", "f", "f"]}
        >>> _ = dv.publish(table, dv.Count("sex"), out, guarantee="dp=1", values={"sex": ["f", "m"]})
        >>> dv.results.Published.read(out.with_name("sexes.receipt.json")).guarantees
        {'dp': 1.0}
        """
        return cls.of_document(read_document(path), name_of(path), table)

    @classmethod
    def of_document(cls, found: object, name: str, table: Any = None) -> "Published":
        """Return what a receipt tells, from what a file of this name holds.

        Examples
        --------
        >>> dv.results.Published.of_document([], "list.json")
        Traceback (most recent call last):
        divulge.errors.InputFileError: list.json: must be a receipt of statistics (divulge statistics receipt 1); it ...
        """
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise InputFileError(f"{name}: must be a receipt of statistics ({FORMAT}); it is something else.")
        found = {part: value for part, value in found.items() if part != PART}
        if found.pop("checksum", None) != checksum(found):
            raise InputFileError(f"{name}: must be as it was written; its checksum does not fit: it has been edited.")
        if not fits(found, RECEIPT):
            raise InputFileError(f"{name}: must be a complete receipt; a part is missing or malformed.")
        try:
            made = cls(
                table=table, guarantees={k: _back(v) for k, v in found["guarantees"].items()},
                queries=tuple(found["queries"]), prior=found["record_prior"], loss=float(found["loss"]),
                columns=tuple(found["columns"]), notes=tuple(map(Note.of, found["notes"])),
                **{k: found[k] for k in ("level", "protected", "others", "source", "output", "rows", "created",
                                         "version", "digest")},
                table_format=found.get("table_format"),
            )  # fmt: skip
            refuse_contradictions(made)
        except Exception as error:  # what numbers or sentences that do not fit together may raise is open-ended
            raise readable(name, error) from None
        return made

    def describes(self, path: str | os.PathLike[str]) -> bool:
        """Say whether the file at `path`, or the table table:NAME, is the table that was published, to the byte.

        Of a table of a catalog Spark compares the rows, in whatever order and files they are.

        Examples
        --------
        >>> out = folder / "sexes.csv"
        >>> table = {"sex": ["f", "m", "f", "f"]}
        >>> dv.publish(table, dv.Count("sex"), out, guarantee="dp=1", values={"sex": ["f", "m"]}).describes(out)
        True
        """
        if self.table_format is None and address_of(path) is None:
            return self.digest == digest(Path(path))
        return self.digest == late("divulge.releasing.spark:digest_at")(path, self.table_format is not None)

    def to_frame(self) -> "DataFrame":
        """Return the table as a pandas DataFrame (extra: frames).

        Examples
        --------
        >>> table = {"sex": ["f", "m", "f", "f"]}
        >>> found = dv.publish(table, dv.Count("sex"), guarantee="dp=1", values={"sex": ["f", "m"]})
        >>> list(found.to_frame()["sex"])
        ['f', 'm', 'other', 'no answer']
        """
        require("pandas", "frames")
        return self.arrow.to_pandas()

    def __repr__(self) -> str:
        levels = ", ".join(promise(kind, value) for kind, value in self.guarantees.items())
        count = 0 if self.arrow is None else self.arrow.num_rows
        lines = [f"{count:,} numbers about {', '.join(map(repr, self.columns)) or 'the rows'}: {levels} (nats)"]
        shown = [] if self.arrow is None else self.arrow.slice(0, 8).to_pylist()
        for row in shown:
            where = ", ".join(str(row[name]) for name in self.by if row[name] is not None)
            about = " ".join(str(row[name]) for name in LEADING if row.get(name) is not None)
            what = f"  {about}{' of ' + where if where else ''}: "
            if row["value"] is None:
                lines.append(what + NO_INFORMATION)
                continue
            ends = "no interval" if row["low"] is None else f"{reached(row['low'])} to {promised(row['high'])}"
            lines.append(f"{what}{row['value']:g} ({ends})")
        if count > 8:
            lines.append(f"  ... and {count - 8:,} more")
        return "\n".join(lines)


def read_receipt(path: str | os.PathLike[str]) -> "Published | Receipt | dict[str, Any]":
    """Return the receipt in a file: of statistics, of a release, or, as plain data, of a coarsened table."""
    return receipt_in(read_document(path), name_of(path))


def receipt_in(found: Any, name: str) -> "Published | Receipt | dict[str, Any]":
    """Return the receipt in what a file of this name holds."""
    form = _form(found)
    if form == GROUPS:
        return late("divulge.tables.papers:read_receipt")(found, name)
    return (Published if form == FORMAT else Receipt).of_document(found, name)


def require_consistent(found: Mapping[str, Any], name: str) -> None:
    """Refuse a paper with a receipt in which something does not follow from the rest; codebooks have no numbers."""
    receipt = found.get("receipt", found)
    if isinstance(receipt, dict) and "checksum" in receipt and _form(receipt) in (FORMAT, GROUPS, *READ):
        receipt_in(receipt, name)


def _form(found: Any) -> Any:
    return found.get("format") if isinstance(found, dict) else None


def promise(kind: str, value: Any) -> str:
    """Return a guarantee with its numbers as people read them, rounded up.

    >>> promise("dp", 1.0), promise("dp", 7.7841808), promise("adp", {"epsilon": 1.0, "delta": 1e-6})
    ('dp 1', 'dp 7.78419', 'adp 1 at delta 1e-06')
    """
    if not isinstance(value, Mapping):
        return f"{kind} {promised(value)}"
    rest = [f"{name} {promised(part)}" for name, part in value.items() if name != "epsilon"]
    return f"{kind} {promised(value['epsilon'])} at {', '.join(rest)}"


def _in_unit(value: Any, scale: float) -> Any:
    if isinstance(value, str):  # "inf"
        return value
    if isinstance(value, Mapping):
        return {name: _finite(part / scale) if name == "epsilon" else part for name, part in value.items()}
    return _finite(value / scale)


def _finite(value: float) -> Any:
    return value if math.isfinite(value) else "inf"


def _back(value: Any) -> Any:
    return {k: float(v) for k, v in value.items()} if isinstance(value, Mapping) else float(value)
