"""Where a table and its papers go, and how all of them appear together or not at all."""

import os
import secrets
import shutil
from collections.abc import Generator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge import stopping
from divulge.errors import DivulgeError
from divulge.files.opening import PathLike, keep_apart, name_of
from divulge.releasing.output import sinks
from divulge.releasing.records.ledger import files_of
from divulge.releasing.records.signature import private_key, signed

RECEIPT = "receipt.json"

PAPERS = ("codebook.json", "codebook.md", "statement.html", "statement.txt", RECEIPT, "keeper.json")
"""What is written beside a table, after its name; published statistics have no codebook."""


@dataclass(frozen=True)
class Places:
    """Where the table goes, and the papers beside it, each called after the table.

    Attributes
    ----------
    table : Path or None
        Nothing is written without one, but for a receipt that was asked for.
    receipt : Path or None
        Where the receipt goes, if not beside the table.
    papers : names of the papers, such as "receipt.json"
    """

    table: Path | None
    receipt: Path | None
    papers: Sequence[str]
    key: Any = None
    """The private key that papers in JSON are signed with."""

    @classmethod
    def of(
        cls, sink: Any, receipt: Any, papers: Sequence[str], *, read: Mapping[str, Any], ledger: Any, force: bool,
        sign: Any = None,
    ) -> "Places":  # fmt: skip
        """Return the places; refuse what is taken, what is read, and two that are one."""
        final = None if sink is None else sinks.place(sink)
        key = None if sign is None else private_key(sign)
        found = cls(final, None if receipt is None else sinks.place(receipt, "receipt"), papers, key)
        named = {f"the {name}": found.paper(name) for name in papers if final is not None and name != RECEIPT}
        asked = {"receipt": found.paper(RECEIPT) if final is not None else found.receipt}
        keep_apart({"sink": final, **asked, **named, "ledger": [str(path) for path in files_of(ledger)]},
                   {**read, "sign": sign})  # fmt: skip
        for path in found.all():
            if not path.parent.is_dir():
                folder = name_of(path.parent)
                raise DivulgeError(f"{name_of(path)}: must be in a folder that exists; there is no {folder!r}.")
            sinks.refuse_taken(path, force, folder=path == final and not path.suffix)
        if final is not None:
            sinks.writer_for(final)
        return found

    def all(self) -> list[Path]:
        """Return every path that will be written."""
        papers = [] if self.table is None else [self.paper(name) for name in self.papers]
        return list(dict.fromkeys(path for path in (self.table, self.receipt, *papers) if path is not None))

    def paper(self, name: str) -> Path:
        """Return where a paper goes: beside the table, after its name."""
        if name == RECEIPT and self.receipt is not None:
            return self.receipt
        assert self.table is not None
        return self.table.with_name(f"{self.table.stem}.{name}")

    def signed(self, name: str, content: bytes) -> bytes:
        """Return what a paper holds: in JSON with a signature, where there is a key."""
        return signed(content, self.key) if self.key is not None and name.endswith(".json") else content

    def written(self, name: str, content: bytes) -> AbstractContextManager[Path]:
        """Give a temporary file with the content of a paper."""
        return written(self.paper(name), name, self.signed(name, content))


@contextmanager
def written(final: Path, name: str, content: bytes) -> Generator[Path]:
    """Give a temporary file with this content; what is for the keeper is readable by nobody else from the start."""
    with sinks.staged(final) as temporary:
        mode = 0o600 if name.startswith("keeper") else 0o666
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
        yield temporary


def publish_together(staged: Mapping[Path, Path], force: bool) -> None:
    """Give everything {final: temporary} its final name, in this order; when one fails, all is as it was before.

    The last one is the table. The table that it replaces is taken away first, and so are papers that have no successor:
    whatever ends the process, no table ever stands beside papers that speak of another.
    """
    with stopping.held():
        stopping.tell("publishing")
        _publish_together(staged, force)
        stopping.ALREADY[:] = [stopping.PUBLISHED]
        stopping.tell("published")


def _publish_together(staged: Mapping[Path, Path], force: bool) -> None:
    *_, table = staged
    before = dict[Path, Path]()
    ours = {final: _identity(temporary) for final, temporary in staged.items()}
    papers = [table.with_name(f"{table.stem}.{name}") for name in PAPERS]
    try:
        for final in [table, *staged, *(path for path in papers if path not in staged)] if force else []:
            if final not in before and os.path.lexists(final):
                sinks.refuse_taken(final, force, folder=final == table and staged[final].is_dir())
                before[final] = final.with_name(f".{secrets.token_hex(8)}.partial")
                if final in staged and final != table:
                    _link(final, before[final])
                else:
                    final.rename(before[final])
        for final, temporary in staged.items():
            sinks.publish(temporary, final, force)
    except BaseException:
        for final, identity in ours.items():
            if _identity(final) == identity:  # also where it got its name, and what came after failed
                sinks.remove(final)
        for final, old in before.items():
            if os.path.lexists(old):
                os.replace(old, final)
        raise
    finally:
        for old in before.values():
            sinks.remove(old)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what a file is, whatever it is called; None where there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _link(source: PathLike, target: PathLike) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
