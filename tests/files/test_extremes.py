"""Tables that are wide, cells that are long, ends that are missing: linear time, and one message."""

from pathlib import Path

import pandas as pd
import pyreadstat
import pytest

import divulge as dv
from divulge.errors import did_you_mean
from divulge.files.foreign.transport import whole
from divulge.files.opening import columns_exist


def transport(folder: Path, rows: int, version: int = 5) -> Path:
    path = folder / "t.xpt"
    frame = pd.DataFrame({"x": ["a", "b"] * rows, "n": [1.0, 2.0] * rows})
    pyreadstat.write_xport(frame, str(path), file_format_version=version)
    return path


@pytest.mark.parametrize("version", [5, 8])
def test_a_transport_file_that_is_cut_or_lengthened_is_refused(version: int, tmp_path: Path) -> None:
    """At half, nine tenths, and 99 of 100 records; a cut where a row and a record end too cannot be told from none."""
    path = transport(tmp_path, 1000, version)
    content = path.read_bytes()
    assert whole(str(path))
    records = len(content) // 80
    for kept in (records // 2, records * 9 // 10, records * 99 // 100, records - 1):
        path.write_bytes(content[: kept * 80])
        assert not whole(str(path)), kept
    for other in (content[:-1], content[:700], content + b"x" * 80, content + content[-80:], content * 2, b"x" * 800):
        path.write_bytes(other)
        assert not whole(str(path))


def test_what_a_transport_file_does_not_say_is_told(tmp_path: Path) -> None:
    path = transport(tmp_path, 10)
    with pytest.warns(UserWarning, match="does not say how many rows it has"):
        assert dv.open_table(path).rows == 20
    path.write_bytes(path.read_bytes() + b"hidden  " * 10)
    with pytest.raises(dv.InputFileError, match="must end where its rows end"):
        dv.open_table(path)


def test_nothing_stands_behind_the_end_of_a_file_of_stata(tmp_path: Path) -> None:
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(pd.DataFrame({"x": ["a", "b"]}), str(path))
    path.write_bytes(path.read_bytes() + b"hidden")
    with pytest.raises(dv.InputFileError):
        dv.open_table(path)


def test_too_many_columns_are_refused_before_they_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(100_001)) + "\n")
    with pytest.raises(dv.InputFileError, match="at most 100,000 columns; it has 100,001"):
        dv.open_table(path)
    path.write_text("a,b,c\n1,2,3\n")
    with pytest.raises(dv.InputFileError, match="at most 2 columns; it has 3"):
        dv.open_table(path, limit="columns=2")


def test_names_of_columns_are_found_in_linear_time() -> None:
    """By the number of comparisons of names: a few for each, not one with each other."""
    compared = 0

    class Name(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    columns_exist([Name(f"c{i}") for i in range(2000)], [Name(f"c{i}") for i in range(2000)])
    assert compared < 20 * 2000


def test_a_name_that_is_longer_than_a_cell_may_be_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x," + "y" * 140_000 + "\na,1\n")
    with pytest.raises(dv.InputFileError, match="cells of at most 131,072 characters; a name in line 1 is longer"):
        dv.open_table(path)
    path.write_text("x,y\n" + "a" * 140_000 + ",1\na,b,c\n")
    with pytest.raises(dv.InputFileError, match="line 2 must have cells of at most 131,072 characters"):
        list(dv.open_table(path).batches())


def test_no_name_is_offered_in_its_own_place() -> None:
    assert did_you_mean("t.csv", ["t.csv"]) == ""
    assert did_you_mean("t.csv", ["t.csv", "T.csv"]) == " Did you mean 'T.csv'?"
