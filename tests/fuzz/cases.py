"""Files with one fault each, and command lines about them: tables, channels, priors, receipts, ledgers, lists."""

import io
import json
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import divulge as dv
from fuzz.harness import MARK

COIN = dv.Channel(
    [["3/4", "1/8", "1/8"], ["1/8", "3/4", "1/8"], ["1/8", "1/8", "3/4"]], ["a", "b", "c"], ["a", "b", "c"]
)

NUMBERS = ("0", "-1", "1", "0.5", "1e-320", "1e308", "1e400", "1e999999999", "nan", "inf", "-inf", "1/3", "1/0",
           "50%", "e^1", "3x", "", "abc", "1e5", "2147483648", "9" * 400, "0x10", "1_000", "١", "1,5")  # fmt: skip
"""Texts in the place of a number."""

VALUES: tuple[Any, ...] = (None, True, -1, 0, 1, 2**31, 2**63, 2**70, 10**400, 0.5, 1e308, float("nan"), float("inf"),
                           "", "a", "nan", "inf", "1/0", "1e999999999", "\x1b[2J", "\u202e", "\ud800", [], {}, [[]],
                           [1], {"a": 1}, "x" * 5000)  # fmt: skip
"""Values in the place of any part of a JSON document."""


def rows(rng: random.Random) -> list[dict[str, str]]:
    """Return the rows of a table: two columns of letters, a number, and a diary that nobody may read."""
    return [
        {"x": rng.choice("abc"), "y": rng.choice("abc"), "n": str(rng.randrange(90)), "diary": f"{MARK} {i}"}
        for i in range(rng.choice([0, 1, 2, 5, 30]))
    ]


def text(rng: random.Random, table: list[dict[str, str]]) -> bytes:
    """Return the rows as CSV of some kind."""
    delimiter, end = rng.choice(",,,;\t|"), rng.choice(["\n", "\n", "\r\n", "\r"])
    quote = rng.choice(['"', "", ""])
    lines = [("x", "y", "n", "diary"), *(tuple(row.values()) for row in table)]
    made = end.join(delimiter.join(f"{quote}{cell}{quote}" for cell in line) for line in lines) + rng.choice(
        [end, end, ""]
    )
    return made.encode(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]))


def table_of(rng: random.Random, table: list[dict[str, str]]) -> pa.Table:
    """Return the rows as an Arrow table, with a type or two that are unusual."""
    columns: dict[str, Any] = {name: [row[name] for row in table] for name in ("x", "y", "n", "diary")}
    odd: Callable[[], Any] = rng.choice([
        lambda: columns["x"],
        lambda: pa.array(columns["x"], pa.string()).dictionary_encode(),
        lambda: [[v] for v in columns["x"]],
        lambda: [v.encode() for v in columns["x"]],
        lambda: pa.array([None] * len(table), pa.null()),
        lambda: pa.array(columns["x"], pa.large_string()),
        lambda: pa.array(columns["x"], pa.string_view()),
        lambda: pa.array([{"k": v} for v in columns["x"]], pa.struct([("k", pa.string())])),
        lambda: pa.array([float("nan")] * len(table)),
    ])  # fmt: skip
    columns["x"] = odd()
    columns["n"] = pa.array([int(v) for v in columns["n"]], rng.choice([pa.int64(), pa.float32(), pa.uint8()]))
    made = pa.table(columns)
    if rng.random() < 0.1:
        made = made.rename_columns(["x", "x", "n", "diary"])
    return made


