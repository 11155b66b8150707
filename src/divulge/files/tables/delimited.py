"""Tables as text (CSV): what they look like is guessed, every byte is checked before the first row is read.

A parser alone cannot be trusted with a damaged file: one quote that is not closed makes the rows behind it a single
cell, which would go out as it is. So all lines are measured first (`lines`); unless cells have line breaks on purpose,
each is a row.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO

from divulge.errors import DivulgeError, InputFileError, number_of
from divulge.extras import require
from divulge.files.settings import Settings
from divulge.files.tables.layout import (
    Layout,
    Over,
    below,
    first_lines,
    last_lines,
    names_of,
    numbered,
    suggested,
    window,
)
from divulge.files.tables.lines import BLOCK, HINT, LONGEST_LINE, fault_of, scan
from divulge.files.tables.source import Content, Source

_SAMPLE = 1 << 18
"""Bytes from which the delimiter and the encoding are guessed: some thousand lines of most tables."""

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "vertical bars"}
"""Delimiters that are guessed, in the order in which ties are broken."""

_OTHER_KINDS: dict[bytes, str] = {
    b"PK\x03\x04": "a zip archive such as an Excel workbook (.xlsx)",
    b"PAR1": "a Parquet file (.parquet)",
    b"ARROW1": "an Arrow file (.arrow)",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook (.xls)",
    b"\x1f\x8b": "compressed with gzip; unpack it first",
    b"SQLite format 3": "an SQLite database",
    b"%PDF": "a PDF document",
    b"\x93NUMPY": "a NumPy array (.npy)",
}
_DECIMAL_COMMA = r"[+-]?(?:[0-9]+|[0-9]{1,3}(?:\.[0-9]{3})+),[0-9]+"


@dataclass(frozen=True)
class Dialect:
    """What the text of a table looks like."""

    delimiter: str
    decimal: str
    encoding: str

    def pointed(self, cell: str) -> str:
        """Return a cell with a number such as 1.234,5 written 1234.5, where the comma is the decimal sign."""
        if self.decimal == "." or not re.fullmatch(_DECIMAL_COMMA, cell):
            return cell
        return cell.replace(".", "").replace(",", ".")

    def __str__(self) -> str:
        cells = f"cells between {DELIMITERS.get(self.delimiter, repr(self.delimiter))}"
        return f"{cells}{', decimal commas' if self.decimal == ',' else ''}, {_called(self.encoding)}"


def _called(encoding: str) -> str:
    names = {"utf-8": "UTF-8", "utf-8-sig": "UTF-8", "cp1252": "Latin-1 (Windows-1252)", "latin-1": "Latin-1"}
    return names.get(encoding, encoding.upper())


class Transcoded(Over):
    """A text in another encoding, read as UTF-8."""

    def __init__(self, stream: BinaryIO, encoding: str) -> None:
        super().__init__(stream)
        self._decoder = codecs.getincrementaldecoder(encoding)("strict")
        self._rest, self._done = b"", False

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes, at most `size`."""
        while not self._done and (size < 0 or len(self._rest) < size):
            block = self._stream.read(max(size, 1 << 16))
            self._done = not block
            self._rest += self._decoder.decode(block, self._done).encode("utf-8", "surrogatepass")
        size = len(self._rest) if size < 0 else size
        out, self._rest = self._rest[:size], self._rest[size:]
        return out

    def put_back(self, data: bytes) -> None:
        """Let the next bytes be these."""
        self._rest = data + self._rest


