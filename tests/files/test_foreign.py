"""Files of Stata, SPSS and SAS that are cut short, or say other sizes than they have: each is refused at once."""

import gzip
import struct
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

import divulge as dv
from divulge import children
from divulge.files.foreign import apart
from divulge.files.settings import Limits, using

DAMAGED = "cannot be read: it is damaged, cut short, or something else than its name says."


@cache
def made(kind: str) -> bytes:
    """Return a file of twenty rows: a text of one letter, and a number, which has labels in SPSS and Stata."""
    import tempfile

    if kind == "sas7bdat":  # the sample of pyreadstat, of five rows
        return gzip.decompress(Path(__file__).with_name("sample.sas7bdat.gz").read_bytes())
    frame = pd.DataFrame({"x": ["a", "b"] * 10, "n": [1.0, 2.0] * 10})
    labels: dict[str, Any] = {"variable_value_labels": {"n": {1: "one", 2: "two"}}}
    write, more = {
        "sav": (pyreadstat.write_sav, labels), "zsav": (pyreadstat.write_sav, labels | {"compress": True}),
        "por": (pyreadstat.write_por, {}), "dta": (pyreadstat.write_dta, labels),
        "xpt": (pyreadstat.write_xport, {}),
    }[kind]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t.{kind}"
        write(frame, str(path), **more)
        return path.read_bytes()


def put(content: bytes, at: int, shape: str, value: int) -> bytes:
    """Return the file with a number in another's place."""
    changed = bytearray(content)
    struct.pack_into(shape, changed, at, value)
    return bytes(changed)


def after(kind: str, mark: bytes) -> int:
    """Return where a part of a file begins."""
    return made(kind).index(mark) + len(mark)


def read(kind: str, content: bytes, folder: Path) -> Any:
    """Return the number of rows, or the message, as the process of its own does that reads such files."""
    path = folder / f"t.{kind}"
    path.write_bytes(content)
    try:
        return apart._statistics({"path": str(path), "suffix": f".{kind}", "encoding": None}, Limits()).num_rows
    except dv.DivulgeError as error:
        return str(error)


def opened(kind: str, content: bytes, folder: Path, **how: Any) -> Any:
    """Return the same of the whole way, with that process and its limits."""
    path = folder / f"t.{kind}"
    path.write_bytes(content)
    with using(tell=lambda remark: None):
        try:
            return dv.open_table(path, **how).rows
        except dv.InputFileError as error:
            return str(error)


KINDS = ("sav", "zsav", "por", "dta", "xpt", "sas7bdat")


