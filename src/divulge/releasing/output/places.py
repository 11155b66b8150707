"""Where a table and its papers go, and how all of them appear together or not at all."""

import os
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from divulge import staging, stopping
from divulge.errors import DivulgeError
from divulge.files.opening import PathLike, keep_apart, name_of
from divulge.late import late
from divulge.releasing.output import sinks
from divulge.releasing.output.signature import private_key, signed
from divulge.releasing.records.ledger import files_of
from divulge.releasing.session import is_address, placed, table_of

RECEIPT = "receipt.json"

PAPERS = ("codebook.json", "codebook.md", "statement.html", "statement.txt", RECEIPT, "keeper.json")
"""What is written beside a table, after its name."""


@dataclass(frozen=True)
class Places:
    """Where the table goes, and the papers beside it, each called after the table.

    table : nothing is written without one, but for a receipt that was asked for
    receipt : where the receipt goes, if not beside the table
    papers : names of the papers, such as "receipt.json"
    """

    table: Path | None
    receipt: Path | None
    papers: Sequence[str]
    key: Any = None
    """The private key that papers in JSON are signed with."""
    left_out: list[str] = field(default_factory=list[str])
    """The papers that were not written, as others could have read them."""
    after: Any = None
    """What papers are called after where they stand beside no file."""

    @classmethod
    def of(
        cls, sink: Any, receipt: Any, papers: Sequence[str], *, read: Mapping[str, Any], ledger: Any, force: bool,
        sign: Any = None, address: str | None = None, form: str | None = None, frame: Any = None, after: Any = None,
    ) -> "Places":  # fmt: skip
        """Return the places; refuse what is taken, what is read, here or at an address, and two that are one.

        Of a table of a catalog there are its format, as it was asked for, and the DataFrame that is released. `after`
        is what the papers are called after where no file goes out.
        """
        asked = {"read": read, "ledger": ledger, "sign": sign, "address": address}
        if (table := table_of(sink)) is not None:
            return late("divulge.releasing.output.catalog:tabled")(table, form, papers, receipt, frame, force, **asked)
        if form is not None:
            raise DivulgeError.of("table_format", "go with an output table:NAME", "sink", "absent" if sink is None else
                                  "a path or an address")  # fmt: skip
        key, receipt = None if sign is None else private_key(sign), placed(receipt)
        if is_address(sink := placed(sink)) or is_address(receipt):
            keep_apart({"ledger": [str(path) for path in files_of(ledger)]}, {**read, "sign": sign})
            source = address or read.get("source") or []
            sources = source if isinstance(source, list) else [source]
            return late("divulge.releasing.output.hadoop:remote")(sink, papers, receipt, key, sources, force, after)
        final = None if sink is None else sinks.place(sink)
        found = cls(final, None if receipt is None else sinks.place(receipt, "receipt"), papers, key, after=after)
        named = {f"the {name}": found.paper(name) for name in papers if found.beside_what and name != RECEIPT}
        own = {"receipt": found.paper(RECEIPT) if found.beside_what else found.receipt}
        keep_apart({"sink": final, **own, **named, "ledger": [str(path) for path in files_of(ledger)]},
                   {**read, "sign": sign})  # fmt: skip
        for folder in {path.parent for path in found.all()}:
            staging.recover(folder)
        for path in found.all():
            if not path.parent.is_dir():
                folder = name_of(path.parent)
                raise DivulgeError(f"{name_of(path)}: must be in a folder that exists; there is no {folder!r}.")
            sinks.refuse_taken(path, force, folder=path == final and not path.suffix)
        if final is not None:
            sinks.writer_for(final)
        return found

    @property
    def beside_what(self) -> Any:
        """What the papers stand beside, and are called after; None where none are written."""
        return self.table or self.after

    @property
    def output(self) -> str | None:
        """What the receipt calls the table."""
        return None if self.table is None else self.table.name

    @property
    def table_format(self) -> str | None:
        """What the receipt calls the format of a table in a catalog; None of a file."""
        return None

    def all(self) -> list[Path]:
        """Return every path that will be written."""
        papers = [self.paper(name) for name in self.papers] if self.beside_what else []
        return list(dict.fromkeys(path for path in (self.table, self.receipt, *papers) if path is not None))

    def paper(self, name: str) -> Path:
        """Return where a paper goes: beside the table, after its name."""
        if name == RECEIPT and self.receipt is not None:
            return self.receipt
        if self.table is None:
            return self.after.with_name(f"{self.after.name}.{name}")
        return self.table.with_name(f"{self.table.stem}.{name}")

    def called(self) -> list[Any]:
        """Return what papers of an output of this name are called where nothing else is asked for."""
        return [replace(self, receipt=None).paper(name) for name in PAPERS]

    def signed(self, name: str, content: bytes) -> bytes:
        """Return what a paper holds: in JSON with a signature, where there is a key."""
        return signed(content, self.key) if self.key is not None and name.endswith(".json") else content

    def staged(self, by_workers: bool = False) -> AbstractContextManager[Path]:
        """Give the path of what is to become the table."""
        assert self.table is not None
        return sinks.staged(self.table)

    def has(self, name: str) -> bool:
        """Say whether a paper is there."""
        return self.paper(name).is_file()

    def room(self) -> AbstractContextManager[Any]:
        """Make the room in which papers are written before they have names; here each paper has one of its own."""
        return nullcontext()

    def staged_papers(self, stack: ExitStack, contents: Mapping[str, bytes]) -> dict[Path, Path]:
        """Return where papers go and temporary files with what they hold, which `stack` takes away."""
        return {
            self.paper(name): stack.enter_context(self.written(name, content)) for name, content in contents.items()
        }

    def appear(
        self, staged: Mapping[Path, Path], temporary: Path | None, force: bool, then: staging.Then = staging.NOTHING
    ) -> None:
        """Give the papers and then the table their names, and do what comes `then`.

        When one fails, all is as it was before.
        """
        table = {} if self.table is None or temporary is None else {self.table: temporary}
        publish_together({**staged, **table}, force, then, self.called())

    def written(self, name: str, content: bytes) -> AbstractContextManager[Path]:
        """Give a temporary file with the content of a paper."""
        return written(self.paper(name), name, self.signed(name, content))

    def publish(
        self, table: Any, tell: Callable[[str], tuple[Any, Mapping[str, bytes]]], entry: Any, *, force: bool
    ) -> Any:
        """Write a table and its papers, all together or none, mark the entry of the ledger, and return what it records.

        `tell` makes of the digest of the table what the entry records, and the papers: {name: content}.
        """
        assert self.table is not None
        with ExitStack() as stack:
            temporary = stack.enter_context(self.staged())
            writer = sinks.writer_for(self.table)(temporary, table.schema)
            try:
                for batch in table.to_batches():
                    writer.write(batch)
            finally:
                writer.close()
            done, papers = tell(sinks.digest(temporary))
            staged = self.staged_papers(stack, papers)
            with stopping.held():
                entry.publishing()
                self.appear(staged, temporary, force)
                entry.published(done)
        return done


