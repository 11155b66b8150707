"""What a statement consists of, in whichever language: questions, paragraphs, tables and pictures of people."""

from dataclasses import dataclass

from divulge.reporting.statements.voice import Text


@dataclass(frozen=True)
class Head:
    """A question; `folded` hides what follows until it is asked for."""

    text: Text
    folded: bool = False


@dataclass(frozen=True)
class Para:
    """A paragraph; `tone` is "lead" for the promise, "warn" for what one would print in bold, "item" in a list."""

    text: Text
    tone: str = ""


@dataclass(frozen=True)
class Grid:
    """A table; the columns in `left` are text."""

    header: tuple[Text, ...]
    rows: tuple[tuple[Text, ...], ...]
    left: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class People:
    """A picture of 100 figures, `filled` of them filled."""

    filled: int
    alt: Text
    caption: Text


@dataclass(frozen=True)
class Map:
    """A map without tiles: a region of a size, circles of two radii around its middle, and a scale of a length."""

    size: tuple[float, float]
    radii: tuple[float, float]
    alt: Text
    caption: Text
    scale: str
    bar: float


Part = Head | Para | Grid | People | Map
