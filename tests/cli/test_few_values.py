"""Tables with no rows, one row, one value, or a column that is missing: what commands say of them is true."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app

LINES: dict[str, str] = {
    "release": "release t.parquet --column x -o o.csv --mechanism c.csv --only-column --force --no-ledger",
    "release, designed": "release t.parquet --column x -o o.csv --guarantee ldp=1 --only-column --force --no-ledger",
    "preview": "release t.parquet --column x --guarantee ldp=1 --preview",
    "count": "publish t.parquet --guarantee dp=1 --count x --values-from-data -o p.csv --force --no-ledger",
    "mean": "publish t.parquet --guarantee dp=1 --mean n:0:90 -o p.csv --force --no-ledger",
    "measure": "measure --data t.parquet --secret x --released y",
    "audit": "audit --data t.parquet --secret x --released y --claim ldp=1",
    "report": "report --data t.parquet --secret x --released y",
    "design": "design --prior t.parquet:x --guarantee ldp=1",
    "attack": "attack c.csv --prior t.parquet:x",
    "estimate": "estimate t.parquet --mechanism c.csv --column x",
    "noise": "noise laplace --scale 1 --secret t.parquet:n",
}

TEXT = pa.string()
NAMES, ANSWERS, NUMBERS = pa.array(["a", "b"] * 10), pa.array(["u", "v"] * 10), pa.array(range(20))
TABLES: dict[str, tuple[pa.Array, pa.Array, pa.Array]] = {
    "no rows": (pa.array([], TEXT), pa.array([], TEXT), pa.array([], pa.int64())),
    "x missing": (pa.array([None] * 20, TEXT), ANSWERS, NUMBERS),
    "x of no type": (pa.nulls(20), ANSWERS, NUMBERS),
    "x no number": (pa.array([float("nan")] * 20), ANSWERS, NUMBERS),
    "x missing once": (pa.array(["a"] * 19 + [None]), ANSWERS, NUMBERS),
    "y missing": (NAMES, pa.array([None] * 20, TEXT), NUMBERS),
    "n missing": (NAMES, ANSWERS, pa.array([None] * 20, pa.int64())),
    "one row": (pa.array(["a"]), pa.array(["u"]), pa.array([1])),
    "one value": (pa.array(["a"] * 20), pa.array(["u"] * 20), pa.array([1] * 20)),
}

OF_X = set(LINES) - {"mean", "noise"}
OF_BOTH = {"measure", "audit", "report"}
EMPTY = ("is empty", "has no rows")
MISSING = ("must have no missing value", "missing value unless it is a category", "must have a value in every row",
           "must hold a number in every row", "must hold a whole number in every row")  # fmt: skip
SAME = ("is the same in every row",)

REFUSED: dict[str, tuple[set[str], tuple[str, ...], str]] = {
    "no rows": (set(LINES), EMPTY, ""),
    "x missing": (OF_X - {"count"}, MISSING, "20"),
    "x of no type": (OF_X - {"count"}, MISSING, "20"),
    "x no number": (OF_X - {"count"}, MISSING, "20"),
    "x missing once": (OF_X - {"count"}, MISSING, "1"),
    "y missing": (OF_BOTH, MISSING, "20"),
    "n missing": ({"noise"}, MISSING, "20"),
    "one row": ({"release, designed", "preview"}, SAME, ""),
    "one value": ({"release, designed", "preview"}, SAME, ""),
}
"""Table -> the lines that refuse it, what one of them says, and the number that is in it.

Statistics have a cell for missing values: whether they are published must not depend on a row.
"""


@pytest.mark.parametrize("what", TABLES)
@pytest.mark.thin
def test_what_is_said_of_a_table_with_few_values_is_true(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dv.write_channel(dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"]), "c.csv")
    pq.write_table(pa.table(dict(zip("xyn", TABLES[what], strict=True))), "t.parquet")
    refused, words, number = REFUSED[what]
    for name, line in LINES.items():
        done = CliRunner().invoke(app, line.split())
        assert (done.exit_code == 2) == (name in refused), (name, done.output)
        if name in refused:
            assert done.stderr.count("error: ") == 1, (name, done.stderr)
            assert any(word in done.stderr for word in words), (name, done.stderr)
            assert number in done.stderr, (name, done.stderr)
            assert ("empty" in done.stderr or "no rows" in done.stderr) == (what == "no rows"), (name, done.stderr)


def test_one_of_something_and_a_missing_value_are_told_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    town = ["Jena", None] * 20
    pq.write_table(
        pa.table({"town": town, "ill": [*["yes", "no"] * 19, "yes", "yes"], "same": ["x"] * 40}), "t.parquet"
    )

    def said(line: str) -> str:
        done = CliRunner().invoke(app, line.split())
        return " ".join((done.stdout + done.stderr).split())

    text = said("assess t.parquet --known town,same --secret ill --columns")
    assert "in the group town missing, same x" in text
    assert "somebody who knows 'town' and 'same' of one person" in text
    assert "same 1 1 0 0 0 0 " in text  # a column of one value adds nothing, and no rounding of sums
    assert "1 of 4 pairs of values never occurs" in said(
        "measure --data t.parquet --secret ill --released town --null-as m"
    )
    both = [said(f"generalize t.parquet --known town --secret ill --guarantee {asked} --per-row --no-ledger")
            for asked in ("k=5", "k=21", "k=21 --guarantee distinct-l=2")]  # fmt: skip
    assert "no node fails" in both[0]
    assert "1 node fails, and so does all below" in both[1]
    assert all(" 1 nodes" not in text and "None" not in text for text in both)
    assert "somebody who knows 'town' of one person" in both[0]
