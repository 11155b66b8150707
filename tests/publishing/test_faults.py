"""Whatever goes wrong: nothing under the final names, a consistent ledger, a budget that two cannot both spend."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import copies
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import divulge as dv
from divulge import children

NAMES = {
    "out.csv",
    "out.receipt.json",
    "out.codebook.json",
    "out.codebook.md",
    "out.keeper.json",
    "out.statement.html",
    "out.statement.txt",
}

SCRIPT = """
import resource, sys
import divulge as dv
print("ready", flush=True)
if len(sys.argv) > 4:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
try:
    dv.publish(sys.argv[1], dv.Count("x", "y"), sys.argv[2], guarantee="dp=1", ledger=sys.argv[3], budget="dp=1.5",
               values={"x": [f"x{i}" for i in range(200)], "y": [f"y{i}" for i in range(200)]})
except dv.DivulgeError as error:
    print(error, flush=True)
    sys.exit(2)
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("source") / "source.parquet"
    rng = np.random.default_rng(0)
    columns = {c: [f"{c}{i}" for i in rng.integers(0, 200, 50_000)] for c in "xy"}
    pq.write_table(pa.table(columns), path)
    return path


def started(source: Path, folder: Path, *more: str) -> subprocess.Popen[str]:
    program = copies.script(SCRIPT, source, folder / "out.csv", folder / "ledger.sqlite", *more)
    process = copies.started(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def written(folder: Path) -> set[str]:
    return {name for name in os.listdir(folder) if ".partial" not in name and "ledger" not in name}


@pytest.mark.parametrize("delay", [pytest.param(0.05, marks=pytest.mark.long), 0.4])
def test_killed_at_any_moment(delay: float, source: Path, tmp_path: Path) -> None:
    process = started(source, tmp_path)
    time.sleep(delay)
    process.kill()
    process.communicate()
    children.remove_abandoned()  # as the next run does
    if (tmp_path / "out.csv").exists():
        assert written(tmp_path) == NAMES
        assert dv.results.Published.read(tmp_path / "out.receipt.json").describes(tmp_path / "out.csv")
    entries = dv.Ledger(tmp_path / "ledger.sqlite").entries()
    assert len(entries) == 1 or not written(tmp_path)


def test_interrupted(source: Path, tmp_path: Path) -> None:
    process = started(source, tmp_path)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert written(tmp_path) in (set(), NAMES)
    assert not [name for name in os.listdir(tmp_path) if ".partial" in name]


def test_a_full_disk(source: Path, tmp_path: Path) -> None:
    dv.Ledger(tmp_path / "ledger.sqlite")
    process = started(source, tmp_path, "200000")
    out, err = process.communicate(timeout=300)
    assert process.returncode == 2, err
    assert "cannot be written" in out
    assert written(tmp_path) == set()
    assert dv.Ledger(tmp_path / "ledger.sqlite").entries() == []


@pytest.mark.long
def test_two_racers_cannot_both_spend(source: Path, tmp_path: Path) -> None:
    dv.Ledger(tmp_path / "ledger.sqlite")
    folders = [tmp_path / name for name in ("a", "b")]
    racers = []
    for folder in folders:
        folder.mkdir()
        command = [sys.executable, "-c", SCRIPT, str(source), str(folder / "out.csv"), str(tmp_path / "ledger.sqlite")]
        racers.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))
    said = [racer.communicate(timeout=300)[0] for racer in racers]
    assert sorted(racer.returncode for racer in racers) == [0, 2], said
    assert sum((folder / "out.csv").exists() for folder in folders) == 1
    assert sum("budget" in text for text in said) == 1
    assert len(dv.Ledger(tmp_path / "ledger.sqlite").entries()) == 1


def test_a_retry_after_a_refusal_costs_nothing(source: Path, tmp_path: Path) -> None:
    book, how = tmp_path / "ledger.sqlite", {"guarantee": "dp=1", "budget": "dp=1.5"}
    for _ in range(3):
        with pytest.raises(dv.DivulgeError, match="values-from-data"):
            dv.publish(source, dv.Count("x"), tmp_path / "out.csv", ledger=book, **how)
    assert dv.Ledger(book).entries() == []
    dv.publish(source, dv.Count("x"), tmp_path / "out.csv", values_from_data=True, ledger=book, **how)
    with pytest.raises(dv.DivulgeError, match="budget"):
        dv.publish(source, dv.Count("x"), tmp_path / "more.csv", values_from_data=True, ledger=book, **how)
    assert not (tmp_path / "more.csv").exists()


def test_a_publish_that_fails_never_counts_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    how: dict[str, Any] = {"guarantee": "dp=1", "values": {"a": ["x", "y"]}, "per_row": True}
    how |= {"ledger": tmp_path / "l.sqlite", "source_name": "t"}
    people, said = pa.table({"a": ["x", "y"] * 20}), list[str]()
    dv.publish(people, [dv.Count("a")], tmp_path / "1.csv", **how)

    def failing(*_: Any) -> Any:
        raise OSError("the disk is full")

    with monkeypatch.context() as change:
        change.setattr(sys.modules["divulge.publishing.publish"], "carried_out", failing)
        with pytest.raises(OSError, match="full"):
            dv.publish(people, [dv.Count("a")], tmp_path / "2.csv", warn=said.append, **how)
    assert said
    assert not any("this one included" in sentence for sentence in said)
    dv.publish(people, [dv.Count("a")], tmp_path / "2.csv", warn=said.append, **how)
    assert any("2 releases" in sentence and "this one included" in sentence for sentence in said)
