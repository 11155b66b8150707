"""What is asked of a table, as one frozen record without data: what page, command and program all make."""

import json
import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache, wraps
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

from divulge import __version__
from divulge.errors import DivulgeError, did_you_mean
from divulge.files.channels import as_json
from divulge.files.forms import fits
from divulge.files.opening import name_of, naming, replacing
from divulge.files.settings import using
from divulge.files.tables.source import Source, TableLike
from divulge.files.tables.tidying import GroupsLike, columns_of, group_texts, rules_of
from divulge.guarantees.guarantee import GuaranteeLike
from divulge.late import late
from divulge.model.entries import whole_number
from divulge.model.record import Record
from divulge.model.shown import printable_json
from divulge.releasing.engine import Progress
from divulge.releasing.options import EngineName, Option, read, require_kind, written
from divulge.releasing.records.ledger import Ledger
from divulge.units import Unit, nats_per

P = ParamSpec("P")
R = TypeVar("R")

FORMAT = "divulge request 1"

ACTIONS = {
    "release": "divulge.releasing.column:Release",
    "publish": "divulge.publishing.request:Publish",
    "generalize": "divulge.tables.request:Generalize",
}
"""What can be asked for -> the record of its options."""

MOST_ROWS = 1_000_000
"""So many rows of a person count at most."""

Place = str | os.PathLike[str] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading(Record):
    """How the table is read."""

    delimiter: Annotated[str | None, Option("What stands between cells of CSV; else guessed.", metavar="C")] = None
    decimal: Annotated[str | None, Option("The decimal sign of CSV, . or ,; else guessed.", metavar="C")] = None
    encoding: Annotated[str | None, Option("Of text, such as utf-8 or latin-1; else guessed.", metavar="NAME")] = None
    sheet: Annotated[str | None, Option("The sheet of a workbook, by name or number.", metavar="NAME")] = None
    header: Annotated[
        str | None,
        Option("The row with the names of columns; 3-4: in two rows. Those above are left out.", metavar="N"),
    ] = None
    footer: Annotated[int | None, Option("Leave out so many rows at the end: totals, notes.", int, "N")] = None
    number_names: Annotated[bool, Option("Columns of one name get numbers: day, day (2).", bool)] = False
    one_spelling: Annotated[
        str | Sequence[str] | None,
        Option("Texts there that differ in blanks, case or leading zeros are one value.", list[str], "C"),
    ] = None
    group: Annotated[
        GroupsLike | None,
        Option(
            "Group values first, by ranges of a width (10000, 10000:0:90000), day, month, quarter, year, first:2 "
            "letters, or rare:50 (fewer rows: other).",
            list[str],
            "C=RULE",
        ),
    ] = None
    line_breaks: Annotated[bool, Option("Cells of CSV may hold line breaks; else each line is a row.", bool)] = False
    limits: Annotated[
        str | None,
        Option("The most that is read: rows=1e9,cells=2e7,bytes=1GiB.", metavar="LIMITS", flags=("--limit",)),
    ] = None
    engine: Annotated[EngineName, Option("Work on this machine in a stream, or with Spark.", EngineName)] = "local"


