"""One archive holds all that is for everybody, to the byte, and nothing of what is the keeper's."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

TABLE = pa.table({"x": ["a", "b"] * 20, "n": list(range(40))})


def held(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_release_in_one_file(tmp_path: Path) -> None:
    done = dv.release(TABLE, tmp_path / "o.csv", column="x", guarantee="ldp=1", archive=tmp_path / "o.zip")
    ends = ("codebook.json", "codebook.md", "statement.html", "statement.txt", "receipt.json")
    files = [tmp_path / "o.csv", *(tmp_path / f"o.{end}" for end in ends)]
    assert held(tmp_path / "o.zip") == {file.name: file.read_bytes() for file in files}
    assert (tmp_path / "o.keeper.json").is_file()
    assert done.papers["archive"] == tmp_path / "o.zip"
    folder = dv.release(TABLE, tmp_path / "p", column="x", guarantee="ldp=1", archive=tmp_path / "p.zip")
    inside = held(tmp_path / "p.zip")
    assert any(name.startswith("p/") and name.endswith(".parquet") for name in inside)
    assert not any("keeper" in name for name in inside)
    assert folder.rows == 40


def test_statistics_in_one_file_by_the_command(tmp_path: Path) -> None:
    csv.write_csv(TABLE, tmp_path / "t.csv")
    (tmp_path / "v.json").write_text(json.dumps({"x": ["a", "b"]}))
    line = ["publish", str(tmp_path / "t.csv"), "--count", "x", "--values", str(tmp_path / "v.json"), "--guarantee",
            "dp=1", "-o", str(tmp_path / "s.csv"), "--archive", str(tmp_path / "s.zip"), "--no-ledger"]  # fmt: skip
    assert CliRunner().invoke(app, line).exit_code == 0
    assert set(held(tmp_path / "s.zip")) == {
        "s.csv", "s.receipt.json", "s.statement.html", "s.statement.txt", "s.codebook.json", "s.codebook.md"
    }  # fmt: skip
    again = CliRunner().invoke(app, line)
    assert again.exit_code == 2


@pytest.mark.parametrize("how", [{"archive": "o.tar"}, {"archive": "o.zip", "sink": None}, {"archive": "no/o.zip"}])
def test_an_archive_that_cannot_be_is_refused_before_anything_is_drawn(how: dict[str, Any], tmp_path: Path) -> None:
    given = {"sink": tmp_path / "o.csv"} | how | {"archive": tmp_path / how["archive"]}
    with pytest.raises(dv.DivulgeError):
        dv.release(TABLE, column="x", guarantee="ldp=1", **given)
    assert not list(tmp_path.iterdir())