@contextmanager
def written(final: Path, name: str, content: bytes) -> Generator[Path]:
    """Give a temporary file with this content; what is for the keeper is readable by nobody else from the start."""
    with sinks.staged(final) as temporary:
        mode = 0o600 if name.startswith("keeper") else 0o666
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
        yield temporary


def publish_together(
    staged: Mapping[Path, Path], force: bool, then: staging.Then = staging.NOTHING, called: Sequence[Path] = ()
) -> None:
    """Give everything {final: temporary} its final name, in this order; when one fails, all is as it was before.

    The last one is the table. The table that it replaces is taken away first, and so are papers that have no successor:
    whatever ends the process, no table ever stands beside papers that speak of another, and what is half done is taken
    back by the next process that writes there. What comes `then` fails with all of them.
    """
    with stopping.held():
        stopping.tell("publishing")
        _publish_together(staged, force, then, called)
        stopping.ALREADY[:] = [stopping.PUBLISHED]
        stopping.tell("published")


def _publish_together(staged: Mapping[Path, Path], force: bool, then: staging.Then, called: Sequence[Path]) -> None:
    *papers, table = staged
    replaced = _replaced(staged, called) if force else {}
    naming = staging.Naming.of(staged, replaced, then.text)
    try:
        for final, old in replaced.items():
            if final in papers:
                _link(final, old)
            else:
                final.rename(old)
        for final in papers:
            sinks.publish(staged[final], final, force)
        for folder in dict.fromkeys(final.parent for final in papers):
            sinks.flush_names(folder)
        sinks.publish(staged[table], table, force)
        sinks.flush_names(table.parent)
        then.do()
    except BaseException:
        if naming.undone():
            raise
    naming.end()


def _replaced(staged: Mapping[Path, Path], called: Sequence[Path]) -> dict[Path, Path]:
    """Return what is to be replaced, the table first, and what goes with it, each with the place that it goes to."""
    *_, table = staged
    found: dict[Path, Path] = {}
    beside = called or [table.with_name(f"{table.stem}.{name}") for name in PAPERS]
    for i, final in enumerate(dict.fromkeys([table, *staged, *beside])):
        if os.path.lexists(final):
            sinks.refuse_taken(final, True, folder=final == table and staged[final].is_dir())
            found[final] = staged.get(final, staged[table]).with_name(f"old{i}")
    return found


def _link(source: PathLike, target: PathLike) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)
