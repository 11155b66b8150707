"""What a release says about itself: all that its receiver needs, nothing that undoes the noise."""

import datetime
import hashlib
import html
import json
import math
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from divulge.errors import DivulgeError, InputFileError, number_of, printable
from divulge.files.channels.as_json import read_document
from divulge.files.forms import Form, Some, fits, label, level, whole
from divulge.files.opening import name_of, naming, replacing
from divulge.guarantees.catalog import as_typed
from divulge.late import late
from divulge.model.channel import Channel
from divulge.model.record import Record
from divulge.model.shown import html_table, promised
from divulge.releasing.output.signature import PART
from divulge.releasing.output.sinks import digest
from divulge.releasing.records.levels import readable, refuse_contradictions
from divulge.releasing.records.ran.following import FOLLOWING, Following
from divulge.releasing.records.ran.mechanism import MECHANISM, Mechanism, Ran, finite, read_label, written_label
from divulge.releasing.records.ran.oracle import ORACLE, FrequencyOracle
from divulge.releasing.records.ran.placed import PLACED, MetricNoise
from divulge.releasing.session import address_of

FORMAT = "divulge receipt 2"
READ = ("divulge receipt 1", FORMAT)

RECEIPT: Form = {
    "format": READ, "version": str, "created": str, "source": str, "output": (None, str), "digest": (None, str),
    "rows": whole, "null_as": (None, label), "untouched": [str], "warnings": [str], "released_as?": [str],
    "purpose?": ("statistics", "record", "information"), "asked?": [{"kind": str, "*": (str, level)}],
    "together?": (None, {"releases": whole, "guarantees": {"*": (level, {"*": level})}}),
    "protects?": {"person": (None, str), "rows_per_person": (None, whole), "one_answer?": bool, "people?": whole,
                  "squares?": whole},
    "answers?": {"from": ("list", "table", "any"), "other?": [str],
                 "bought?": {"epsilon": level, "delta": level}, "taken?": bool},
    "about?": (None, {"variable": (None, str), "counted": bool, "values": [str], "asked": [str],
                      "guarantees": {"*": level}, "off": [{"radius": str, "pml": level}],
                      "within?": [{"factor": str, "pml": level, "pmc": level}], "always": level}),
    "chain?": (None, FOLLOWING), "coarsened?": {"*": whole}, "table_format?": str,
    "guarantees": {"ldp": level, "*": level}, "mechanisms": Some((MECHANISM, ORACLE, PLACED)),
}  # fmt: skip
"""What a receipt is made of."""


