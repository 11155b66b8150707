"""What the commands share: numbers for people and for programs, tables."""

import json
import math
import sys
import warnings
from collections.abc import Callable, Container, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from divulge import exact
from divulge.errors import DivulgeError
from divulge.extras import own_style, require
from divulge.files.opening import name_of, refuse_taken, replacing
from divulge.model.shown import printable, printable_json, printable_lines, promised, reached

_SHORT = 9
"""Letters of a fraction that is shown as it is."""

KEPT = " (from exact numbers of the table, for the keeper alone: readable by you alone)"
"""What is said of a file that was written with mode 0600."""


def as_json(value: Any) -> Any:
    """Return `value` as JSON can hold it: infinity is "inf", fractions and NumPy numbers are numbers.

    >>> as_json({"pml": math.inf, "lift": Fraction(3, 2)})
    {'pml': 'inf', 'lift': 1.5}
    """
    if isinstance(value, Mapping):
        return {key if isinstance(key, str) else str(key): as_json(item) for key, item in value.items()}
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, (float, Fraction)):
        value = exact.as_float(value)
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Sequence):
        return [as_json(item) for item in value]
    return as_json(value.tolist()) if hasattr(value, "tolist") else str(value)


def emit(found: Any) -> None:
    """Print one JSON object on standard output; what does not print, or turns the direction of text, is escaped."""
    text = json.dumps(as_json(found), ensure_ascii=not _holds_unicode(sys.stdout), allow_nan=False)
    print(printable_json(text))