def table(content: Content, settings: Settings) -> Source:
    """Return the table of a text, every cell as it stands there; an empty cell is missing."""
    pa, pacsv = require("pyarrow", "tables"), require("pyarrow.csv", "tables")
    dialect, layout = guessed(content, settings), Layout.of(settings)
    whole = _opener(content, dialect.encoding)
    open_text, named = window(whole, layout)
    above = layout.last - 1
    header = _header(open_text, dialect.delimiter, settings.line_breaks, above)
    if len(named) > 1:
        header = names_of([(cells_of([line], dialect.delimiter) or [[""]])[0] for line in named])
    if settings.header is None:
        _require_no_title(open_text, header, dialect.delimiter)
    header = numbered(header) if settings.number_names else header
    settings.limits.allow(content.name, "columns", len(header))
    lines = scan(open_text, dialect.delimiter, len(header), settings.line_breaks, above)
    last = below([(1, header)], cells_of(last_lines(lines.tail), dialect.delimiter), layout.footer)
    for said in filter(None, (layout.words("line"), last)):
        settings.tell(f"{content.name}: {said}")
    if lines.breaks:
        settings.tell(f"{content.name}: {lines.breaks:,} line breaks are inside cells; it has {lines.rows - 1:,} rows.")
    if not lines.ended:
        settings.tell(f"{content.name}: its last line has no end; the file may have been cut short there.")
    settings.limits.allow(content.name, "rows", lines.rows - 1)
    parse = pacsv.ParseOptions(
        delimiter=dialect.delimiter, newlines_in_values=settings.line_breaks, ignore_empty_lines=len(header) > 1
    )

    def stream(columns: Sequence[str], coded: Sequence[str]) -> Iterator[Any]:
        types = {name: pa.dictionary(pa.int32(), pa.string()) if name in coded else pa.string() for name in columns}
        convert = pacsv.ConvertOptions(
            column_types=types, include_columns=list(columns), null_values=[""], strings_can_be_null=True
        )
        options = pacsv.ReadOptions(block_size=BLOCK, column_names=header, skip_rows=1)
        rows, plain = 0, dialect.decimal == "."
        with open_text() as text:
            try:
                with pacsv.open_csv(text, read_options=options, parse_options=parse, convert_options=convert) as reader:
                    for batch in reader:
                        rows += batch.num_rows
                        yield batch if plain else pa.record_batch([*map(_with_points, batch)], schema=batch.schema)
            except pa.ArrowInvalid:
                _explain(open_text, dialect.delimiter, content.name, above)
                raise
        if rows != lines.rows - 1:
            raise InputFileError(
                f"{content.name}: must have a row for each line; {lines.rows - 1:,} lines below the header were read "
                f"as {rows:,} rows. Hint: see that every quote is closed; --line-breaks (line_breaks=True) allows line "
                "breaks inside cells."
            )

    schema = pa.schema([(name, pa.string()) for name in header])
    return content.source(schema, lines.rows - 1, stream)


def _opener(content: Content, encoding: str, behind: bool = True) -> Callable[[], Any]:
    """Return what opens a text as UTF-8, `behind` the line in which a delimiter is told to Excel."""

    def opened() -> Any:
        stream: Any = _without_mark(content.open())
        stream = stream if encoding in ("utf-8", "utf-8-sig") else Transcoded(stream, encoding)
        return _behind_told(stream) if behind else stream

    return opened


_TOLD = re.compile(rb'"?sep=([^\r\n])"?(?:\r\n|\n|\r)', re.IGNORECASE)
"""The line before the header in which spreadsheet programs are told the delimiter."""


def _behind_told(stream: Any) -> Any:
    head = stream.read(16)
    told = _TOLD.match(head)
    rest = head[told.end() :] if told else head
    if isinstance(stream, Transcoded):
        stream.put_back(rest)
    else:
        stream.seek(stream.tell() - len(rest))
    return stream


def _without_mark(stream: BinaryIO) -> BinaryIO:
    """Return the stream behind the byte order mark of UTF-8, if it has one."""
    if stream.read(3) != codecs.BOM_UTF8:
        stream.seek(0)
    return stream


def decoded(content: Content, settings: Settings) -> tuple[str, Dialect]:
    """Return a whole text, and what it looks like."""
    dialect = guessed(content, settings)
    try:
        with _opener(content, dialect.encoding)() as stream:
            return stream.read().decode(), dialect
    except UnicodeDecodeError as error:
        raise DivulgeError(f"is not text in {_called(dialect.encoding)}: {error.reason}.") from None


def guessed(content: Content, settings: Settings) -> Dialect:
    """Return what the text looks like; tell what was guessed and is not the usual."""
    dialect, options = _dialect(content, settings)
    if options:
        settings.tell(f"{content.name}: read as text with {dialect}; {', '.join(options)} would set it.")
    return dialect


