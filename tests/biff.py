"""Old workbooks (.xls), their records written as [MS-XLS] and [MS-CFB] lay them down."""

import struct


def record(kind: int, body: bytes) -> bytes:
    return struct.pack("<HH", kind, len(body)) + body


def label(row: int, column: int, text: str) -> bytes:
    return record(0x0204, struct.pack("<HHHHB", row, column, 0, len(text), 0) + text.encode("latin-1"))


def formula(result: bytes, flags: int = 0) -> bytes:
    """A formula in the first cell of the first row of data, and behind it what follows."""
    return record(0x0006, struct.pack("<HHH", 1, 0, 0) + result + struct.pack("<HIH", flags, 0, 3) + b"\x1e\1\0")


def xls(*records: bytes) -> bytes:
    """Return an old workbook of two columns and two rows, with more records in its sheet."""
    begin, end = (lambda kind: record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0, 0, 0, 0))), record(0x000A, b"")
    where = [(0, 0, "x"), (0, 1, "y"), (1, 0, "a"), (1, 1, "b"), (2, 0, "b"), (2, 1, "a")]
    replaced = any(record[:2] == b"\6\0" for record in records)  # a formula stands in the first cell
    inside = b"".join(label(*cell) for cell in where if not (replaced and cell[:2] == (1, 0)))
    sheet = begin(0x10) + record(0x0200, struct.pack("<IIHHH", 0, 3, 0, 2, 0)) + inside + b"".join(records) + end
    head = begin(5) + record(0x0085, struct.pack("<IHBB", 0, 0, 5, 0) + b"First") + end
    at = len(begin(5)) + 4
    stream = head[:at] + struct.pack("<I", len(head)) + head[at + 4 :] + sheet
    stream = stream.ljust(-(-max(len(stream), 4096) // 512) * 512, b"\0")
    sectors, none, last = len(stream) // 512, 0xFFFFFFFF, 0xFFFFFFFE
    table = [0xFFFFFFFD, last, *range(3, sectors + 2), last]

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        text = f"{name}\0".encode("utf-16-le")
        links = struct.pack("<BBIII", kind, 1, none, none, child)
        return (
            text.ljust(64, b"\0") + struct.pack("<H", len(text)) + links + bytes(36) + struct.pack("<IQ", start, size)
        )

    folder = entry("Root Entry", 5, 1, last, 0) + entry("Workbook", 2, none, 2, len(stream)) + bytes(256)
    magic = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + struct.pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    sizes = struct.pack("<IIIIIIIII", 0, 1, 1, 0, 4096, last, 0, last, 0)
    header = magic + sizes + struct.pack("<I", 0).ljust(4, b"\0") + struct.pack("<I", none) * 108
    return header + struct.pack(f"<{len(table)}I", *table).ljust(512, b"\xff") + folder + stream


def special(what: int, value: int = 0) -> bytes:
    return bytes([what, 0, value, 0, 0, 0, 0xFF, 0xFF])