@pytest.mark.thin
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_cut_short_is_refused(kind: str, tmp_path: Path) -> None:
    content = made(kind)
    assert read(kind, content, tmp_path) == (5 if kind == "sas7bdat" else 20)
    assert opened(kind, b"", tmp_path) == f"t.{kind}: is empty."
    assert opened(kind, content[: len(content) // 2], tmp_path) == f"t.{kind}: {DAMAGED}"
    for size in (1, 60, 200, len(content) // 3):
        assert read(kind, content[:size], tmp_path) == DAMAGED


_SAS_ROWS = 130264 + 48
"""Where the sample of SAS has the number of rows, in a subheader."""

# kind, where, how wide, what stands there, what is said
LIES: dict[str, tuple[str, Any, str, int, str]] = {
    "no rows": ("sav", 80, "<i", 0, "must hold as many rows as it says; it says 0, and holds 20: it is damaged."),
    "fewer rows": ("sav", 80, "<i", 5, "must hold as many rows as it says; it says 5, and holds 20: it is damaged."),
    "more rows": ("zsav", 80, "<i", 21, "must hold as many rows as it says; it says 21, and holds 20: it is damaged."),
    "rows beyond limits": ("sav", 80, "<i", 10**8, "it must have at most 20,000,000 cells; it has 200,000,000."),
    "a text without end": ("sav", 180, "<i", 2**31 - 1, DAMAGED),
    "missing values": ("sav", 188, "<i", 2**31 - 1, DAMAGED),
    "rows of Stata": ("dta", lambda: after("dta", b"<N>"), "<Q", 5, DAMAGED),
    "rows of Stata without end": ("dta", lambda: after("dta", b"<N>"), "<Q", 2**62, DAMAGED),
    "a type of Stata": ("dta", lambda: after("dta", b"<variable_types>"), "<H", 2045, DAMAGED),
    "a place of Stata": ("dta", lambda: after("dta", b"<map>") + 72, "<Q", 2**62, DAMAGED),
    "a place of a label": ("dta", lambda: after("dta", b"<lbl>") + 4 + 129 + 3 + 8, "<I", 2**31 - 1, DAMAGED),
    "length of labels": ("dta", lambda: after("dta", b"<lbl>"), "<I", 2**31 - 1, DAMAGED),
    "labels of SPSS": ("sav", lambda: made("sav").index(struct.pack("<i", 3), 176) + 4, "<i", 2**31 - 1, DAMAGED),
    "pages of SAS": ("sas7bdat", 200, "<I", 2**31 - 1, DAMAGED),
    "the size of a page of SAS": ("sas7bdat", 204, "<I", 2**31 - 1, DAMAGED),
    **{
        f"{rows:,} rows of SAS": ("sas7bdat", _SAS_ROWS, "<Q", rows, said)
        for rows, said in {
            **{
                n: f"must hold as many rows as it says; it says {n:,}, and holds 5: it is damaged."
                for n in (0, 4, 6, 999)
            },
            2**63: "must hold as many rows as it says; it says 0, and holds 5: it is damaged.",
            10**6: DAMAGED,
            2**31: DAMAGED,
            2**64 - 1: DAMAGED,
            10**8: "it must have at most 20,000,000 cells; it has 700,000,000.",
            2**31 - 1: "it must have at most 1,000,000,000 rows; it has 2,147,483,647.",
        }.items()
    },
    "a block of zsav": ("zsav", lambda: len(made("zsav")) - 16, "<q", 2**40, DAMAGED),
}


@pytest.mark.parametrize("what", LIES)
def test_a_size_that_lies_is_refused(what: str, tmp_path: Path) -> None:
    kind, place, shape, value, said = LIES[what]
    found = read(kind, put(made(kind), place() if callable(place) else place, shape, value), tmp_path)
    assert str(found).startswith(said), found


@pytest.mark.parametrize("rows", [0, 3, 5, 6, 1000])
def test_compressed_rows_of_sas_are_counted(rows: int, tmp_path: Path) -> None:
    """Another sample of pyreadstat, of five rows."""
    content = gzip.decompress(Path(__file__).with_name("compressed.sas7bdat.gz").read_bytes())
    found = read("sas7bdat", put(content, content.index(b"\xf7" * 4) + 48, "<Q", rows), tmp_path)
    assert found == 5 if rows == 5 else "it is damaged" in found


@pytest.mark.parametrize("place", [130264 + 40, 130264 + 120, 65536 + 32, 65536 + 34, 65536 + 36])
@pytest.mark.parametrize("number", [0, 1, 255, 2**16 - 1])
def test_a_number_of_sas_that_lies_invents_no_rows(place: int, number: int, tmp_path: Path) -> None:
    """The length of rows, rows of a page, and of a page its type, blocks and subheaders."""
    found = read("sas7bdat", put(made("sas7bdat"), place, "<H", number), tmp_path)
    assert found == 5 or "damaged" in str(found), found


@pytest.mark.usefixtures("started_readers")
def test_what_asks_for_all_memory_gets_two_gibibytes(tmp_path: Path) -> None:
    """A text of 255 letters where the file has one, after which labels begin elsewhere; two billion columns."""
    assert str(opened("sav", put(made("sav"), 180, "<i", 255), tmp_path)).startswith("t.sav: cannot be read: it is dam")
    wide = put(made("dta"), after("dta", b"<K>"), "<I", 2**31 - 1)
    assert str(opened("dta", wide, tmp_path)).startswith("t.dta: cannot be read: it is dam")


def test_how_many_rows_there_are_may_be_left_open(tmp_path: Path) -> None:
    assert read("sav", put(made("sav"), 80, "<i", -1), tmp_path) == 20


def test_what_is_packed_is_measured(tmp_path: Path) -> None:
    """300,000 rows in a few kilobytes; the number of rows may be left open."""
    path = tmp_path / "t.zsav"
    pyreadstat.write_sav(pd.DataFrame({"n": [1.0] * 300_000}), str(path), compress=True)
    packed = path.read_bytes()
    assert len(packed) < 20_000
    for content in (packed, put(packed, 80, "<i", -1)):
        said = opened("zsav", content, tmp_path, limit="cells=1e5")
        assert said.startswith("t.zsav: it must have at most 100,000 cells; it has 300,000. Hint: --limit cells=N")


@pytest.mark.usefixtures("started_readers")
def test_a_reader_that_ends_takes_nothing_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a fault of a library in C: no message of it, and another signal than any of ours."""
    faulty = tmp_path / "pyreadstat.py"
    faulty.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    command = children.command

    def faulty_command(module: str) -> list[str]:
        *line, code = command(module)
        return [*line, f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"]

    monkeypatch.setattr(children, "command", faulty_command)
    assert str(opened("sav", made("sav"), tmp_path)).startswith("t.sav: cannot be read: it is damaged, or takes more")