def _dialect(content: Content, settings: Settings) -> tuple[Dialect, list[str]]:
    """Return what the text looks like, and the options that would set what was guessed and is not the default."""
    with content.open() as stream:
        head = stream.read(_SAMPLE)
    for magic, kind in _OTHER_KINDS.items():
        if head.startswith(magic):
            raise InputFileError(f"{content.name}: must be text, as its name says; it is {kind}.")
    if b"\0" in head and settings.encoding is None and not _wide(head):
        raise DivulgeError("must be text; it holds zero bytes.")
    options: list[str] = []
    encoding = _known_encoding(settings.encoding) if settings.encoding else _guessed_encoding(content, head)
    if not settings.encoding and encoding != "utf-8":
        options.append("--encoding")
    if settings.encoding and encoding == "utf-8":
        _check_utf8(content)
    try:
        with _opener(content, encoding, behind=False)() as stream:
            first = stream.read(_SAMPLE)
            told = _TOLD.match(first)
            sample = first[told.end() if told else 0 :].decode("utf-8", "ignore")
            sample = _of_table(sample, Layout.of(settings), len(head) == _SAMPLE)
    except UnicodeError:
        raise InputFileError(f"{content.name}: is not text in {_called(encoding)}.") from None
    usual = "\t" if content.suffix == ".tsv" else ","
    delimiter = settings.delimiter
    if delimiter is None:
        delimiter = told[1].decode() if told else _guessed_delimiter(sample, len(head) == _SAMPLE, usual)
        if delimiter != usual:
            options.append("--delimiter")
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or delimiter in '"\r\n\0' or not delimiter.isascii():
        raise DivulgeError.of("delimiter", "be one character of ASCII, and no quote", "it", repr(delimiter))
    decimal = settings.decimal
    if decimal is None:
        decimal = "." if delimiter == "," else _guessed_decimal(sample, delimiter)
        if decimal == ",":
            options.append("--decimal")
    if decimal not in (".", ","):
        raise DivulgeError.of("decimal", 'be "." or ","', "it", repr(decimal))
    if decimal == delimiter:
        raise DivulgeError.of("decimal", "be another character than the delimiter", "it", repr(decimal))
    return Dialect(delimiter, decimal, encoding), options


def _known_encoding(encoding: str) -> str:
    """Return the name of an encoding of text that Python knows."""
    try:
        found = codecs.lookup(encoding)
        if found._is_text_encoding:  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
            return "utf-8" if found.name == "utf-8-sig" else found.name
    except (LookupError, ValueError):
        pass
    raise DivulgeError.of(
        "encoding", "be one that Python knows, such as utf-8, latin-1, cp1252 or utf-16", "it", repr(encoding)
    )


def _guessed_encoding(content: Content, head: bytes) -> str:
    """Return UTF-16 or UTF-32 by mark or zeros; UTF-8 if all bytes are; Latin-1 if the first odd byte is no UTF-8."""
    return _wide(head) or ("utf-8" if _check_utf8(content, latin=True) else _latin(content))


def _wide(head: bytes) -> str | None:
    """Return UTF-16 or UTF-32 where a mark, or zeros in every other byte, tell it."""
    if head.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = head[0:2000:2].count(0), head[1:2000:2].count(0)
    if len(head) > 1 and max(even, odd) > len(head[:2000]) // 5 and min(even, odd) == 0:
        return "utf-16-le" if odd else "utf-16-be"
    return None


def _check_utf8(content: Content, latin: bool = False) -> bool:
    """Say yes if all bytes are UTF-8; no, where allowed, if the first one beyond ASCII is not; refuse the rest."""
    decoder, ascii_only, line = codecs.getincrementaldecoder("utf-8")("strict"), True, 1
    with content.open() as stream:
        while block := stream.read(BLOCK):
            try:
                ascii_only = decoder.decode(block).isascii() and ascii_only
                line += block.count(b"\n")
            except UnicodeDecodeError as error:
                before, byte = error.object[: error.start], error.object[error.start]
                if latin and ascii_only and before.isascii():
                    return False
                raise DivulgeError(
                    f"is not UTF-8 text; line {line + before.count(10)} has the byte 0x{byte:02x}. Hint: --encoding "
                    "(encoding=) says what it is, such as latin-1."
                ) from None
    if decoder.getstate()[0]:
        raise DivulgeError("is not UTF-8 text to its end; it ends in the middle of a character.")
    return True


