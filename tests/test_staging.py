"""A hidden folder that somebody sent, such as a killed run leaves: what its journal says moves and removes nothing."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from divulge import staging, stopping
from divulge.releasing.output import places

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


class Killed(BaseException):
    """The process ends here, and cleans nothing up."""


@pytest.mark.parametrize("happened", [None, True, False])
def test_what_comes_after_the_last_name_says_whether_all_is_done(
    happened: bool | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process is killed in between: names stay, are taken back, or wait for somebody who can tell."""
    names = ["a.json", "b.json"]
    for name in names:
        (tmp_path / name).write_text("old")

    def ended() -> None:
        raise Killed

    with monkeypatch.context() as patch, ExitStack() as stack:
        patch.setattr(staging.Naming, "undone", lambda self: True)
        patch.setattr(staging, "settle", lambda folder: False)
        staged = {tmp_path / name: stack.enter_context(staging.under_way(tmp_path / name)) for name in names}
        for path in staged.values():
            path.write_text("new")
        stack.enter_context(pytest.raises(Killed))
        places.publish_together(staged, True, staging.Then(ended, "step 7"))

    def there() -> set[str]:
        return {(tmp_path / name).read_text() for name in names}

    assert there() == {"new"}
    waiting = {path.name for path in tmp_path.glob(".*")}
    assert len(waiting) == 2
    assert set(staging.recover(tmp_path)) == waiting  # somebody else, who knows of no step
    assert there() == {"new"}
    asked: list[str] = []
    left = staging.recover(tmp_path, lambda text: asked.append(text) or happened)
    assert set(asked) == {"step 7"}
    assert there() == {"old" if happened is False else "new"}
    assert set(left) == {path.name for path in tmp_path.glob(".*")} == (waiting if happened is None else set())
    stopping.ALREADY.clear()
