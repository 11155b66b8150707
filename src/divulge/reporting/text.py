"""A report as text for a terminal; pictures are left to the page."""

from collections.abc import Callable, Container, Sequence
from itertools import zip_longest
from textwrap import fill, wrap
from typing import Any

from divulge.model.shown import printable
from divulge.reporting.blocks import Cards, Folded, Items, Picture, Rows, Section, Words

_WIDTH = 100
"""Characters of a line of prose: longer ones are hard to follow with the eye, shorter ones make reports longer."""
_WIDEST = 32
"""Characters of a cell of a table, beyond which it goes on below: seven columns of reports stay readable."""


def as_text(sections: Sequence[Section]) -> str:
    """Return sections as text, not wider than a terminal but for tables."""
    parts: list[str] = []
    for section in sections:
        title = printable(section.title)
        blocks = [shown for block in section.blocks if (shown := _BLOCKS[type(block)](block))]
        parts += [f"{title}\n{'=' * len(title)}", *blocks]
    return "\n\n".join(parts)


def table_lines(texts: Sequence[Sequence[str]], left: Container[int], widest: int) -> list[str]:
    """Return the lines of a table whose first row is its header; a cell goes on below after so many characters."""
    cells = [[wrap(printable(text), widest) or [""] for text in row] for row in texts]
    widths = [max(len(line) for cell in column for line in cell) for column in zip(*cells, strict=True)]
    lines: list[str] = []
    for row in cells:
        for parts in zip_longest(*row, fillvalue=""):
            placed = zip(parts, widths, strict=True)
            shown = [text.ljust(n) if i in left else text.rjust(n) for i, (text, n) in enumerate(placed)]
            lines.append("  ".join(shown).rstrip())
        if row is cells[0]:
            lines.append("-" * (sum(widths) + 2 * (len(widths) - 1)))
    return lines


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    return fill(printable(text), _WIDTH, initial_indent=first, subsequent_indent=rest)


def _cards(block: Cards) -> str:
    return "\n".join(_wrapped(f"{card.title}: {card.number}. {card.text}", "* ", "  ") for card in block.cards)


def _items(block: Items) -> str:
    marks = [f"[{i}] " if block.numbered else "- " for i in range(1, len(block.texts) + 1)]
    return "\n".join(_wrapped(text, m, " " * len(m)) for m, text in zip(marks, block.texts, strict=True))


def _rows(block: Rows) -> str:
    texts = [block.header, *(tuple(v if isinstance(v, str) else v.text for v in row) for row in block.rows)]
    return "\n".join([_wrapped(block.caption), "", *table_lines(texts, block.left, _WIDEST)])


def _folded(block: Folded) -> str:
    return "\n\n".join([f"{printable(block.title)}:", *(_BLOCKS[type(inner)](inner) for inner in block.blocks)])


_BLOCKS: dict[type, Callable[[Any], str]] = {
    Folded: _folded,
    Words: lambda block: _wrapped(block.text),
    Items: _items,
    Cards: _cards,
    Rows: _rows,
    Picture: lambda block: "",
}