@dataclass(frozen=True, eq=False, repr=False)
class Receipt(Record):
    """What was released, by which mechanism, and what that guarantees.

    Attributes
    ----------
    mechanisms : tuple of Mechanism or FrequencyOracle
        One for each group of columns released as one secret.
    guarantees : dict
        {"ldp": epsilon, ...} in nats of the whole release: of all mechanisms together.
    rows : int
    source, output : str
        Names of the files, without their folders.
    null_as : label that stands for a missing value, or None
    untouched : tuple of str
        Columns that went out as they are.
    released_as : tuple of str
        The names under which `columns` went out.
    purpose : "statistics", "record" or "information"
    asked : tuple of dict
        The guarantees that were asked for, as `Guarantee.to_dict` has them, in nats.
    warnings : tuple of str
        What the reader has to know.
    created : str
        UTC, ISO 8601.
    version : str
        Of Divulge.
    digest : str or None
        SHA-256 of the output file.
    together : dict or None
        {"releases": how many, "guarantees": {"ldp": epsilon, ...}}: what this release and all before it, on record
        about the same columns, guarantee together.
    protects : dict
        {"person": the column that says who, or None, "rows_per_person": rows of a person that share the promise, or
        None}; where a person has one answer, which was drawn once, also {"one_answer": True, "people": how many there
        are, "squares": at least the sum of the squares of their numbers of rows}.
    answers : dict
        {"from": "list" where the answers that there can be were listed by a list, a mechanism or a prior, "table" where
        those of the column were taken, or "any" where any text goes through; "other": what one that is not listed
        counts as, by column; "bought": {"epsilon", "delta"} of the publication that named them with noise;
        "taken": whether another publication took the list from its table}.
    about : dict or None
        Of another variable that is protected: "variable", its column; "counted", whether the law of both is from this
        table; "values"; "asked"; "guarantees" {"pml", "pmc"} in nats, rounded up; "off" [{"radius", "pml"}] where each
        P(x | s) is wrong by a total variation; "within" [{"factor", "pml", "pmc"}] where each of its probabilities is
        within a factor; "always" whatever the law is.
    chain : Following or None
        How one row of a person follows another, by a public model.
    coarsened : {column: level} or None
        Columns that went out coarser than they were, of a table whose rows stand group by group, in an order of chance
        within each.
    table_format : str or None
        Of an output that is a table of a catalog, such as table:people: its format, such as "delta". The digest is one
        of its rows then, in whatever order and files they are.
    table : the released table, when no sink was given; not part of the written receipt
    papers : dict
        {"table", "codebook", "statement", "receipt", "keeper", ...: path} of the files that were written; not part of
        the written receipt.

    Examples
    --------
    >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    >>> receipt = dv.release({"answer": ["yes", "no", "no"]}, column="answer", mechanism=coin)
    >>> receipt.columns, receipt.channel == coin
    (('answer',), True)
    """

    mechanisms: tuple[Ran, ...]
    guarantees: Mapping[str, float]
    rows: int
    source: str
    output: str | None
    null_as: Hashable
    untouched: tuple[str, ...]
    warnings: tuple[str, ...]
    created: str
    version: str
    digest: str | None = None
    released_as: tuple[str, ...] = ()
    purpose: str = "statistics"
    asked: tuple[Mapping[str, Any], ...] = ()
    together: Mapping[str, Any] | None = None
    protects: Mapping[str, Any] = field(default_factory=lambda: {"person": None, "rows_per_person": None})
    answers: Mapping[str, Any] = field(default_factory=lambda: {"from": "table"})
    about: Mapping[str, Any] | None = None
    chain: Following | None = None
    coarsened: Mapping[str, int] | None = None
    table_format: str | None = None
    table: Any = field(default=None, repr=False, compare=False)
    papers: Mapping[str, Path] = field(default_factory=dict[str, Path], repr=False, compare=False)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns that were released through a mechanism."""
        return tuple(name for mechanism in self.mechanisms for name in mechanism.columns)

    @property
    def channel(self) -> Channel:
        """The exact channel of a release with one mechanism."""
        return self.matrix_of(self.columns).channel.exact

    def matrix_of(self, columns: str | tuple[str, ...]) -> Mechanism:
        """Return the mechanism that was run on these columns, which must be a matrix.

        Examples
        --------
        >>> table = {"answer": ["yes", "no", "no", "no"]}
        >>> receipt = dv.release(table, column="answer", mechanism="randomized-response", ratio=3)
        >>> receipt.matrix_of("answer").channel.weights.shape
        (2, 2)
        """
        found = self.mechanism_of(columns)
        if not isinstance(found, Mechanism):
            raise DivulgeError.of("receipt", "be of a release through a matrix", "it",
                                  f"of one through {found.name}",
                                  "divulge statement tells what it says of a person."
                                  )  # fmt: skip
        return found

    def mechanism_of(self, columns: str | tuple[str, ...]) -> Any:
        """Return the mechanism that was run on these columns.

        Examples
        --------
        >>> receipt = dv.release({"answer": ["yes", "no"]}, column="answer", mechanism="randomized-response", ratio=3)
        >>> receipt.mechanism_of("answer").guarantees
        {'ldp': 1.098612288...}
        """
        wanted = (columns,) if isinstance(columns, str) else tuple(columns)
        for mechanism in self.mechanisms:
            if wanted in (mechanism.columns, self.names_of(mechanism)):
                return mechanism
        known = "; ".join(", ".join(map(repr, mechanism.columns)) for mechanism in self.mechanisms)
        raise DivulgeError.of("columns", f"be released together ({known})", "it", ", ".join(map(repr, wanted)))

    def names_of(self, mechanism: Ran) -> tuple[str, ...]:
        """Return the names under which the columns of a mechanism went out.

        Examples
        --------
        >>> receipt = dv.release({"answer": ["yes", "no"]}, column="answer", mechanism="randomized-response", ratio=3)
        >>> receipt.names_of(receipt.mechanisms[0])
        ('answer_perturbed',)
        """
        names = dict(zip(self.columns, self.released_as, strict=False))
        found = tuple(names.get(name, name) for name in mechanism.columns)
        return found[:1] if isinstance(mechanism, FrequencyOracle) else found  # a report is about all of its columns

    def to_dict(self, *, keeper: bool = False) -> dict[str, Any]:
        """Return the receipt as JSON holds it; with `keeper` also what only the keeper of the source may know.

        Examples
        --------
        >>> receipt = dv.release({"answer": ["yes", "no"]}, column="answer", mechanism="randomized-response", ratio=3)
        >>> receipt.to_dict()["rows"]
        2
        """
        return {
            "format": FORMAT,
            "version": self.version,
            "created": self.created,
            "source": self.source,
            "output": self.output,
            "digest": self.digest,
            "rows": self.rows,
            "null_as": written_label(self.null_as),
            "untouched": list(self.untouched),
            "released_as": list(self.released_as),
            "purpose": self.purpose,
            "asked": [finite(one) for one in self.asked],
            "together": None if self.together is None else finite(self.together),
            "protects": dict(self.protects),
            "answers": dict(self.answers),
            **({"about": dict(self.about)} if self.about is not None else {}),
            **({"chain": self.chain.to_dict()} if self.chain is not None else {}),
            **({"coarsened": dict(self.coarsened)} if self.coarsened is not None else {}),
            **({"table_format": self.table_format} if self.table_format is not None else {}),
            "warnings": list(self.warnings),
            "guarantees": finite(self.guarantees),
            "mechanisms": [mechanism.to_dict(keeper=keeper) for mechanism in self.mechanisms],
        }

    def describes(self, path: str | os.PathLike[str]) -> bool:
        """Say whether the file or folder at `path`, or the table table:NAME, is what was released, to the byte.

        Of a table of a catalog Spark compares the rows, in whatever order and files they are.

        Examples
        --------
        >>> coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
        >>> path = folder / "out.csv"
        >>> dv.release({"answer": ["yes", "no", "no", "no"]}, path, column="answer", mechanism=coin).describes(path)
        True
        """
        if self.table_format is None and address_of(path) is None:
            return self.digest == digest(Path(path))
        return self.digest == late("divulge.releasing.spark:digest_at")(path, self.table_format is not None)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the receipt as JSON; the file appears whole or not at all.

        Examples
        --------
        >>> receipt = dv.release({"answer": ["yes", "no"]}, column="answer", mechanism="randomized-response", ratio=3)
        >>> path = folder / "receipt.json"
        >>> receipt.save(path)
        >>> Receipt.read(path).rows
        2
        """
        with replacing(path) as stream:
            stream.write(self.to_json())

    def to_json(self, *, keeper: bool = False) -> bytes:
        """Return the text of the receipt's file, one line a part, with its checksum.

        Examples
        --------
        >>> receipt = dv.release({"answer": ["yes", "no"]}, column="answer", mechanism="randomized-response", ratio=3)
        >>> receipt.to_json()[:1]
        b'{'
        """
        parts = _canonical(self.to_dict(keeper=keeper))
        parts["checksum"] = f'"{_checksum(parts)}"'
        return ("{" + ",\n ".join(f'"{name}": {text}' for name, text in parts.items()) + "}\n").encode()

    @classmethod
    def of(cls, given: object) -> "Receipt | None":
        """Return a receipt as it is, the one at a path, or None for anything else, such as a channel.

        Examples
        --------
        >>> receipt = dv.release({"answer": ["yes", "no"]}, column="answer", mechanism="randomized-response", ratio=3)
        >>> Receipt.of(receipt) is receipt, Receipt.of([[1, 0], [0, 1]])
        (True, None)
        """
        if isinstance(given, (str, os.PathLike)):
            return cls.read(given)
        return given if isinstance(given, Receipt) else None

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Receipt":
        """Return the receipt in a file; one that was edited is refused.

        The checksum finds accidents and edits. It is no signature: whoever can replace the file can compute it anew.

        Raises
        ------
        InputFileError
            When it is not a receipt, or not as it was written.

        Examples
        --------
        >>> receipt = dv.release({"answer": ["yes", "no"]}, column="answer", mechanism="randomized-response", ratio=3)
        >>> path = folder / "receipt.json"
        >>> receipt.save(path)
        >>> Receipt.read(path).columns
        ('answer',)
        """
        return cls.of_document(read_document(path), name_of(path))

    @classmethod
    def of_document(cls, found: object, name: str) -> "Receipt":
        """Return the receipt in what a file of this name holds, which is refused where it was edited.

        Examples
        --------
        >>> Receipt.of_document({"format": "else"}, "else.json")
        Traceback (most recent call last):
        divulge.errors.InputFileError: else.json: must be a receipt of a release (divulge receipt 2); it is ...
        """
        if isinstance(found, dict) and "receipt" in found:  # the keeper's record
            found = found["receipt"]
        if not isinstance(found, dict) or found.get("format") not in READ:
            raise InputFileError(f"{name}: must be a receipt of a release ({FORMAT}); it is something else.")
        found = {part: value for part, value in found.items() if part != PART}
        stated = found.pop("checksum", None)
        with naming(name):
            whole = stated == _checksum(_canonical(found))
        if not whole:
            raise InputFileError(f"{name}: must be as it was written; its checksum does not fit: it has been edited.")
        try:
            return cls.from_dict(found)
        except Exception as error:  # what labels or levels that do not fit together may raise is open-ended
            raise readable(name, error) from None

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> "Receipt":
        """Return the receipt that `to_dict` described.

        Examples
        --------
        >>> receipt = dv.release({"answer": ["yes", "no"]}, column="answer", mechanism="randomized-response", ratio=3)
        >>> Receipt.from_dict(receipt.to_dict()).rows
        2
        """
        try:
            return cls._of(found)
        except DivulgeError:
            raise
        except Exception:  # what labels, levels or weights that do not fit together may raise is open-ended
            raise DivulgeError.of(*_INCOMPLETE) from None

    @classmethod
    def _of(cls, found: Mapping[str, Any]) -> "Receipt":
        if not fits(found, RECEIPT):
            raise DivulgeError.of(*_INCOMPLETE)
        for asked in found.get("asked", ()):
            as_typed(asked)
        protects = found.get("protects", {"person": None, "rows_per_person": None})
        parts = [_part(part) for part in found["mechanisms"]]
        made = cls(
            mechanisms=tuple(part.about(whom(protects)) for part in parts),
            guarantees={kind: float(value) for kind, value in found["guarantees"].items()},
            rows=found["rows"],
            null_as=read_label(found["null_as"]),
            untouched=tuple(found["untouched"]),
            warnings=tuple(found["warnings"]),
            released_as=tuple(found.get("released_as", ())),
            purpose=found.get("purpose", "statistics"),
            asked=tuple({k: math.inf if v == "inf" else v for k, v in one.items()} for one in found.get("asked", ())),
            together=_total(found.get("together")),
            protects=protects,
            answers=found.get("answers", {"from": _answers_from(parts)}),
            about=found.get("about"),
            chain=_followed(found.get("chain"), parts),
            coarsened=found.get("coarsened"),
            table_format=found.get("table_format"),
            **{name: found[name] for name in ("source", "output", "created", "version", "digest")},
        )
        refuse_contradictions(made)
        return made

    def __repr__(self) -> str:
        levels = ", ".join(f"{kind} {promised(value)}" for kind, value in self.guarantees.items())
        lines = [f"released {number_of(self.rows, 'row')} of {', '.join(map(repr, self.columns))}: {levels} (nats)"]
        sources = {m.prior_source for m in self.mechanisms if m.assumed.prior is not None}
        lines += [f"prior: {source}" for source in sorted(sources)]
        return "\n".join(lines + [f"note: {warning}" for warning in self.warnings])

    def _repr_html_(self) -> str:
        names = list(self.guarantees)
        levels = [[float(promised(self.guarantees[name]))] for name in names]
        table = html_table(names, ["at most [nats]"], levels, whole=True)
        notes = [*self.warnings, *(f"{name}: {path}" for name, path in self.papers.items())]
        items = "".join(f"<li>{html.escape(printable(note))}</li>" for note in notes)
        head = f"{number_of(self.rows, 'row')} of {', '.join(map(repr, self.columns))} released"
        return f"<p>{html.escape(printable(head))}</p>{table}<ul>{items}</ul>"


