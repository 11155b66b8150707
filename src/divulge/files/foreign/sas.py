"""How many rows the pages of a SAS file hold, whatever one of its subheaders says: the library believes that one alone.

After M. Shotwell, "SAS7BDAT database binary format" (2013): a file is pages of one size, each with its type, the number
of its blocks and the number of its subheaders. A block is a subheader or a row; compressed rows are subheaders.
"""

import mmap
import struct

_DATA = 0x100
"""The type of a page that holds rows alone."""
_MIX = 0x200
"""The type of a page that holds subheaders, and rows behind them."""
_KNOWN = {0x0, _DATA, _MIX, 0x400, 0x4000, 0x9000}
"""Types of pages; those of others, such as pages with deleted rows, are not counted."""

_ABOUT = {0xF7F7F7F7, 0xF6F6F6F6} | {0xFFFFFF00 | last for last in range(0xF8, 0x100)} | {0xFFFFFC00, 0xFFFFFBFE}
"""How subheaders begin that tell about the table."""


def rows_of(path: str) -> tuple[int, bool] | None:
    """Return how many rows the pages hold, and whether no row is compressed; None where that cannot be told.

    A compressed row may begin as a subheader does, and is then not counted.
    """
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        try:
            return _counted(content)
        except struct.error:
            return None


def _counted(content: mmap.mmap) -> tuple[int, bool] | None:
    order, wide, shift = "<" if content[37] == 1 else ">", content[32] == 0x33, 4 if content[35] == 0x33 else 0
    first, size = struct.unpack_from(f"{order}II", content, 196 + shift)
    if not size:
        return None
    head, pointer, place = (40, 24, f"{order}QQBB") if wide else (24, 12, f"{order}IIBB")
    plain, packed, compressed = 0, 0, content.find(b"SASYZCR", 0, first + 16 * size) >= 0
    for page in range(first, len(content) - size + 1, size):
        kind, blocks, subheaders = struct.unpack_from(f"{order}HHH", content, page + head - 8)
        if kind not in _KNOWN:
            return None
        if kind in (_DATA, _MIX):
            plain += blocks - (subheaders if kind == _MIX else 0)
            continue
        for k in range(subheaders if compressed and kind != 0x9000 else 0):
            at, _, cut, told = struct.unpack_from(place, content, page + head + k * pointer)
            if told == 1 and cut != 1 and _begins(content, page + at, order, wide) not in _ABOUT:
                packed += 1
    return plain + packed, not compressed


def _begins(content: mmap.mmap, at: int, order: str, wide: bool) -> int:
    """Return the mark at the beginning of a subheader; files of 64 bits have it twice as wide."""
    (mark,) = struct.unpack_from(f"{order}I", content, at + (4 if wide and order == ">" else 0))
    return mark
