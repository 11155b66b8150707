"""A table and its papers at an address of Hadoop's file systems: whole under their names or not at all (extra: spark).

Everything is written into a folder beside its place first, and then renamed. That is one step where a folder has a
name of its own, as in HDFS. An object store copies file after file: there a reader may meet a part of a table.
"""

import os
import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from divulge import children, stopping
from divulge.errors import DivulgeError, printable
from divulge.extras import require
from divulge.files.opening import files_below
from divulge.files.settings import current
from divulge.releasing.output.places import PAPERS, Places
from divulge.releasing.output.sinks import part_of_a_table
from divulge.releasing.session import Address, active, address_of, path_at, refuse_absent

_IN_ONE_STEP = ("file", "hdfs", "ofs", "viewfs")
"""Schemes of file systems that rename a folder in one step."""

_FOR_THE_OWNER = 0o600
"""Permissions of a file that its owner alone reads and writes."""


@contextmanager
def writing(name: str) -> Generator[None]:
    """Turn what Hadoop raises into an error that names what was to be written and nothing else."""
    errors, bridge = require("pyspark.errors", "spark"), require("py4j.protocol", "spark")
    try:
        yield
    except (errors.PySparkException, bridge.Py4JError) as error:
        stopping.look()
        refuse_absent(name, error)
        raise DivulgeError(
            f"{printable(name)}: cannot be written at this address ({type(error).__name__}). Nothing was published. "
            "Hint: look whether the folder is there and may be written with what the session knows of it."
        ) from error


@dataclass(frozen=True)
class Files:
    """The files at an address, as the running session of Spark reaches them."""

    java: Any
    system: Any

    @classmethod
    def of(cls, place: Address) -> "Files":
        """Return the files of the file system of an address."""
        session = active()
        if getattr(session, "_jvm", None) is None:
            raise DivulgeError.of("sink", "be a folder that all workers share, where the session is on another machine",
                                  "it", "an address")  # fmt: skip
        java = session._jvm.org.apache.hadoop
        with writing(place.name):
            return cls(java, java.fs.Path(str(place)).getFileSystem(session._jsc.hadoopConfiguration()))

    def path(self, place: Address | Path) -> Any:
        """Return an address as Java has it."""
        if isinstance(place, Path):
            return self.java.fs.Path(f"file://{place}")
        return self.java.fs.Path(str(place) if path_at(str(place)) else f"{place}/")

    def kind(self, place: Address) -> str | None:
        """Return "folder" or "file", or None where nothing is."""
        if not self.system.exists(self.path(place)):
            return None
        return "folder" if self.system.getFileStatus(self.path(place)).isDirectory() else "file"

    def is_table(self, folder: Address) -> bool:
        """Say whether a folder holds files of a table and nothing else."""
        inside = self.system.listStatus(self.path(folder))
        return all(one.isFile() and part_of_a_table(str(one.getPath().getName())) for one in inside)

    def stamps(self, place: Address) -> set[tuple[str, int, int]]:
        """Return name, size and time of each file at an address, none where nothing is."""
        if self.kind(place) is None:
            return set()
        found, files = set[tuple[str, int, int]](), self.system.listFiles(self.path(place), True)
        while files.hasNext():
            one = files.next()
            found.add((str(one.getPath().getName()), int(one.getLen()), int(one.getModificationTime())))
        return found

    def write(self, place: Address, content: bytes, private: bool = False) -> bool:
        """Write a file; say whether nobody but its owner may read it where that was asked, and else write nothing."""
        where, mode = self.path(place), self.java.fs.permission.FsPermission(format(_FOR_THE_OWNER, "o"))
        made = self.system.createFile(where)
        stream = (made.permission(mode) if private else made).build()
        kept = not private or self.system.getFileStatus(where).getPermission().toShort() == _FOR_THE_OWNER
        if kept:
            stream.write(content)
        stream.close()
        if not kept:
            self.system.delete(where, False)
        return kept

    def move(self, source: Address, target: Address) -> None:
        """Give a file or folder another name, which nothing has."""
        if self.kind(target) is not None:
            raise _taken(target)
        if not self.system.rename(self.path(source), self.path(target)):
            raise DivulgeError(f"{printable(target.name)}: cannot be given its name at this address.")
        if self.kind(inside := target / source.name) is not None:  # another folder took the name at this moment
            self.system.rename(self.path(inside), self.path(source))
            raise _taken(target)


def _taken(place: Address) -> DivulgeError:
    return DivulgeError(f"{printable(place.name)}: there is one already. Hint: force=True, or --force, replaces it.")