def _latin(content: Content) -> str:
    """Return cp1252 unless a byte has no meaning there."""
    with content.open() as stream:
        while block := stream.read(BLOCK):
            if any(byte in block for byte in (b"\x81", b"\x8d", b"\x8f", b"\x90", b"\x9d")):
                return "latin-1"
    return "cp1252"


def _sample_rows(sample: str, delimiter: str) -> list[list[str]]:
    try:
        return [row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row]
    except csv.Error:
        return []


def opening(content: Content, settings: Settings) -> tuple[Callable[[], Any], str]:
    """Return what opens a text as UTF-8, from its first line on, and its delimiter."""
    dialect = _dialect(content, settings)[0]
    return _opener(content, dialect.encoding), dialect.delimiter


def cells_of(lines: list[bytes], delimiter: str) -> list[list[str]]:
    """Return the cells of lines, those without any left out."""
    return _sample_rows("\n".join(line.decode("utf-8", "replace") for line in lines), delimiter)


def _guessed_delimiter(sample: str, cut: bool, usual: str) -> str:
    """Return the delimiter under which all lines have equally many cells, the most of them; the usual one if none."""
    widths: dict[str, int] = {}
    for delimiter in sorted(DELIMITERS, key=lambda d: d != usual):
        rows = _sample_rows(sample, delimiter) if delimiter in sample else []  # else each line is one cell
        rows = rows[:-1] if cut and len(rows) > 1 else rows
        if rows and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            widths[delimiter] = len(rows[0])
    others = [d for d in widths if d != ","]
    if others and re.search(r"[0-9],[0-9]", sample) and not re.search(r"[^0-9],|,[^0-9]", sample):
        return others[0]  # each comma is a decimal sign
    if widths:
        return max(widths, key=lambda d: widths[d])
    heads = {d: len(rows[0]) for d in DELIMITERS if (rows := _sample_rows(sample, d))}
    best = max(heads, key=lambda d: heads[d], default=usual)
    if heads.get(usual, 0) > 1 or heads.get(best, 0) > 1:
        return usual if heads.get(usual, 0) > 1 else best
    alike = {d: _most_alike(_sample_rows(sample, d)) for d in sorted(DELIMITERS, key=lambda d: d != usual)}
    return max(alike, key=lambda d: alike[d])  # a title stands above the table


def _most_alike(rows: list[list[str]]) -> int:
    """Return how many rows have as many cells, and more than one."""
    return max(Counter(len(row) for row in rows if len(row) > 1).values(), default=0)


def _of_table(sample: str, layout: Layout, cut: bool) -> str:
    """Return the lines of a sample from the last row of names on, without what is left out below."""
    if layout == Layout():
        return sample
    lines = sample.splitlines(True)[layout.last - 1 :]
    while not cut and lines and not lines[-1].strip():
        lines.pop()
    return "".join(lines if cut or not layout.footer else lines[: -layout.footer])


def _guessed_decimal(sample: str, delimiter: str) -> str:
    cells = [cell for row in _sample_rows(sample, delimiter) for cell in row]
    commas = any(re.fullmatch(_DECIMAL_COMMA, cell) for cell in cells)
    points = any(re.fullmatch(r"[+-]?[0-9]+\.[0-9]+", cell) for cell in cells)
    return "," if commas and not points else "."


def _with_points(array: Any) -> Any:
    """Return the cells with numbers such as 1.234,5 written 1234.5."""
    pa, compute = require("pyarrow", "tables"), require("pyarrow.compute", "tables")
    if pa.types.is_dictionary(array.type):
        return pa.DictionaryArray.from_arrays(array.indices, _with_points(array.dictionary))
    commas = compute.match_substring_regex(array, f"^{_DECIMAL_COMMA}$")
    without = compute.replace_substring(compute.replace_substring(array, ".", ""), ",", ".")
    return compute.if_else(commas, without, array)


