"""Whether the rows of a SAS transport file are whole: the format does not say how many there are.

After SAS Institute, "TS-140: The record layout of a data set in SAS transport (XPORT) format": records of 80 bytes; a
header says how long each column is; rows follow without a gap, and blanks fill the last record.
"""

import mmap
import struct

_RECORD = 80
"""Bytes of a record, of which every file of this format consists (SAS, technical support document TS-140)."""


def _marks(*kinds: str) -> tuple[bytes, ...]:
    """Return what headers of these kinds begin with, of version 5 and of version 8."""
    return tuple(f"HEADER RECORD*******{kind:8}HEADER RECORD!!!!!!!".encode() for kind in kinds)


_OBSERVATIONS, _COLUMNS, _MEMBERS = _marks("OBS", "OBSV8"), _marks("NAMESTR", "NAMSTV8"), _marks("MEMBER", "MEMBV8")
_SIZE, _COUNT = slice(74, 78), slice(54, 58)
"""Where a header has the size of the description of a column, and how many there are."""


def whole(path: str) -> bool:
    """Say whether the file ends where a row and its last record end; false for what is cut inside, or has more behind.

    A file that is cut between two records where a row ends too looks like a whole one.
    """
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        member, columns, rows = (_first_of(content, marks) for marks in (_MEMBERS, _COLUMNS, _OBSERVATIONS))
        if min(member, columns, rows) < 0 or any(content.find(mark, rows) >= 0 for mark in _MEMBERS):
            return False
        try:
            size = int(content[member : member + _RECORD][_SIZE])
            count = int(content[columns : columns + _RECORD][_COUNT])
            first = columns + _RECORD
            lengths = [struct.unpack_from(">h", content, first + k * size + 4)[0] for k in range(count)]
        except (ValueError, struct.error):
            return False
        length = sum(lengths)
        if length <= 0 or len(content) % _RECORD:
            return False
        data = len(content) - rows - _RECORD
        rest = data % length
        return rest < _RECORD and not content[len(content) - rest :].strip(b" ")


def _first_of(content: mmap.mmap, marks: tuple[bytes, ...]) -> int:
    places = [at for mark in marks if (at := content.find(mark)) >= 0]
    return min(places, default=-1)
