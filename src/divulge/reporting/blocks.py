"""What a report is made of, whichever way it is shown: sections of sentences, lists, tables and pictures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Words:
    """A paragraph; `tone` is "good" or "bad" where it is a verdict."""

    text: str
    tone: str = ""


@dataclass(frozen=True)
class Items:
    """A list of sentences, numbered from 1 where others refer to them."""

    texts: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True)
class Card:
    """A number worth reading first, what it is, and what it means."""

    number: str
    title: str
    text: str


@dataclass(frozen=True)
class Cards:
    """The numbers worth reading first."""

    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Shade:
    """A cell of a heat map: its text, and a color from -1 (much less) to 1 (much more)."""

    text: str
    level: float


@dataclass(frozen=True)
class Rows:
    """A table; the first cell of a row is its heading, and the columns in `left` are text."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | Shade, ...], ...]
    left: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Picture:
    """A picture: `draw` puts it on matplotlib axes of a `size` in inches; the caption says what is seen."""

    caption: str
    alt: str
    draw: Callable[[Any], Any]
    size: tuple[float, float] = (6.4, 3.6)


@dataclass(frozen=True)
class Folded:
    """Blocks that are hidden behind their title until they are asked for; in text they simply follow."""

    title: str
    blocks: "tuple[Block, ...]"


Block = Words | Items | Cards | Rows | Picture | Folded


@dataclass(frozen=True)
class Section:
    """A titled part of a report; `name` is what links to it are called."""

    name: str
    title: str
    blocks: tuple[Block, ...]