@dataclass(frozen=True, kw_only=True, eq=False)
class Protecting(Record):
    """Whom the promise protects: a row, or the person whose rows stand in the table."""

    person: Annotated[
        str | None, Option("The column that says whose row it is; it goes out only with --keep.", metavar="C")
    ] = None
    one_answer: Annotated[bool, Option("All rows of a person have one answer, which is drawn once.", bool)] = False
    rows_per_person: Annotated[
        int | None, Option("So many rows of a person count, and share the promise.", int, "N")
    ] = None
    per_row: Annotated[
        bool, Option("Each row is another person; or the promise is about a row, whatever others tell.", bool)
    ] = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Writing(Record):
    """Where the result goes, and in which words."""

    force: Annotated[bool, Option("Replace files that exist.", bool)] = False
    table_format: Annotated[
        str | None,
        Option(
            "With an output table:NAME, which Spark writes: its format, by the name that the session has for it, such "
            "as delta, iceberg or orc; else the one that it takes by itself.",
            metavar="NAME",
        ),
    ] = None
    receipt: Annotated[Place, Option("Where the receipt goes, if not beside the output.", Path, "FILE")] = None
    sign: Annotated[
        Place, Option("Sign receipt, codebook and keeper's record with this key (PEM, Ed25519).", Path, "KEY")
    ] = None
    escape_formulas: Annotated[bool, Option("Write CSV cells that begin with = + - @ behind an apostrophe.", bool)] = (
        False
    )
    language: Annotated[str, Option("Of what is written for people: en or de.")] = "en"
    unit: Annotated[Unit, Option("Unit of everything logarithmic.", Unit)] = "nats"


