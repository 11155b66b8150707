"""What the command refuses, the function refuses: one message about the argument, whatever is given for it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import divulge as dv

COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"])
TABLE = pa.table({"x": ["a", "b", "a"], "n": [1, 2, 3]})
CELL = "Zq7SecretCell"

GIVEN: tuple[tuple[str, Any], ...] = (
    ("column", 3),
    ("column", []),
    ("column", ["x", "x"]),
    ("column", [3]),
    ("column", "z"),
    ("sink", 3),
    ("sink", "/"),
    ("sink", "a\0b.csv"),
    ("sink", b"o.csv"),
    ("ledger", 3),
    ("ledger", b"x"),
    ("receipt", 3),
    ("keep", 3),
    ("keep", [3]),
    ("keep", ["zz"]),
    ("released_as", 3),
    ("released_as", [3]),
    ("released_as", "n"),
    ("released_as", ""),
    ("time_limit", float("nan")),
    ("time_limit", -1),
    ("time_limit", "x"),
    ("unit", "zz"),
    ("progress", 3),
    ("warn", 3),
    ("mechanism", 3),
    ("mechanism", "nope"),
    ("guarantee", "ldp=nan"),
    ("guarantee", [3]),
    ("budget", "ldp=1"),
    ("language", "xx"),
    ("engine", "zz"),
    ("purpose", "zz"),
    ("outcomes", "zz"),
    ("prior", 3),
    ("prior", "lower=nan"),
    ("prior", "none.csv:x"),
    ("epsilon", float("nan")),
    ("ratio", "1/0"),
)


@pytest.mark.parametrize(("argument", "value"), GIVEN)
def test_release_refuses_what_no_argument_can_be(
    argument: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = {"column": "x", "mechanism": COIN, "sink": "out.csv", "source_name": "t"} | {argument: value}
    with pytest.raises(dv.DivulgeError) as caught:
        dv.release(TABLE, **asked)
    assert CELL not in str(caught.value)
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".sqlite"]


PATHS: tuple[Any, ...] = (
    "none.csv",
    "none.json",
    "folder",
    "pipe",
    "/dev/zero",
    "",
    "x\0y",
    "caf\udce9.csv",
    b"x",
    None,
    3,
    "/",
    "x" * 5000,
)
READERS: dict[str, Any] = {
    "open_table": dv.open_table,
    "read_channel": dv.read_channel,
    "read_prior": dv.read_prior,
    "Receipt.read": dv.Receipt.read,
    "statement": dv.statement,
    "contingency": lambda path: dv.contingency(path, "x"),
    "audit": lambda path: dv.audit(path, secret="x", released="y"),
    "estimate_frequencies": lambda path: dv.estimate_frequencies(path, COIN, column="x"),
    "release": lambda path: dv.release(path, column="x", mechanism=COIN),
    "publish": lambda path: dv.publish(path, dv.Count("x"), guarantee="dp=1", values={"x": ["a"]}),
    "read_joint": lambda path: dv.read_joint(path, "x", "y"),
}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: repr(path)[:12])
@pytest.mark.parametrize("reader", READERS)
def test_every_function_that_reads_refuses_what_is_no_file(
    reader: str, path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    os.mkfifo("pipe")
    with pytest.raises(dv.DivulgeError):
        READERS[reader](path)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: dv.release(t, column="x", mechanism=COIN),
        lambda t: dv.audit(t, secret="x", released="x", mechanism=COIN),
        lambda t: dv.estimate_frequencies(t, COIN, column="x"),
        lambda t: dv.publish(t, dv.Mean("x", "0", "1"), guarantee="dp=1"),
    ],
)
def test_no_message_shows_a_cell(call: Any) -> None:
    with pytest.raises(dv.DivulgeError) as caught:
        call(pa.table({"x": ["a", "b", CELL]}))
    assert CELL not in str(caught.value)


@pytest.mark.parametrize("kind", ["ldp", "pml", "pmc"])
def test_a_promise_of_anything_is_on_record_as_such(kind: str, tmp_path: Path) -> None:
    """An infinite level is asked for: the receipt has a word for it, and is read again."""
    prior = dv.Prior.uniform(["a", "b"])
    try:
        made = dv.release(TABLE, tmp_path / "o.csv", column="x", mechanism=COIN, guarantee=f"{kind}=inf", prior=prior)
    except dv.DivulgeError:
        return
    again = dv.Receipt.read(tmp_path / "o.receipt.json")
    assert again.guarantees == made.guarantees
    assert dv.statement(again).text() == dv.statement(made).text()
    assert "inf" in (tmp_path / "o.receipt.json").read_text()