def _header(open_text: Callable[[], Any], delimiter: str, line_breaks: bool, above: int) -> list[str]:
    """Return the names of the columns: the first line behind those above, which no cell goes beyond."""
    with open_text() as text:
        first = text.read(LONGEST_LINE if line_breaks else _SAMPLE)
        end = re.search(rb"[\r\n]", first)
        while end is None and len(first) < LONGEST_LINE and (more := text.read(_SAMPLE)):
            first += more
            end = re.search(rb"[\r\n]", first)
    line = first[: end.start()] if end else first
    fault = fault_of(line, delimiter.encode())
    if fault:
        raise DivulgeError(f"line {above + 1} {fault}.{HINT}")
    if not line.strip():
        raise DivulgeError(f"must have the names of its columns in line {above + 1}, which is empty.")
    try:
        return next(csv.reader([line.decode()], delimiter=delimiter))
    except csv.Error:
        raise DivulgeError(f"must have {_LONG}; a name in line {above + 1} is longer.") from None


def _require_no_title(open_text: Callable[[], Any], header: list[str], delimiter: str) -> None:
    """Refuse a first line that leaves a column without a name, where one of the lines below it looks like names.

    Spreadsheet programs fill a title up to the width of the table.
    """
    nameless = next((i for i, name in enumerate(header, 1) if not name.strip()), None)
    if nameless is None:
        return
    with open_text() as text:
        head = text.read(_SAMPLE)
    rows = [(number, cells) for number, line in first_lines(head) for cells in cells_of([line], delimiter)]
    if (better := suggested(rows, []).first) > 1:
        raise DivulgeError(
            f"must have the names of all columns in its first line; column {nameless} has none. Hint: leave out lines "
            f"above the table: --header {better} (header={better}) takes line {better} for the names; --header 1 "
            "(header=1) takes the first as it is."
        )


_LONG = f"cells of at most {csv.field_size_limit():,} characters"


def _explain(open_text: Callable[[], Any], delimiter: str, name: str, above: int) -> None:
    """Refuse the first line that has more or fewer cells than the header, without its content."""
    with open_text() as text:
        readable: Any = io.BufferedReader(text) if isinstance(text, Transcoded) else text
        lines = csv.reader(io.TextIOWrapper(readable, "utf-8", newline=""), delimiter=delimiter)
        try:
            _refuse_uneven(lines, name, above)
        except csv.Error:
            raise InputFileError(f"{name}: line {lines.line_num + above} must have {_LONG}; one is longer.") from None


def _refuse_uneven(lines: Any, name: str, above: int) -> None:
    first = next(lines)
    for row in lines:
        if row and len(row) != len(first):
            place, seen = lines.line_num, [(1, first), (lines.line_num, row)]
            seen += [(lines.line_num, one) for one in islice(lines, _AHEAD) if one]
            raise InputFileError(
                f"{name}: line {place + above} must have {number_of(len(first), 'cell')}, as the header has; it has "
                f"{len(row)}. Hint: {_advice(seen, above, next(lines, None) is None)}"
            )


_AHEAD = 20
"""So many lines behind one that is uneven are looked at."""


def _advice(seen: list[tuple[int, list[str]]], above: int, ended: bool) -> str:
    """Return what to do about the second of some lines, which has other cells than the first."""
    width = len(seen[0][1])
    if width == 1:
        found = suggested(seen, []).first + above
        return (
            "leave out lines above the table, such as a title"
            + (f": --header {found} (header={found}) takes line {found} for the names of columns" if found > 1 else "")
            + "; else --delimiter (delimiter=) sets it."
        )
    if ended and all(len(row) < width for _, row in seen[1:]):
        rows = len(seen) - 1
        return (
            f"--footer {rows} (footer={rows}) leaves out {number_of(rows, 'row')} at the end, such as totals and notes."
        )
    return "a cell that holds the delimiter stands in quotes; --delimiter (delimiter=) says what it is."