def table_file(rng: random.Random, folder: Path) -> str:
    """Write a table in some format, mostly with one fault, and return its name."""
    kind = rng.choice(["csv", "csv", "csv", "tsv", "parquet", "arrow", "xlsx", "sav", "dta", "folder"])
    found = rows(rng)
    stream = io.BytesIO()
    if kind in ("csv", "tsv"):
        content = text(rng, found)
    elif kind in ("parquet", "folder"):
        pq.write_table(table_of(rng, found), stream, compression=rng.choice(["snappy", "zstd", "none"]))
        content = stream.getvalue()
    elif kind == "arrow":
        made = table_of(rng, found)
        with rng.choice([pa.ipc.new_file, pa.ipc.new_stream])(stream, made.schema) as sink:
            sink.write_table(made)
        content = stream.getvalue()
    else:
        content = _foreign(kind, found, folder)
    content = damaged(rng, content) if rng.random() < 0.6 else content
    if kind == "folder":
        (folder / "parts").mkdir(exist_ok=True)
        (folder / "parts" / "0.parquet").write_bytes(content)
        return "parts"
    name = f"t.{kind}" if rng.random() < 0.95 else rng.choice(["t.csv", "t.parquet", "t.docx", "t", "t\x1b[2J.csv"])
    (folder / name).write_bytes(content)
    return name