def _holds_unicode(stream: Any) -> bool:
    """Say whether a stream can hold any text; another would write what it cannot in a way that is no JSON."""
    return str(getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-").startswith("utf")


def say(message: str) -> None:
    """Print lines for people on standard output; labels come from data, so control characters are written out."""
    print(printable_lines(message))


def say_claim(told: Mapping[str, Any], otherwise: str = "not refuted") -> None:
    """Print what was claimed, and whether what was seen refutes it."""
    claim = ", ".join(f"{name} {v:.12g}" for name, v in told["claim"].items() if name != "kind")
    say(f"claim {told['claim']['kind']} ({claim}): {'VIOLATED' if told['violated'] else otherwise}")


def note(message: str) -> None:
    """Print a message for people on standard error."""
    print(printable_lines(message), file=sys.stderr)


def number(value: Any, digits: int = 4) -> str:
    """Return a number as people read it; fractions stay fractions while they are short.

    >>> number(math.inf), number(0.40546510810816444), number(Fraction(19, 11))
    ('inf', '0.4055', '19/11')
    """
    return _short(value) or f"{exact.as_float(value):.{digits}g}"


def upper(value: Any, digits: int = 4) -> str:
    """Return a level or an upper bound as people read it, rounded up; short fractions stay as they are.

    >>> upper(0.40544), upper(Fraction(19, 11)), upper(math.inf)
    ('0.4055', '19/11', 'inf')
    """
    return _short(value) or promised(value, digits)


def lower(value: Any, digits: int = 4) -> str:
    """Return a lower bound as people read it, rounded down; short fractions stay as they are.

    >>> lower(0.40546), lower(Fraction(19, 11)), lower(math.inf)
    ('0.4054', '19/11', 'inf')
    """
    return _short(value) or reached(value, digits)


def _short(value: Any) -> str:
    """Return a fraction of few letters as it is, else nothing."""
    return str(value) if isinstance(value, Fraction) and len(str(value)) <= _SHORT else ""


WIDTH = 80
"""Of tables that texts make wide, where nobody looks at a terminal."""


def print_table(
    title: str,
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    left: Container[int] = (0,),
    width: int | None = None,
) -> None:
    """Print a table; the columns in `left` are text, the others numbers (text among them stays as it is).

    Where nobody looks at a terminal it is as wide as it needs, or `width`.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, column in enumerate(header):
        text = place in left
        table.add_column(Text(column), justify="left" if text else "right", overflow="fold", no_wrap=not text)
    for row in rows:
        table.add_row(*(Text(printable(cell) if isinstance(cell, str) else number(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal and width is not None:
        console = Console(highlight=False, width=width)
    elif not console.is_terminal:
        console = Console(highlight=False, width=max(80, Console(width=10_000).measure(table).maximum))
    console.print(Text(printable(title), style="bold"))
    console.print(table)


def draw(subject: Any, path: Path, *, force: bool, private: bool = False, **options: Any) -> None:
    """Draw what `subject.plot(**options)` shows to a file, which only its owner may read where it is private."""
    refuse_taken(path, force)
    matplotlib = require("matplotlib", "plot")
    matplotlib.use("Agg")
    with own_style({"font.family": _families()}):
        figure = subject.plot(**options).figure
        known = figure.canvas.get_supported_filetypes()
        kind = path.suffix.removeprefix(".").lower()
        if kind not in known:
            raise DivulgeError(f"{name_of(path)}: must have a name that ends in one of .{', .'.join(known)}.")
        with replacing(path, private=private, force=force) as stream, warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            figure.savefig(stream, format=kind, dpi=150)
    if any("missing from font" in str(one.message) for one in told):
        note(
            "some letters of the labels are in no font of this machine: boxes stand for them. Hint: install Noto Sans."
        )
    note(f"drawn to {name_of(path)}{KEPT if private else ''}")


_SCRIPTS = (
    "Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans CJK KR", "Noto Sans JP", "Noto Sans SC", "Noto Sans KR",
    "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari", "Noto Sans Thai", "WenQuanYi Zen Hei",
    "Droid Sans Fallback", "Hiragino Sans", "PingFang SC", "Apple SD Gothic Neo", "Arial Unicode MS", "Yu Gothic",
    "Microsoft YaHei", "Malgun Gothic", "Segoe UI", "Nirmala UI", "Tahoma", "FreeSans",
)  # fmt: skip
"""Fonts of other scripts than Latin, Greek and Cyrillic."""


def _families() -> list[str]:
    """Return the font that pictures are drawn with, and those installed ones that have what it lacks."""
    there = set(require("matplotlib.font_manager", "plot").fontManager.get_font_names())
    return ["DejaVu Sans", *(name for name in _SCRIPTS if name in there)]


def counted(prior: str | None) -> bool:
    """Say whether a prior is TABLE:COLUMN: then it holds the exact shares of a table."""
    return prior is not None and ":" in prior and not Path(prior).is_file()


def tell_of_itself(secret: Iterable[str] | None, released: Iterable[str] | None) -> None:
    """Say so when a column is compared with itself: it tells all of itself, which is no finding."""
    for column in set(secret or ()) & set(released or ()):
        note(f"column {column!r} is both --secret and --released: this is what it tells when it goes out as it is.")


def one_of(given: Mapping[str, Any]) -> str:
    """Return the key whose value is not None; refuse none and several.

    >>> one_of({"CHANNEL": "c.csv", "--data": None})
    'CHANNEL'
    """
    present = [name for name, value in given.items() if value is not None]
    if len(present) != 1:
        found = "more than one is" if present else "neither is" if len(given) == 2 else "none is"
        raise DivulgeError(f"one of {' or '.join(given)} must be given; {found}.")
    return present[0]


@contextmanager
def watched_rows() -> Generator[Callable[[int, int | None], None] | None]:
    """Give a function that moves a bar on standard error, where that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        "rows", BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def busy(what: str) -> Generator[None]:
    """Show on standard error, where that is a terminal, that work is under way and since when, until it ends.

    For what has no steps that could be counted.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    with Progress(
        SpinnerColumn(), "{task.description}", TimeElapsedColumn(), console=Console(stderr=True), transient=True
    ) as shown:
        shown.add_task(what, total=None)
        yield
