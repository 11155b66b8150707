"""Files under way, and names that appear together or not at all, whatever ends the process.

What is written lies in a hidden folder beside the place that it goes to, locked while its process lives. Names are
given one after the other under a journal in these folders: what a process that was killed has half done is taken back
by the next one that writes there, as a database with a rollback journal does it.
"""

import contextlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Generator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from divulge import children

_NAME = re.compile(r"\.divulge-[0-9a-f]{16}\.partial")
_JOURNAL = "journal.json"
_LONGEST = 1 << 20
"""Bytes of a journal that are read: two paths and two names, with room; what is longer is cut, and is none."""

_ITSELF = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
"""Open a name without waiting for a pipe and without following a link, where the system can."""

_ATTEMPTS = 3
"""So often a journal that does not answer for a moment is asked."""

Identity = tuple[int, int]
"""Device and inode: what a file is, whatever it is called."""

Happened = Callable[[str], bool | None]
"""Says whether what comes after the last name was done, by the text that a journal has of it; None: it cannot know."""


@dataclass(frozen=True)
class Then:
    """What is done after the last name is given, such as the last step of a database; a journal has `text` of it."""

    do: Callable[[], object] = lambda: None
    text: str = ""


NOTHING = Then()
"""Nothing comes after the last name."""


@contextlib.contextmanager
def under_way(final: Path) -> Generator[Path]:
    """Give the path of a file or folder that is to become `final`; what is still there at the end is removed."""
    with children.held_folder(lambda: final.with_name(f".divulge-{secrets.token_hex(8)}.partial"), settle) as folder:
        yield folder / f"new{final.suffix}"


def recover(parent: Path, happened: Happened = lambda text: None) -> list[str]:
    """Take back what killed processes of this user have half done in a folder, and remove what they left there.

    Return the names of the folders that stay, as nobody knows whether what comes after their last name was done.
    """
    waiting = list[str]()
    for folder in children.abandoned(parent, _NAME.fullmatch):
        settle(folder, happened)
        if _Journal.waits(folder):
            waiting.append(folder.name)
    return waiting


def settle(folder: Path, happened: Happened = lambda text: None) -> bool:
    """Take back what is half done by the journal of a folder, and remove the folder; say whether all was done.

    A folder whose journal cannot be followed stays for the next process, and so does one of which nobody knows whether
    all is done.
    """
    complete: bool | None = False
    for _ in range(_ATTEMPTS):
        with contextlib.suppress(OSError):
            journal = _Journal.of(folder)
            if journal is not None and not complete and journal.is_complete(folder.parent):
                complete = happened(journal.then) if journal.then else True
            if complete is None:
                break
            if journal is not None and not complete:
                journal.take_back(folder)
            children.clear(folder)
            break
    return complete is True


@dataclass(frozen=True)
class _Journal:
    """What is to become of the file of one folder. It speaks of names beside the folder alone: one that somebody sent
    moves nothing elsewhere.

    name, ours : the name that is given, and what gets it
    old : name of what lies in the folder -> the name beside it that it had
    last, end : path of what gets its name last, and what it is
    then : what comes after it, or nothing
    """

    name: str
    ours: Identity | None
    old: Mapping[str, str]
    last: str
    end: Identity | None
    then: str = ""

    @classmethod
    def of(cls, folder: Path) -> "_Journal | None":
        """Read the journal of a folder; None where no name was given yet."""
        try:
            found = json.loads(_content(folder / _JOURNAL))
            made = cls(
                str(found["name"]), _read(found["ours"]), dict(found["old"]), str(found["last"]), _read(found["end"]),
                str(found["then"]),
            )  # fmt: skip
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):  # it was being written, or is not ours
            return None
        names = (made.name, *made.old, *made.old.values())
        return made if all(map(_is_beside, names)) and "\0" not in made.last else None

    @classmethod
    def waits(cls, folder: Path) -> bool:
        """Say whether the last name of a folder's journal is given, and something comes after it."""
        with contextlib.suppress(OSError):
            found = cls.of(folder)
            return found is not None and bool(found.then) and found.is_complete(folder.parent)
        return False

    def is_complete(self, parent: Path) -> bool:
        """Say whether the last name is given."""
        return self.end is not None and _identity(parent / self.last) == self.end

    def take_back(self, folder: Path) -> None:
        """Let the names be as they were before."""
        parent = folder.parent
        if self.ours is not None and _identity(parent / self.name) == self.ours:
            remove(parent / self.name)
        for old, name in self.old.items():
            if os.path.lexists(folder / old) and not os.path.lexists(parent / name):
                os.replace(folder / old, parent / name)


def _content(path: Path) -> bytes:
    """Return what a journal holds; a pipe, a device and a link, which we make none of, are never read."""
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise ValueError
    with open(os.open(path, os.O_RDONLY | _ITSELF), "rb") as stream:
        return stream.read(_LONGEST)


def _is_beside(name: str) -> bool:
    """Say whether a name is that of a file beside the folder, not a way to somewhere else."""
    return Path(name).name == name and name != os.pardir and "\0" not in name


def _read(identity: Any) -> Identity | None:
    """Return an identity as a journal holds it."""
    if identity is None:
        return None
    device, inode = map(int, identity)
    return device, inode


@dataclass(frozen=True)
class Naming:
    """Names that are being given: the journal of each folder, of what gets its name last first."""

    journals: Mapping[Path, _Journal]

    @classmethod
    def of(cls, staged: Mapping[Path, Path], replaced: Mapping[Path, Path], then: str = "") -> "Naming":
        """Write the journals, before the first name is given.

        `staged` is final name -> path under way, each in a folder of its own: all is done when the last one has its
        name. `replaced` is final name -> where what is there goes, in the folder of a path under way. `then`
        is what comes after the last name.
        """
        *_, last = staged
        journals: dict[Path, _Journal] = {}
        for final, path in reversed([*staged.items()]):
            old = {place.name: name.name for name, place in replaced.items() if place.parent == path.parent}
            found = _Journal(
                final.name, _identity(path), old, os.path.relpath(last, final.parent), _identity(staged[last]),
                then,
            )  # fmt: skip
            with (path.parent / _JOURNAL).open("x") as stream:
                json.dump(asdict(found), stream)
                stream.flush()
                os.fsync(stream.fileno())
            journals[path.parent] = found
        return cls(journals)

    def end(self) -> None:
        """Take the journals away: all names are given."""
        for folder in self.journals:
            with contextlib.suppress(OSError):  # the journal of what is complete takes nothing back
                (folder / _JOURNAL).unlink()

    def undone(self) -> bool:
        """Let all be as it was before, and say so; where the last name cannot be taken back, all of them stay."""
        for folder, journal in self.journals.items():
            with contextlib.suppress(OSError):  # then the next process does it
                journal.take_back(folder)
            if journal.is_complete(folder.parent):
                return False
        return True


def _identity(path: Path) -> Identity | None:
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