def _followed(found: Any, parts: Sequence[Ran]) -> Following | None:
    """Return the model of the rows of a person, which goes with one matrix, or with noise on few cells."""
    if found is None:
        return None
    (only,) = parts
    if isinstance(only, MetricNoise):
        return Following.from_dict(found, len(only.numbered), only.times)
    if not isinstance(only, Mechanism):
        raise DivulgeError.of("chain", "go with a matrix", "it", "given without one")
    return Following.from_dict(found, len(only.channel.secrets), only.times)


_INCOMPLETE = ("receipt", "have all its parts, each of its kind", "a part", "missing or malformed")


def whom(protects: Mapping[str, Any]) -> str | None:
    """Return the column whose people a release protects; None where it protects rows, or people that none names.

    >>> whom({"person": "patient", "rows_per_person": 3}), whom({"person": "patient", "rows_per_person": None})
    ('patient', None)
    """
    protected = protects.get("one_answer") or protects.get("rows_per_person") is not None
    return protects.get("person") if protected else None


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _part(found: Mapping[str, Any]) -> Ran:
    if "metric" in found:
        return MetricNoise.from_dict(found)
    return FrequencyOracle.from_dict(found) if "protocol" in found else Mechanism.from_dict(found)


def _answers_from(parts: Sequence[Ran]) -> str:
    """Return where the list of answers is from, by what a receipt of an earlier version says of the prior."""
    return "list" if {part.assumed.source for part in parts} <= {"none", "given"} else "table"


def _canonical(body: Mapping[str, Any]) -> dict[str, str]:
    """Return the canonical JSON of each part of a receipt."""
    write = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False).encode
    return {name: write(part) for name, part in body.items()}


def _checksum(parts: Mapping[str, str]) -> str:
    """Return the SHA-256 of the canonical JSON that these parts make up, in hexadecimal."""
    whole = hashlib.sha256()
    for name, text in sorted(parts.items()):
        whole.update(f"{json.dumps(name)}:".encode() + text.encode() + b",")
    return whole.hexdigest()


def _total(found: Any) -> Any:
    if found is None:
        return None
    return {**found, "guarantees": {kind: float(value) for kind, value in found["guarantees"].items()}}