@dataclass(frozen=True, kw_only=True, eq=False)
class Recording(Record):
    """What is on record."""

    ledger: Annotated[
        Ledger | str | os.PathLike[str] | None,
        Option(
            "An SQLite file or SQLAlchemy URL; else $DIVULGE_LEDGER, else ledger.sqlite in the user's data folder.",
            metavar="WHERE",
        ),
    ] = None
    budget: Annotated[
        GuaranteeLike | None,
        Option("What all releases of the same may tell together, such as ldp=2 or dp=2.", metavar="GUARANTEE"),
    ] = None
    source_name: Annotated[str | None, Option("What the ledger calls the table, if not by its path.")] = None
    people: Annotated[
        str | None,
        Option("Whose rows these are, if the ledger is wrong about it: one of its tables, or new.", metavar="TABLE"),
    ] = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Request(Recording, Writing, Reading, Protecting):
    """What is asked of a table: the action and all of its options, and none of the data.

    Page, command and program make the same record, and `run` carries it out. It is written to the keeper's record, and
    to a file by `save`.

    Attributes
    ----------
    source : path of the table, or None for a table in memory, which `run` is then given
    sink : path of what is written, optional

    Examples
    --------
    >>> asked = Request.of("release", "survey.csv", "out.csv", column="faith", guarantee="ldp=1")
    >>> print(asked.command())
    divulge release survey.csv -o out.csv --column faith --guarantee ldp=1 --no-ledger
    >>> Request.from_dict(asked.to_dict()) == asked
    True
    """

    action: ClassVar[str]
    door: ClassVar[str]
    """The function that carries it out, as module:name."""
    renamed: ClassVar[dict[str, str]] = {}
    """Options under the names that they had before."""

    source: Annotated[Place, Option("The table.", metavar="TABLE")] = None
    sink: Annotated[
        Place, Option("Its suffix is its format; without one, a folder.", Path, "OUT", ("--output", "-o"))
    ] = None

    @staticmethod
    def of(action: str, source: TableLike | None = None, sink: Place = None, **options: Any) -> "Request":
        """Return the request for an action; a table in memory is no part of it.

        Examples
        --------
        >>> Request.of("release", column="faith", guarantee="ldp=1").action
        'release'
        """
        if action not in ACTIONS:
            raise DivulgeError.unknown("action", action, ACTIONS)
        made: type[Request] = late(ACTIONS[action])  # pyright: ignore[reportAssignmentType]
        options = {made.renamed.get(name, name): value for name, value in options.items()}
        for name in options:
            if name not in made.options():
                raise TypeError(f"{action}() got an unexpected keyword argument {name!r}."
                                f"{did_you_mean(name, made.options())}")  # fmt: skip
        return made(source=_path_of(source), sink=sink, **options)

    @classmethod
    @cache
    def options(cls) -> dict[str, Option]:
        """Return how each field stands on a command line, in order.

        Examples
        --------
        >>> from divulge.releasing.column import Release
        >>> Release.options()["released_as"].named("released_as")
        ('--as',)
        """
        hints = get_type_hints(cls, include_extras=True)
        first = ("source", "sink")
        names = [*first, *(name for name in _in_order(cls) if name not in first)]
        return {name: get_args(hints[name])[1] for name in names if get_origin(hints[name]) is Annotated}

    def __post_init__(self) -> None:
        super().__post_init__()
        nats_per(self.unit)
        read = {
            "header": None if self.header is None else str(self.header), "group": group_texts(self.group) or None,
            "one_spelling": columns_of(self.one_spelling) or None,
        }  # fmt: skip
        for name, value in read.items():
            object.__setattr__(self, name, value)
        rules_of(self.group)
        for name in ("header", "footer", "number_names", "one_spelling", "group"):
            if self.engine == "spark" and getattr(self, name):
                raise DivulgeError.of(name, "be left out with Spark", "it", "given", "prepare the table before.")
        self._check_whose()

    def _check_whose(self) -> None:
        """Refuse answers to whose a row is that are none, or that contradict each other."""
        person, most = cast(Any, self.person), cast(Any, self.rows_per_person)
        if person is not None and not (isinstance(person, str) and person):
            raise DivulgeError.of("person", "be the name of a column", "it", repr(person)[:60])
        if most is not None:
            object.__setattr__(self, "rows_per_person", whole_number(most, "rows_per_person", 1, MOST_ROWS))
        if self.one_answer and person is None:
            raise DivulgeError.of("one_answer", "come with the column that says who (person=, --person)", "it", "alone")
        if self.one_answer and most is not None:
            raise DivulgeError.of("rows_per_person", "be left out with one_answer: one draw stands in all rows", "it",
                                  "given as well")  # fmt: skip
        if self.per_row and (self.one_answer or most is not None):
            raise DivulgeError.of("per_row", "stand without one_answer and rows_per_person", "it", "given with one")

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from what they are when nothing is said, in order.

        Examples
        --------
        >>> from divulge.releasing.column import Release
        >>> Release(column="faith", guarantee="ldp=1", force=True).given
        {'column': ('faith',), 'guarantee': (LDP(1),), 'force': True}
        """
        usual = {f.name: None if f.default is MISSING else f.default for f in fields(self)}
        found = {name: getattr(self, name) for name in self.options()}
        return {
            name: value
            for name, value in found.items()
            if (value is not None if usual[name] is None else value != usual[name])
        }

    @property
    def settings(self) -> dict[str, Any]:
        """How files are read and written, as `files.settings.using` takes it.

        Examples
        --------
        >>> from divulge.releasing.column import Release
        >>> Release(column="faith", guarantee="ldp=1", delimiter=";").settings["delimiter"]
        ';'
        """
        names = [f.name for f in fields(Reading) if f.name != "engine"]
        return {name: getattr(self, name) or None for name in [*names, "escape_formulas"]}

    def to_dict(self, *, strict: bool = True) -> dict[str, Any]:
        """Return what JSON can hold of it: the format, the version, the action, and every option that was given.

        An object that no file can hold is refused; unless `strict`, its type stands in its place.

        Examples
        --------
        >>> from divulge.releasing.column import Release
        >>> Release(column="faith", guarantee="ldp=1").to_dict()["guarantee"]
        ['ldp=1']
        """
        head = {"format": FORMAT, "version": __version__, "action": self.action}
        return head | {name: written(value, name, strict) for name, value in self.given.items()}

    @staticmethod
    def from_dict(given: object) -> "Request":
        """Return the request that `to_dict` described; what is unknown is refused.

        Examples
        --------
        >>> Request.from_dict({"format": "divulge request 1", "action": "release", "colum": "faith"})
        Traceback (most recent call last):
        divulge.errors.DivulgeError: `request` must have known options; one is 'colum'. Hint: Did you mean 'column'?
        """
        form, found = {"format": str, "action": str}, cast(Any, given)
        if not fits(found, form) or found["format"] != FORMAT:
            raise DivulgeError.of("request", f'be an object with "format": "{FORMAT}" and an action', "it",
                                  "something else", "--save-request FILE writes one.")  # fmt: skip
        if found["action"] not in ACTIONS:
            raise DivulgeError.unknown("action", found["action"], ACTIONS)
        made: type[Request] = late(ACTIONS[found["action"]])  # pyright: ignore[reportAssignmentType]
        found = {name: value for name, value in found.items() if name not in ("format", "version", "action")}
        for name in found:
            if name not in made.options():
                raise DivulgeError.of("request", "have known options", "one", repr(name)[:60],
                                      did_you_mean(name, made.options()).strip())  # fmt: skip
        hints = get_type_hints(made)
        for name, value in found.items():
            require_kind(name, value, hints[name])
        lacking = [f.name for f in fields(made) if f.default is MISSING and f.name not in found]
        if lacking:
            raise DivulgeError.of("request", f"have the option {lacking[0]!r}", "it", "absent")
        try:
            return made(**{name: read(value) for name, value in found.items()})
        except DivulgeError:
            raise
        except Exception:  # what parts of an object that are not of their kind raise is open-ended
            raise DivulgeError.of("request", "have options each of its kind", "one", "of another") from None

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write the request as JSON; the file appears whole or not at all.

        Examples
        --------
        >>> asked = Request.of("release", column="faith", guarantee="ldp=1")
        >>> asked.save(folder / "request.json")
        >>> Request.read(folder / "request.json") == asked
        True
        """
        text = json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False)
        with replacing(path, force=force) as stream:
            stream.write((printable_json(text) + "\n").encode())

    @staticmethod
    def read(path: str | os.PathLike[str]) -> "Request":
        """Return the request in a file.

        Examples
        --------
        >>> Request.read("no-such-file.json")
        Traceback (most recent call last):
        divulge.errors.InputFileError: no-such-file.json: there is no such file.
        """
        found = as_json.read_document(path)
        with naming(name_of(Path(path))):
            return Request.from_dict(found)

    def command(self) -> str:
        """Return the request as a command, with every option.

        Examples
        --------
        >>> from divulge.releasing.column import Release
        >>> Release(source="a b.csv", sink="out.csv", column="faith", guarantee="ldp=1", ledger="l.sqlite").command()
        "divulge release 'a b.csv' -o out.csv --column faith --guarantee ldp=1 --ledger l.sqlite"
        """
        return f"divulge {self.action} {' '.join(self.words())}"

    def words(self) -> Iterator[str]:
        """Yield the words of the command behind its name, as a shell reads them.

        Examples
        --------
        >>> from divulge.releasing.column import Release
        >>> list(Release(source="t.csv", column="faith", guarantee="ldp=1", force=True).words())
        ['t.csv', '--column faith', '--guarantee ldp=1', '--force', '--no-ledger']
        """
        for name, value in self.given.items():
            yield from self._words_of(name, value)
        if self.ledger is None:
            yield "--no-ledger"

    def _words_of(self, name: str, value: Any) -> Iterator[str]:
        option = self.options()[name]
        if name == "source":
            text = str(value)
            yield shlex.quote(f"./{text}" if text.startswith("-") and text != "-" else text)
            return
        flag = option.named(name)[-1]
        for one in value if option.of == list[str] and isinstance(value, (list, tuple)) else [value]:
            text = typed(one, name)
            if option.of is bool:
                yield flag
            elif text.startswith("-"):
                yield shlex.quote(f"{flag}={text}")
            else:
                yield f"{flag} {shlex.quote(text)}"

    def program(self) -> str:
        """Return the request as a Python program, with every option.

        Examples
        --------
        >>> from divulge.releasing.column import Release
        >>> print(Release(source="t.csv", sink="out.csv", column="faith", guarantee="ldp=1").program())
        import divulge as dv
        <BLANKLINE>
        receipt = dv.release(
            't.csv',
            sink='out.csv',
            column='faith',
            guarantee='ldp=1',
        )
        print(receipt)
        <BLANKLINE>
        """
        arguments = [] if self.source is None else [repr(str(self.source))]
        rest = {name: value for name, value in self.given.items() if name != "source"}
        arguments += [f"{name}={self._call_of(name, value)}" for name, value in rest.items()]
        body = "".join(f"    {one},\n" for one in arguments)
        return f"import divulge as dv\n\nreceipt = dv.{self.action}(\n{body})\nprint(receipt)\n"

    def _call_of(self, name: str, value: Any) -> str:
        """Return an option as Python writes it."""
        plain = written(value, name)
        several = isinstance(value, tuple) and len(value) == 1
        return repr(plain[0] if several else plain)


