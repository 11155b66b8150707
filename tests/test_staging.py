"""A hidden folder that somebody sent, such as a killed run leaves: what its journal says moves and removes nothing."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from divulge import staging

NAME = ".divulge-0123456789abcdef.partial"
PLAIN: dict[str, Any] = {"name": "none", "ours": None, "old": {}, "last": "none", "end": None, "then": ""}


@pytest.fixture
def beside(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that holds what was sent, and wait for no pipe."""

    def late(*_: Any) -> None:
        raise AssertionError("a pipe is waited for")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    (tmp_path / "kept.txt").write_text("kept")
    folder = tmp_path / "work"
    (folder / NAME).mkdir(parents=True)
    (folder / "table.csv").write_text("x\na\n")
    yield folder
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def all_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# one that says what a journal of ours says is believed: it knows what file the name is, which nobody can send
JOURNALS: dict[str, Any] = {
    "no name at all": PLAIN | {"name": "table\0.csv"},
    "an end without a name": PLAIN | {"last": "x\0", "end": [1, 1]},
    "the folder above": PLAIN | {"name": "..", "ours": "above"},
    "the folder itself": PLAIN | {"name": ".", "ours": "here"},
    "a file elsewhere": PLAIN | {"name": "../kept.txt", "ours": "kept"},
    "something old that goes elsewhere": PLAIN | {"old": {"planted": "../planted"}},
    "something old from elsewhere": PLAIN | {"old": {"../../kept.txt": "here.txt"}},
    "infinite": PLAIN | {"ours": [float("inf"), 1]},
    "a list": [],
    "deep": "[" * 100_000,
    "not text": b"\xff\xfe\0",
    "a link": PLAIN | {"name": "table.csv", "ours": "table"},
    "a pipe": None,
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a pipe")
@pytest.mark.parametrize("kind", JOURNALS)
def test_a_journal_that_somebody_sent_changes_nothing(kind: str, beside: Path) -> None:
    before, journal, found = all_files(beside.parent), beside / NAME / "journal.json", JOURNALS[kind]
    (beside / NAME / "planted").write_text("planted")
    if kind == "a pipe":
        os.mkfifo(journal)
    elif isinstance(found, (str, bytes)):
        journal.write_bytes(found if isinstance(found, bytes) else found.encode())
    else:
        places = {"above": beside.parent, "here": beside, "kept": beside.parent / "kept.txt",
                  "table": beside / "table.csv"}  # fmt: skip
        if isinstance(found, dict) and found["ours"] in list(places):
            status = places[found["ours"]].stat()
            found = found | {"ours": [status.st_dev, status.st_ino]}
        journal.write_text(json.dumps(found))
    if kind == "a link":
        before["journal"] = journal.rename(beside.parent / "journal").read_bytes()
        journal.symlink_to(beside.parent / "journal")
    staging.recover(beside)
    assert all_files(beside.parent) == before
    assert not (beside / NAME).exists()