@dataclass(frozen=True)
class Remote(Places):
    """The places of a table and its papers at an address."""

    files: Any = None
    under: Any = None
    """The folder beside the table in which everything is written first."""

    def refuse_taken(self, place: Any, force: bool) -> None:
        """Refuse a name that is taken, unless forced; even then a folder that holds more than a table."""
        found = self.files.kind(place)
        if found is None:
            return
        if not force:
            raise _taken(place)
        wanted = "folder" if place == self.table and not place.suffix else "file"
        if place != self.table and found != wanted:
            raise DivulgeError(f"{printable(place.name)}: is a folder, and is not replaced by a file.")
        if found == "folder" and not self.files.is_table(place):
            raise DivulgeError(
                f"{printable(place.name)}: is a folder that holds more than a table, and is not replaced. Hint: choose "
                "another name."
            )

    @contextmanager
    def staged(self, by_workers: bool = False) -> Generator[Any]:
        """Give where the table is to be written: there, by workers, or on this machine, from where it goes there."""
        assert self.table is not None
        with ExitStack() as stack:
            with writing(self.table.name):
                self.files.system.mkdirs(self.files.path(self.under))
            stack.callback(self._clear)
            name = f"new{self.table.suffix}"
            if by_workers:
                yield self.under / name
            else:
                yield Path(stack.enter_context(children.private_folder("address"))) / name

    def _clear(self) -> None:
        with suppress(require("py4j.protocol", "spark").Py4JError):
            self.files.system.delete(self.files.path(self.under), True)

    def staged_papers(self, stack: ExitStack, contents: Mapping[str, bytes]) -> dict[Any, Any]:
        """Write papers beside the table that is under way; the keeper's only where nobody else can read it."""
        found = dict[Any, Any]()
        for name, content in contents.items():
            temporary = self.under / name
            with writing(name):
                if self.files.write(temporary, self.signed(name, content), private=name.startswith("keeper")):
                    found[self.paper(name)] = temporary
                else:
                    self.left_out.append(name)
                    current().tell("The keeper's record was not written: at this address others could read it.")
        return found

    def appear(self, staged: Mapping[Any, Any], temporary: Any, force: bool) -> None:
        """Give the papers and then the table their names; when one fails, all is as it was before."""
        with stopping.held():
            stopping.tell("publishing")
            self._appear(staged, temporary, force)
            stopping.ALREADY[:] = [stopping.PUBLISHED]
            stopping.tell("published")

    def _appear(self, staged: Mapping[Any, Any], temporary: Any, force: bool) -> None:
        assert self.table is not None
        done = list[tuple[Address, Address]]()

        def move(source: Any, target: Any) -> None:
            self.files.move(source, target)
            done.append((source, target))

        with writing(self.table.name):
            if isinstance(temporary, Path):
                own, temporary = temporary, self.under / f"new{self.table.suffix}"
                self.files.system.copyFromLocalFile(False, False, self.files.path(own), self.files.path(temporary))
            try:
                for i, final in enumerate([self.table, *map(self.paper, PAPERS)] if force else []):
                    if self.files.kind(final) is not None:
                        self.refuse_taken(final, force)
                        move(final, self.under / f"old{i}")
                for final, source in [*staged.items(), (self.table, temporary)]:
                    move(source, final)
            except BaseException:
                for source, target in reversed(done):
                    self.files.move(target, source)
                raise


def remote(
    sink: str, papers: Sequence[str], receipt: Any, key: Any, sources: Sequence[str | os.PathLike[str]], force: bool
) -> Remote:
    """Return the places; refuse what is taken, what is read, and what has no name."""
    place = Address(sink)
    if not place.name:
        raise DivulgeError.of("sink", "have a name behind its file system", "it", "without one")
    if receipt is not None:
        raise DivulgeError.of("receipt", "be left out where the output is at an address", "it", "given",
                              "it stands beside the output.")  # fmt: skip
    files = Files.of(place)
    under = place.with_name(f".divulge-{secrets.token_hex(8)}.partial")
    found = Remote(place, None, papers, key, files=files, under=under)  # pyright: ignore[reportArgumentType]: asked alike
    with writing(place.name):
        for source in sources:
            _refuse_source(files, place, source)
        if files.kind(Address(str(place).removesuffix(place.name))) != "folder":
            raise DivulgeError(f"{printable(place.name)}: must be in a folder that exists.")
        for one in found.all():
            found.refuse_taken(one, force)
    scheme = str(place).partition(":")[0].lower()
    if scheme not in _IN_ONE_STEP:
        current().tell(
            f"At {scheme}:// files may get their names one after the other: until the call is done, and after one "
            "that was killed, a reader may meet a part of the table."
        )
    return found


def _refuse_source(files: Files, place: Address, source: str | os.PathLike[str]) -> None:
    """Refuse a place that is the source, in it or around it, by whatever name of a file system."""
    read = address_of(os.fspath(source))
    if read is not None:
        there = Files.of(Address(read))
        own = [f"{one.system.makeQualified(one.path(at))}/" for one, at in ((files, place), (there, Address(read)))]
        same = own[0].startswith(own[1]) or own[1].startswith(own[0])
        stamps = there.stamps(Address(read)) if files.kind(place) else set[Any]()
    else:
        parts = files_below(Path(source)) if Path(source).is_dir() else [Path(source)]
        found = [(part.name, part.stat()) for part in parts if part.is_file()] if files.kind(place) else []
        same, stamps = False, {(name, one.st_size, one.st_mtime_ns // 10**6) for name, one in found}
    if same or stamps & files.stamps(place):
        raise DivulgeError.of("sink", "be another place than source", "it", "the same, in it, or around it")