def asking(action: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Give a function that ends in **options the signature of the request for an action.

    Its options are those of the record, and stand in no other place.
    """

    def door(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def called(*given: P.args, **options: P.kwargs) -> R:
            return function(*given, **options)

        made: type[Request] = late(ACTIONS[action])  # pyright: ignore[reportAssignmentType]
        own = [p for p in signature(function).parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        usual = {f.name: Parameter.empty if f.default is MISSING else f.default for f in fields(made)}
        names = [name for name in made.options() if name != "source" and name not in signature(function).parameters]
        more = [Parameter(name, Parameter.KEYWORD_ONLY, default=usual[name]) for name in names]
        whole = signature(function).replace(parameters=[*own, *more])
        called.__signature__ = whole  # pyright: ignore[reportAttributeAccessIssue]
        return called

    return door


def run(
    request: Request | str | os.PathLike[str],
    source: TableLike | None = None,
    *,
    progress: Progress | Literal[False] | None = None,
    warn: Callable[[str], object] = lambda warning: None,
) -> Any:
    """Return what a request gives when it is carried out: a Receipt, Published, or a Generalization.

    Parameters
    ----------
    request : Request, or path of a file that `Request.save` or `--save-request` wrote
    source : table in memory, optional
        In place of the path that the request names.
    progress : function of (rows done, rows in all or None), or False, optional
        As for `release`.
    warn : function of str, optional
        Gets every warning before a row is drawn.

    Returns
    -------
    Receipt, Published or Generalization

    Raises
    ------
    DivulgeError
        As the action does; and when neither names a table.

    Examples
    --------
    >>> asked = Request.of("release", column="answer", mechanism="randomized-response", ratio=3)
    >>> run(asked, {"answer": ["yes", "no"]}).rows
    2
    """
    if not isinstance(request, Request):
        DivulgeError.unless(request, (str, os.PathLike), "request", "be a Request or the path of one")
        request = Request.read(request)
    table = request.source if source is None else source
    if table is None:
        raise DivulgeError.of("source", "be given: the request names no table", "it", "absent")
    if not callable(warn):
        raise DivulgeError.of("warn", "be a function", "it", f"a {type(warn).__name__}")
    with using(**request.settings):
        return late(type(request).door)(request, table, progress=progress, warn=warn)


def _in_order(made: type[Request]) -> list[str]:
    """Return the fields of a request: its own, and then those that all have."""
    own = [name for name in made.__annotations__ if name in made.__dataclass_fields__]
    return [*own, *(f.name for f in fields(made) if f.name not in own)]


def _path_of(source: Any) -> str | None:
    """Return the path of a table, or None of one in memory."""
    if isinstance(source, Source):
        return None if source.path is None else str(source.path)
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else None


def typed(value: Any, name: str) -> str:
    """Return one value of an option as a command line has it.

    >>> typed(0.5, "epsilon")
    '0.5'
    """
    found = written(value, name)
    if isinstance(found, (dict, list)):
        raise DivulgeError.of(name, "be the path of a file to stand in a command", "it", f"a {type(value).__name__}",
                              "--save-request FILE and divulge run FILE take any.")  # fmt: skip
    return str(found)
