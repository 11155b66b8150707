"""Whatever a file holds, the answer is one message with its name and the place, exit 2, and never a traceback."""

import gzip
import io
import json
import pickle
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

RUBBISH = bytes(range(256)) * 4


def npy(array: object, *, pickled: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.asarray(array, dtype=object if pickled else None), allow_pickle=pickled)
    return stream.getvalue()


def npz(**arrays: object) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def table(columns: dict[str, list[object]], write: str = "parquet") -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    found = pa.table(columns)
    if write == "parquet":
        pq.write_table(found, stream)
    else:
        with pa.ipc.new_file(stream, found.schema) as sink:
            sink.write_table(found)
    return stream.getvalue()


def matrix(rows: object, **more: object) -> bytes:
    return json.dumps({"matrix": rows, **more}).encode()


def header(shape: str, kind: str = "<f8") -> bytes:
    """Return a .npy file of 16 bytes whose header says something."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}".encode()
    text += b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(16)


def archive(*parts: tuple[str, bytes]) -> bytes:
    """Return a zip archive."""
    stream = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(stream, "w") as made:
        for name, content in parts:
            made.writestr(name, content)
    return stream.getvalue()


# name -> (file name, content, words the message must hold)
CHANNELS: dict[str, tuple[str, bytes, str]] = {
    "a receipt": (
        "c.json",
        b'{"format": "divulge receipt 2", "mechanisms": []}',
        "`divulge report` tells what a receipt",
    ),
    "row off 1": ("c.csv", b"x,a,b\np,0.5,0.5\nq,0.5,0.4\n", "row 'q' sums to 0.9"),
    "negative": ("c.csv", b"x,a,b\np,1.5,-0.5\n", "row 'p', column 'b'"),
    "nan": ("c.csv", b"x,a,b\np,nan,1\n", "row 'p', column 'a' is nan"),
    "infinite": ("c.csv", b"x,a,b\np,inf,1\n", "is inf"),
    "overflowing": ("c.csv", b"x,a,b\np,1e999,1\n", "is inf"),
    "word": ("c.csv", b"x,a,b\np,half,0.5\n", "row 'p', column 'a' is text that is no number"),
    "boolean word": ("c.csv", b"x,a,b\np,True,False\n", "no number"),
    "division by zero": ("c.csv", b"x,a,b\np,1/0,1/2\n", "denominator 0"),
    "empty cell": ("c.csv", b"x,a,b\np,,1\n", "row 'p', column 'a'"),
    "ragged": ("c.csv", b"x,a,b\np,0.5,0.5\nq,1\n", "line 3"),
    "duplicate secret": ("c.csv", b"x,a,b\np,0.5,0.5\np,0.5,0.5\n", "'p'"),
    "duplicate outcome": ("c.csv", b"x,a,a\np,0.5,0.5\n", "'a'"),
    "empty": ("c.csv", b"", "empty"),
    "blank lines": ("c.csv", b"\n\n \n", "header"),
    "header alone": ("c.csv", b"x,a,b\n", "a line for each secret"),
    "one column": ("c.csv", b"x\np\n", "header"),
    "undecodable": ("c.csv", b"x,\xc3\xa9,b\np,\xff\xfe,1\n", "UTF-8"),
    "rubbish csv": ("c.csv", RUBBISH, "c.csv"),
    "nul bytes": ("c.csv", b"\x00" * 100, "c.csv"),
    "open quote": ("c.csv", b'x,a,b\np,"0.5,0.5\n', "c.csv"),
    "huge cell": ("c.csv", b"x,a\np," + b"1" * 200_000, "c.csv"),
    "long number": ("c.csv", b"x,a\np,1/" + b"9" * 5000, "5002 characters"),
    "empty json": ("c.json", b"", "empty"),
    "not json": ("c.json", b"{'matrix': 1}", "line 1, column 2"),
    "json list": ("c.json", b"[[1, 0], [0, 1]]", "a list"),
    "json text": ("c.json", b'"matrix"', "text"),
    "json null": ("c.json", b"null", "null"),
    "no matrix": ("c.json", b'{"secrets": ["a"]}', "secrets"),
    "flat matrix": ("c.json", matrix([0.5, 0.5]), "c.json"),
    "matrix of text": ("c.json", matrix("1/2"), "matrix"),
    "matrix of objects": ("c.json", matrix([[{}, {}]]), "row"),
    "json boolean": ("c.json", matrix([[True, False]]), "a boolean"),
    "json null entry": ("c.json", matrix([[None, 1.0]]), "missing"),
    "json ragged": ("c.json", matrix([[0.5, 0.5], [1.0]]), "row 1 is 1 long"),
    "json NaN": ("c.json", b'{"matrix": [[NaN, 1]]}', "NaN"),
    "json duplicate key": ("c.json", b'{"matrix": [[1]], "matrix": [[1]]}', "twice"),
    "json duplicate label": ("c.json", matrix([[1.0], [1.0]], secrets=["a", "a"]), "'a'"),
    "json few labels": ("c.json", matrix([[1.0], [1.0]], secrets=["a"]), "secrets"),
    "json labels object": ("c.json", matrix([[1.0]], secrets={"a": 1}), "an object"),
    "json unhashable label": ("c.json", matrix([[1.0]], secrets=[{"a": 1}]), "hashable"),
    "json deep": ("c.json", b'{"matrix": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep"),
    "json deep label": ("c.json", b'{"matrix": [[1]], "secrets": [' + b"[" * 800 + b"]" * 800 + b"]}", ""),
    "json huge integer": ("c.json", b'{"matrix": [[1' + b"0" * 100_000 + b"]]}", "characters"),
    "json huge exponent": ("c.json", b'{"matrix": [["1e999999999"]]}', "no number"),
    "json large exponent": ("c.json", b'{"matrix": [[1e999]]}', "inf"),
    "json undecodable": ("c.json", b'{"matrix": "\xff"}', "UTF-8"),
    "json surrogate": ("c.json", b'{"matrix": [["\\ud800"]]}', "c.json"),
    "rubbish json": ("c.json", RUBBISH, "c.json"),
    "empty matrix": ("c.json", matrix([]), "at least one"),
    "empty rows": ("c.json", matrix([[], []]), "at least one"),
    "rubbish npy": ("c.npy", RUBBISH, "c.npy"),
    "pickled npy": ("c.npy", npy([[0.5, 0.5]], pickled=True), "pickle"),
    "a pickle": ("c.npy", pickle.dumps([[0.5, 0.5]]), "pickle"),
    "cut npy": ("c.npy", npy([[0.5, 0.5]])[:-4], "c.npy"),
    "huge header npy": ("c.npy", npy([[0.5, 0.5]]).replace(b"(1, 2), }", b"(1, 2" + b"0" * 9 + b")}"), "c.npy"),
    "boolean npy": ("c.npy", npy([[True, False]]), "bool"),
    "complex npy": ("c.npy", npy([[1j, 1]]), "complex"),
    "vector npy": ("c.npy", npy([0.5, 0.5]), "2 axes"),
    "cube npy": ("c.npy", npy(np.ones((1, 1, 1))), "2 axes"),
    "scalar npy": ("c.npy", npy(1.0), "2 axes"),
    "date npy": ("c.npy", npy(np.array([["2020-01-01"]], dtype="M8[D]")), "datetime"),
    "rubbish npz": ("c.npz", RUBBISH, "c.npz"),
    "cut npz": ("c.npz", npz(matrix=[[1.0]])[:60], "c.npz"),
    "two arrays npz": ("c.npz", npz(a=[[1.0]], b=[[1.0]]), "called matrix"),
    "pickled npz": ("c.npz", npz(matrix=np.array([["x", 1]], dtype=object)), "pickle"),
    "sparse out of range": (
        "c.npz",
        npz(data=[1.0], indices=[7], indptr=[0, 1], shape=[1, 1], format=b"csc"),
        "c.npz",
    ),
    "sparse unknown": ("c.npz", npz(data=[1.0], indptr=[0, 1], shape=[1, 1], format=b"dia"), "layout"),
    "a shape that is a lie": ("c.npy", header("(100000, 100000)"), "at most 1,073,741,824 bytes; it has 80,000"),
    "cells of no bytes": ("c.npy", header("(100000000000, 2)", "<U0"), "at most 1,073,741,824 bytes"),
    "a negative shape": ("c.npy", header("(-1, 2)"), "c.npy"),
    "objects": ("c.npy", header("(1, 2)", "|O"), "pickle"),
    "bytes of no kind": ("c.npy", header("(1, 2)", "|V8"), "must hold numbers"),
    "a lie in an archive": ("c.npz", archive(("matrix.npy", header("(32000, 32000)"))), "it has 8,192,000,000"),
    "labels that are a lie": (
        "c.npz",
        archive(("matrix.npy", npy([[0.5, 0.5]])), ("secrets.npy", header("(1000000000,)", "<U100"))),
        "at most 1,073,741,824 bytes",
    ),
    "an array twice": (
        "c.npz",
        archive(("matrix.npy", npy([[0.5, 0.5]])), ("matrix.npy", npy([[0.2, 0.8]]))),
        "once",
    ),
    "no array": ("c.npz", archive(("matrix.npy", b"hello")), "c.npz"),
    "compressed csv": ("c.csv", gzip.compress(b"secret,a,b\np,1/2,1/2\n"), "gzip"),
    "json and more": ("c.json", matrix([[1.0]]) + b" x", "line 1, column"),
    "json and zeros": ("c.json", matrix([[1.0]]) + bytes(2), "line 1, column"),
    "no columns parquet": ("c.parquet", table({}), "0 column"),
    "no columns arrow": ("c.arrow", table({}, "arrow"), "0 column"),
    "rubbish parquet": ("c.parquet", RUBBISH, "c.parquet"),
    "cut parquet": ("c.parquet", table({"x": ["p"], "a": [1.0]})[:50], "c.parquet"),
    "null parquet": ("c.parquet", table({"x": ["p"], "a": [None]}), "missing"),
    "null float parquet": ("c.parquet", table({"x": ["p", "q"], "a": [1.0, None]}), "row 'q'"),
    "null label parquet": ("c.parquet", table({"x": ["p", None], "a": [1.0, 1.0]}), "row 1"),
    "boolean parquet": ("c.parquet", table({"x": ["p"], "a": [True]}), "boolean"),
    "one column parquet": ("c.parquet", table({"x": ["p"]}), "1 column"),
    "no rows parquet": ("c.parquet", table({"x": [], "a": []}), "0 row"),
    "list parquet": ("c.parquet", table({"x": ["p"], "a": [[1.0]]}), "a list"),
    "rubbish arrow": ("c.arrow", RUBBISH, "c.arrow"),
    "cut arrow": ("c.arrow", table({"x": ["p"], "a": [1.0]}, "arrow")[:100], "c.arrow"),
    "unknown suffix": ("c.xlsx", RUBBISH, ".csv"),
    "no suffix": ("channel", b"x,a\np,1\n", ".csv"),
}

PRIORS: dict[str, tuple[str, bytes | None, str]] = {
    "off 1": ("p.csv", b"x,p\np,0.5\nq,0.4\n", "0.9"),
    "three columns": ("p.csv", b"x,p,n\np,0.5,1\nq,0.5,1\n", "two columns"),
    "other secrets": ("p.csv", b"x,p\np,0.5\nz,0.5\n", "'q'"),
    "too few": ("p.csv", b"x,p\np,1\n", "as many labels"),
    "duplicate": ("p.csv", b"x,p\np,0.5\np,0.5\n", "'p'"),
    "list": ("p.json", b"[0.5, 0.5]", "a list"),
    "nested": ("p.json", b'{"p": [0.5], "q": 0.5}', "p.json"),
    "negative": ("p.json", b'{"p": -1, "q": 2}', "-1"),
    "empty object": ("p.json", b"{}", "at least one"),
    "archive": ("p.npz", npz(matrix=[1.0]), "archive"),
    "deep": ("p.json", b'{"p": ' + b"[" * 100_000, "deep"),
    "nan": ("p.csv", b"x,p\np,nan\nq,1\n", "is nan"),
    "infinite": ("p.csv", b"x,p\np,inf\nq,1\n", "is inf"),
    "word": ("p.csv", b"x,p\np,half\nq,0.5\n", "no number"),
    "boolean word": ("p.csv", b"x,p\np,True\nq,False\n", "no number"),
    "division by zero": ("p.csv", b"x,p\np,1/0\nq,1\n", "denominator 0"),
    "ragged": ("p.csv", b"x,p\np,0.5\nq\n", "line 3"),
    "empty": ("p.csv", b"", "empty"),
    "header alone": ("p.csv", b"x,p\n", "p.csv"),
    "undecodable": ("p.csv", b"x,\xc3\xa9\np,\xff\nq,1\n", "UTF-8"),
    "rubbish csv": ("p.csv", RUBBISH, "p.csv"),
    "long number": ("p.csv", b"x,p\np,1/" + b"9" * 5000 + b"\nq,0\n", "5002 characters"),
    "not json": ("p.json", b"{'p': 1}", "line 1, column 2"),
    "json null": ("p.json", b"null", "null"),
    "json boolean": ("p.json", b'{"p": true, "q": false}', "boolean"),
    "json NaN": ("p.json", b'{"p": NaN, "q": 1}', "NaN"),
    "json duplicate key": ("p.json", b'{"p": 0.5, "p": 0.5}', "twice"),
    "json huge integer": ("p.json", b'{"p": 1' + b"0" * 100_000 + b', "q": 0}', "characters"),
    "rubbish json": ("p.json", RUBBISH, "p.json"),
    "rubbish npy": ("p.npy", RUBBISH, "p.npy"),
    "pickled npy": ("p.npy", npy([0.5, 0.5], pickled=True), "pickle"),
    "a pickle": ("p.npy", pickle.dumps([0.5, 0.5]), "pickle"),
    "matrix npy": ("p.npy", npy(np.eye(2)), "axes"),
    "boolean npy": ("p.npy", npy([True, False]), "bool"),
    "rubbish parquet": ("p.parquet", RUBBISH, "p.parquet"),
    "null parquet": ("p.parquet", table({"x": ["p", "q"], "p": [1.0, None]}), "p.parquet"),
    "rubbish arrow": ("p.arrow", RUBBISH, "p.arrow"),
    "unknown suffix": ("p.xlsx", RUBBISH, ".csv"),
    "missing column": ("p.parquet:none", None, "'none'"),
    "other values": ("p.parquet:x", None, "secrets of the channel"),
    "missing table": ("none.parquet:x", None, "no such file"),
    "missing file": ("none.csv", None, "no such file"),
}


def assert_refused(arguments: list[str], name: str, words: str, content: bytes | None = None) -> None:
    result = CliRunner().invoke(app, arguments, input=content)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert name in result.stderr
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert len(result.stderr) < 1000


@pytest.mark.parametrize("case", CHANNELS)
def test_a_bad_channel_is_refused(case: str, tmp_path: Path) -> None:
    name, content, words = CHANNELS[case]
    path = tmp_path / name
    path.write_bytes(content)
    assert_refused(["measure", str(path)], name, words)
    with pytest.raises(dv.DivulgeError):
        dv.read_channel(path)


@pytest.mark.parametrize("case", [case for case in CHANNELS if CHANNELS[case][0] in ("c.csv", "c.json")])
def test_the_same_on_standard_input(case: str) -> None:
    assert_refused(["measure", "-"], "standard input", "", CHANNELS[case][1])


@pytest.mark.parametrize("case", PRIORS)
def test_a_bad_prior_is_refused(case: str, tmp_path: Path) -> None:
    name, content, words = PRIORS[case]
    channel = tmp_path / "c.csv"
    channel.write_text("x,a,b\np,0.5,0.5\nq,0.25,0.75\n")
    (tmp_path / "p.parquet").write_bytes(table({"x": ["other", "p"], "n": [1, 2]}))
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert_refused(["measure", str(channel), "--prior", str(tmp_path / name)], name.partition(":")[0], words)
    with pytest.raises(dv.DivulgeError):
        dv.Joint(dv.read_prior(str(tmp_path / name)), dv.read_channel(channel))


TABLES: dict[str, tuple[str, bytes, str]] = {
    "no such column": ("t.csv", b"a,b\n1,2\n", "'secret'"),
    "twice": ("t.csv", b"secret,released,released\n1,2,3\n", "two columns"),
    "missing cell": ("t.csv", b"secret,released\n1,2\n,3\n", "'secret' lacks one in 1 row"),
    "no rows": ("t.csv", b"secret,released\n", "no rows"),
    "empty": ("t.csv", b"", "empty"),
    "undecodable": ("t.csv", b"secret,released,\xc3\xa9\n\xff,1,2\n", "UTF-8"),
    "parquet without the column": ("t.parquet", table({"secret": [1]}), "'released'"),
    "parquet with a null": ("t.parquet", table({"secret": [1, None], "released": [1, 2]}), "missing"),
    "parquet with NaN": ("t.parquet", table({"secret": [1.0, float("nan")], "released": [1, 2]}), "missing"),
    "parquet of lists": ("t.parquet", table({"secret": [[1]], "released": [1]}), "t.parquet"),
    "parquet without rows": ("t.parquet", table({"secret": [], "released": []}), "no rows"),
    "rubbish parquet": ("t.parquet", RUBBISH, "t.parquet"),
    "json": ("t.json", b"{}", ".csv"),
    "ragged": ("t.csv", b"secret,released\n1,2\n3\n", "line 3"),
    "rubbish csv": ("t.csv", RUBBISH, "t.csv"),
    "cut parquet": ("t.parquet", table({"secret": [1], "released": [1]})[:40], "t.parquet"),
    "rubbish arrow": ("t.arrow", RUBBISH, "t.arrow"),
    "unknown suffix": ("t.xlsx", RUBBISH, "t.xlsx"),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_bad_table_is_refused(case: str, tmp_path: Path) -> None:
    name, content, words = TABLES[case]
    (tmp_path / name).write_bytes(content)
    arguments = ["measure", "--data", str(tmp_path / name), "--secret", "secret", "--released", "released"]
    assert_refused(arguments, name, words)
    with pytest.raises(dv.DivulgeError):
        dv.read_joint(tmp_path / name, "secret", "released")


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: None], ids=["a folder", "a missing file"])
@pytest.mark.parametrize("suffix", [".csv", ".json", ".npy", ".npz", ".parquet", ".arrow"])
def test_a_path_without_a_file_is_refused(make: Callable[[Path], None], suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"c{suffix}"
    make(path)
    words = "folder" if path.exists() else "no such file"
    assert_refused(["measure", str(path)], path.name, words)
    (tmp_path / "good.json").write_bytes(matrix([[1.0]]))
    assert_refused(["measure", str(tmp_path / "good.json"), "--prior", str(path)], path.name, words)
    if suffix in (".csv", ".parquet", ".arrow"):
        assert_refused(["measure", "--data", str(path), "--secret", "a", "--released", "b"], path.name, words)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["c.csv", "--data", "t.csv"],
        ["c.csv", "--secret", "a"],
        ["--data", "t.csv"],
        ["--data", "t.csv", "--secret", "a"],
        ["c.csv", "--unit", "furlongs"],
        ["c.csv", "d.csv"],
    ],
)
def test_options_that_do_not_fit_are_refused(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, ["measure", *arguments])
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("path", [None, 3, b"c.csv", "", [], 1.5])
def test_what_is_no_path_is_refused(path: object) -> None:
    for read in (dv.read_channel, dv.read_prior, lambda p: dv.read_joint(p, "a", "b")):
        with pytest.raises(dv.DivulgeError):
            read(path)
    with pytest.raises(dv.DivulgeError):
        dv.write_channel(dv.Channel([["1/2", "1/2"]]), path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["measure", "channel.csv", "--prior", "people.csv:name"],
        ["measure", "--data", "people.csv", "--secret", "name", "--released", "answer"],
        ["check", "channel.csv", "--prior", "people.csv:name", "--guarantee", "pml=1"],
        ["compare", "channel.csv", "channel.csv", "--prior", "people.csv:name"],
        ["attack", "channel.csv", "--prior", "people.csv:name"],
        ["noise", "laplace", "--scale", "1", "--secret", "people.csv:name"],
        ["audit", "--data", "people.csv", "--secret", "name", "--released", "answer", "--mechanism", "channel.csv"],
        ["release", "people.csv", "--column", "name", "--mechanism", "channel.csv", "-o", "out.csv", "--no-ledger"],
        ["estimate", "people.csv", "--column", "name", "--mechanism", "channel.csv"],
    ],
    ids=lambda arguments: f"{arguments[0]} {arguments[1]}",
)
def test_a_message_about_a_table_shows_no_cell(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("name,answer\nZaphod,yes\nTricia,no\nTricia,\n")
    Path("channel.csv").write_text("secret,yes,no\nTricia,1/2,1/2\nArthur,1/4,3/4\n")
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2, result.output
    assert "Zaphod" not in result.output
    assert "error: " in result.stderr


@pytest.mark.parametrize("option", ["--transition", "--release", "--initial"])
def test_a_list_of_rows_is_refused_with_what_to_write(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.json").write_text("[[0.9, 0.1], [0.1, 0.9]]")
    Path("c.json").write_bytes(matrix([[0.9, 0.1], [0.1, 0.9]]))
    files = {"--transition": "c.json", "--release": "c.json", "--initial": "uniform"} | {option: "rows.json"}
    result = CliRunner().invoke(app, ["chain", *(word for pair in files.items() for word in pair), "--steps", "3"])
    assert result.exit_code == 2
    assert "rows.json: must be an object" in result.stderr
    assert "Hint: write {" in result.stderr