def _foreign(kind: str, found: list[dict[str, str]], folder: Path) -> bytes:
    import pandas as pd
    import pyreadstat
    import xlsxwriter

    path = folder / f"made.{kind}"
    if kind == "xlsx":
        book = xlsxwriter.Workbook(str(path))
        sheet = book.add_worksheet()
        for i, row in enumerate([dict(zip("xyn", "xyn", strict=True)) | {"diary": "diary"}, *found]):
            sheet.write_row(i, 0, list(row.values()))
        book.close()
    else:
        frame = pd.DataFrame(found, columns=["x", "y", "n", "diary"]).astype(object)
        {"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta}[kind](frame, str(path))
    content = path.read_bytes()
    path.unlink()
    return content


def damaged(rng: random.Random, content: bytes) -> bytes:
    """Return the bytes with one fault."""
    at = rng.randrange(len(content) + 1)
    end = min(len(content), at + rng.choice([1, 2, 8, 100]))
    piece = rng.choice([b'"', b",", b";", b"\n", b"\r", b"\0", b"\xff", b"\xe9", b"\x1b[2J", "\u202e".encode(),
                        b"=cmd()", b"'",
                        b'""', b'",', b"\xff\xff\xff\x7f", bytes(64), b"9" * 400])  # fmt: skip
    return rng.choice([
        lambda: content[:at] + piece + content[at:],
        lambda: content[:at] + piece + content[at:],
        lambda: content[:at] + content[end:],
        lambda: content[:at],
        lambda: content[:at] + bytes(rng.randrange(256) for _ in range(end - at)) + content[end:],
        lambda: content[:at] + piece * (1 + (end - at) // len(piece)) + content[end:],
        lambda: content + content[at:],
        lambda: b"",
    ])()  # fmt: skip


def channel_file(rng: random.Random, folder: Path) -> str:
    """Write a channel, mostly with one fault, and return its name."""
    suffix = rng.choice([".csv", ".csv", ".json", ".npy", ".npz", ".parquet", ".arrow"])
    path = folder / f"c{suffix}"
    dv.write_channel(COIN if suffix != ".npy" else dv.Channel(COIN.floats), path)
    if rng.random() < 0.3:
        return path.name
    if suffix == ".csv" and rng.random() < 0.6:
        path.write_text(path.read_text().replace("3/4", rng.choice(NUMBERS), 1))
    elif suffix == ".json" and rng.random() < 0.8:
        path.write_text(json.dumps(changed(rng, json.loads(path.read_text()))))
    elif suffix == ".npy" and rng.random() < 0.5:
        np.save(path, np.array(rng.choice([[[np.nan, 1]], [[2, -1]], 3, [], [["a", "b"]], [[1e308, 1]], [[1j, 0]]])))
    else:
        path.write_bytes(damaged(rng, path.read_bytes()))
    return path.name


def changed(rng: random.Random, document: Any) -> Any:
    """Return a JSON document with one of its parts replaced, left out, or put in twice."""
    if rng.random() < 0.02:
        return rng.choice(VALUES)
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        if not keys:
            return rng.choice(VALUES)
        key = rng.choice(keys)
        if isinstance(place[key], (dict, list)) and place[key] and rng.random() < 0.8:
            place = place[key]
            continue
        if isinstance(place, list) and rng.random() < 0.2:
            place.append(place[key])
        elif rng.random() < 0.2:
            del place[key]
        else:
            place[key] = rng.choice(VALUES)
        return document


def receipt_file(rng: random.Random, folder: Path) -> str:
    """Write a receipt with one part changed, mostly with a checksum that fits."""
    from divulge.releasing.records import receipt

    table = pa.table({"x": ["a", "b", "c", "a"], "y": ["a", "b", "c", "b"]})
    path = folder / "r.receipt.json"
    dv.release(table, column="x", mechanism=COIN).save(path)
    if rng.random() < 0.1:
        return path.name
    if rng.random() < 0.2:
        path.write_bytes(damaged(rng, path.read_bytes()))
        return path.name
    found = changed(rng, json.loads(path.read_bytes()))
    if isinstance(found, dict) and rng.random() < 0.9:
        found.pop("checksum", None)
        try:
            found["checksum"] = receipt._checksum(receipt._canonical(found))
        except (ValueError, TypeError):
            found["checksum"] = ""
    path.write_text(json.dumps(found))
    return path.name


def ledger_file(rng: random.Random, folder: Path) -> str:
    """Write a ledger with one cell changed, or with damaged bytes."""
    path = folder / "book.sqlite"
    table = pa.table({"x": ["a", "b", "c"]})
    dv.release(table, column="x", mechanism=COIN, ledger=path, source_name=str(folder / "t.csv"))
    if rng.random() < 0.4:
        path.write_bytes(damaged(rng, path.read_bytes()))
        return path.name
    database = sqlite3.connect(path)
    column = rng.choice([row[1] for row in database.execute("pragma table_info(divulge_releases)")])
    value = rng.choice(["", "x", "[]", "{}", "null", "[" * 5000, 2**62, -1, 0.5, b"\xff\x00", "\x1b[2J", "9" * 400])
    if column == "mechanisms" and rng.random() < 0.7:
        (written,) = database.execute("select mechanisms from divulge_releases").fetchone()
        value = json.dumps(changed(rng, json.loads(written)))
    try:
        database.execute(f"update divulge_releases set {column} = ?", [value])
        database.commit()
    except (sqlite3.Error, UnicodeError):
        pass
    finally:
        database.close()
    return path.name


_KINDS: dict[str, dict[str, Any]] = {
    "gaussian": {"sigma": 10, "sensitivity": 1},
    "laplace": {"scale": 10, "sensitivity": 1},
    "discrete-gaussian": {"sigma": 10, "sensitivity": 1},
    "discrete-laplace": {"scale": 10, "sensitivity": 1},
    "randomized-response": {"epsilon": 1, "n": 3},
    "exponential": {"epsilon": 1},
    "adp": {"epsilon": 1, "delta": 1e-6},
    "zcdp": {"rho": 0.1},
    "channel": {"file": "c.csv"},
}


def releases_file(rng: random.Random, folder: Path) -> str:
    """Write a list of releases with one part changed."""
    made: list[Any] = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(list(_KINDS))
        made.append({"mechanism": kind, **_KINDS[kind], "count": rng.choice([1, 2, 100])})
    content = json.dumps(changed(rng, made) if rng.random() < 0.8 else made)
    (folder / "l.json").write_text(content if rng.random() < 0.9 else content[: rng.randrange(len(content))])
    return "l.json"


def command_line(rng: random.Random, folder: Path) -> list[str]:
    """Write the files of a command line, and return it."""
    made: dict[str, str] = {}

    def file(what: Callable[[random.Random, Path], str]) -> str:
        return made.setdefault(what.__name__, what(rng, folder))

    def number() -> str:
        return rng.choice(NUMBERS) if rng.random() < 0.5 else rng.choice(["0.5", "1", "2"])

    def guarantee() -> str:
        kind = rng.choice(["ldp", "ldp", "pml", "pmc", "lip", "adp", "zcdp", "maximal-leakage", "lift", "alip", "xyz"])
        return f"{kind}={number()}" + (f":{number()}" if kind in ("adp", "alip") else "")

    def column() -> str:
        return "x" if rng.random() < 0.8 else rng.choice(["y", "n", "z", "X", "", "x\x1b[2J"])

    def good_channel() -> str:
        dv.write_channel(COIN, folder / "good.csv")
        return "good.csv"

    (folder / "prior.csv").write_text("a,1/3\nb,1/3\nc,1/3\n")
    prior = rng.choice(["uniform", "uniform", "prior.csv", "none.csv", "t.csv:x", "t.csv:q"])
    places = ("out.csv", "out.parquet", "out.arrow", "out.xlsx", "out", "/", ".", "", "none/out.csv", "out.docx",
              "out\udce9.csv", "good.csv", "book.sqlite", "t.csv", "loop")  # fmt: skip
    output = "out.csv" if rng.random() < 0.6 else rng.choice(places)
    if not (folder / "loop").is_symlink():
        (folder / "loop").symlink_to("loop")
    release = lambda: ["release", file(table_file), "--column", column(), "-o", output, "--only-column"]  # noqa: E731
    line = rng.choice([
        lambda: [*release(), "--mechanism", good_channel()],
        lambda: [*release(), "--mechanism", good_channel(), "--ledger",
                 rng.choice([file(ledger_file), output, "none/b.db"])],
        lambda: [*release(), "--mechanism", file(channel_file), "--time-limit", "2"],
        lambda: [*release(), "--mechanism", "randomized-response", "--epsilon", number()],
        lambda: [*release(), "--mechanism", good_channel(), "--guarantee", guarantee(), "--prior", prior],
        lambda: [*release(), "--mechanism", good_channel(), "--null-as", rng.choice("az"), "--budget", guarantee()],
        lambda: ["measure", "--data", file(table_file), "--secret", column(), "--released", column()],
        lambda: ["measure", file(channel_file), *rng.choice([[], ["--prior", prior]])],
        lambda: ["check", file(channel_file), "--guarantee", guarantee(), "--prior", prior],
        lambda: ["check", good_channel(), "--guarantee", guarantee(), "--prior", prior],
        lambda: ["convert", guarantee(), "--p-min", number()],
        lambda: ["attack", file(channel_file), "--prior", prior],
        lambda: ["compare", good_channel(), file(channel_file), "--prior", prior],
        lambda: ["account", file(releases_file), "--delta", number()],
        lambda: ["audit", "--data", file(table_file), "--secret", "x", "--released", column(), "--claim", guarantee()],
        lambda: ["audit", "--data", file(table_file), "--secret", "x", "--released", "y", "--receipt",
                 file(receipt_file)],
        lambda: ["estimate", file(table_file), "--receipt", file(receipt_file), "--column", column()],
        lambda: ["estimate", file(table_file), "--mechanism", file(channel_file), "--column", column()],
        lambda: ["report", "--receipt", file(receipt_file)],
        lambda: ["ledger", "show", "--ledger", file(ledger_file)],
        lambda: ["noise", rng.choice(["laplace", "gaussian", "zzz"]), "--scale", number(), "--secret",
                 f"bernoulli({number()})"],
        lambda: [rng.choice(["measure", "release", "zzz", "\x1b[2J", "--version", ""]),
                 rng.choice(["--zzz", "-", "", "--json"])],
    ])()  # fmt: skip
    if rng.random() < 0.15:
        line += rng.choice([["--json"], ["--unit", "bits"], ["--delimiter", rng.choice(";,x\0\t")], ["--decimal", ","],
                            ["--encoding", rng.choice(["latin-1", "utf-16", "base64", "zzz", "utf-8"])],
                            ["--sheet", "9"], ["--line-breaks"], ["--limit", f"rows={number()}"],
                            ["--force"]])  # fmt: skip
    return [part.replace("\0", "") for part in line]
