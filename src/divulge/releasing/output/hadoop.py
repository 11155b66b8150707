"""A table and its papers at an address of Hadoop's file systems: whole under their names or not at all (extra: spark).

Everything is written into a folder beside its place first, and then renamed. That is one step where a folder has a
name of its own, as in HDFS. An object store copies file after file: there a reader may meet a part of a table.

The folder says whose it is, and before the first name is given what gets which: what a process that was killed has half
done is taken back by the next one of its machine that writes there. A file system of Hadoop has no locks; what is under
way on another machine is told.
"""

import io
import json
import os
import re
import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from divulge import children, staging, stopping
from divulge.errors import DivulgeError, InputFileError, printable
from divulge.extras import require
from divulge.files.opening import files_below
from divulge.files.settings import current
from divulge.releasing.output.places import PAPERS, Places
from divulge.releasing.output.sinks import part_of_a_table
from divulge.releasing.session import Address, active, address_of, is_address, path_at, placed, refuse_absent

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
    def of(cls, place: Address, argument: str = "sink") -> "Files":
        """Return the files of the file system of an address."""
        session = active()
        if getattr(session, "_jvm", None) is None:
            raise DivulgeError.of(argument, "be a folder that all workers share, where the session is on another "
                                  "machine", "it", "an address")  # fmt: skip
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

    def sizes(self, place: Address) -> dict[str, int]:
        """Return the size of each file in a folder and below by its path in it, or of a file by no path."""
        found, top = dict[str, int](), self.path(place)
        if self.kind(place) is None:
            return found
        files, above = self.system.listFiles(top, True), str(self.system.getFileStatus(top).getPath().toUri().getPath())
        while files.hasNext():
            one = files.next()
            found[str(one.getPath().toUri().getPath())[len(above) :].strip("/")] = int(one.getLen())
        return found

    def read(self, place: Address) -> bytes:
        """Return what is in a file; what is larger than the limit is not read."""
        status = self.system.getFileStatus(self.path(place))
        current().limits.allow("it", "bytes", int(status.getLen()))
        with children.private_folder("address") as folder:
            self.fetch(place, folder / "file")
            return (folder / "file").read_bytes()

    def fetch(self, place: Address, target: Path) -> None:
        """Copy a file or folder to this machine."""
        self.system.copyToLocalFile(False, self.path(place), self.path(target), True)

    def bring(self, source: Path, place: Address) -> None:
        """Copy a file or folder of this machine to an address where nothing is."""
        self.system.copyFromLocalFile(False, False, self.path(source), self.path(place))

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

    def refuse_there(self, place: Address) -> None:
        """Refuse a name that something has."""
        if self.kind(place) is not None:
            raise _taken(place)

    def move(self, source: Address, target: Address) -> None:
        """Give a file or folder another name, which nothing has."""
        self.refuse_there(target)
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
            stack.enter_context(self.room())
            name = f"new{self.table.suffix}"
            if by_workers:
                yield self.under / name
            else:
                yield Path(stack.enter_context(children.private_folder("address"))) / name

    @contextmanager
    def room(self) -> Generator[None]:
        """Make the folder in which everything is written, and say there whose it is; it is gone at the end."""
        try:
            with writing(self.beside_what.name):
                self.files.system.mkdirs(self.files.path(self.under))
                self.files.write(self.under / _OWNER, children.mark().encode())
            yield
        finally:
            self._clear()

    def _clear(self) -> None:
        with suppress(require("py4j.protocol", "spark").Py4JError):
            self.files.system.delete(self.files.path(self.under), True)

    def has(self, name: str) -> bool:
        """Say whether a paper is there."""
        return self.files.kind(self.paper(name)) == "file"

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

    def appear(
        self, staged: Mapping[Any, Any], temporary: Any, force: bool, then: staging.Then = staging.NOTHING
    ) -> None:
        """Give the papers and then the table their names, and do what comes `then`.

        When one fails, all is as it was before.
        """
        with stopping.held():
            stopping.tell("publishing")
            self._appear(staged, temporary, force, then)
            stopping.ALREADY[:] = [stopping.PUBLISHED]
            stopping.tell("published")

    def _appear(self, staged: Mapping[Any, Any], temporary: Any, force: bool, then: staging.Then) -> None:
        with writing(self.beside_what.name):
            if isinstance(temporary, Path):
                own, temporary = temporary, self.under / f"new{self.beside_what.suffix}"
                self.files.bring(own, temporary)
            table = {} if self.table is None else {self.table: temporary}
            moves, begun = list[_Move](), list[_Move]()
            names = [*table, *map(self.paper, PAPERS), *self.called()]
            for i, final in enumerate(dict.fromkeys(names) if force else []):
                if self.files.kind(final) is not None:
                    self.refuse_taken(final, force)
                    moves.append(_Move(final.name, f"old{i}", False, self.files.sizes(final)))
            for final, source in [*staged.items(), *table.items()]:
                moves.append(_Move(final.name, source.name, True, self.files.sizes(source)))
            journal = {"moves": [astuple(one) for one in moves], "then": then.text}
            self.files.write(self.under / _JOURNAL, json.dumps(journal).encode())
            try:
                for one in moves:
                    source, target = one.ends(self.under)
                    self.files.refuse_there(target)
                    begun.append(one)
                    self.files.move(source, target)
                then.do()
            except BaseException:
                taken_back(self.files, self.under, begun)
                raise


_OWNER, _JOURNAL = "owner", "journal.json"
"""Names in the folder in which everything is written: whose it is, and which names are about to be given."""

_PARTIAL = re.compile(r"\.divulge-[0-9a-f]{16}\.away\.partial")
"""What the folder is called: otherwise than one of this machine, which is cleared where no process holds its lock, and
which may be the same folder, as /dbfs/top is dbfs:/top."""


def _partial() -> str:
    return f".divulge-{secrets.token_hex(8)}.away.partial"


@dataclass(frozen=True)
class _Move:
    """A name that is given to what is in the folder, or taken from what goes into it.

    outside, inside : the name beside the folder, and the one in it
    given : whether it goes out of the folder
    sizes : path of each file of it -> its size
    """

    outside: str
    inside: str
    given: bool
    sizes: Mapping[str, int]

    def ends(self, under: Address) -> tuple[Address, Address]:
        """Return from where to where it goes."""
        inside, outside = under / self.inside, under.with_name(self.outside)
        return (inside, outside) if self.given else (outside, inside)


def _journal_of(content: bytes) -> tuple[list[_Move], str]:
    """Return the moves of a journal and what comes after them.

    None of them where it was being written, or is not ours: then no name was given yet.
    """
    try:
        said = json.loads(content)
        found = [_Move(str(a), str(b), c is True, {str(k): int(n) for k, n in d.items()}) for a, b, c, d in
                 said["moves"]]  # fmt: skip
        then = str(said["then"])
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return [], ""
    names = [name for one in found for name in (one.outside, one.inside)]
    return ([], "") if any(name in ("", ".", "..") or "/" in name for name in names) else (found, then)


def taken_back(files: Files, under: Address, moves: Sequence[_Move]) -> bool:
    """Let the names be as they were before these moves were begun; say whether all of them are.

    A rename that copies file after file may have stopped in the middle: what is whole stays, or goes back, and a part
    of it at the other end is removed. Nothing was given while something was still being taken. What is neither whole
    nor a part is somebody else's, and stays.
    """
    takes, done = [one for one in moves if not one.given], True
    all_taken = all(files.sizes(under / one.inside) == one.sizes for one in takes)
    copies = str(under).partition(":")[0].lower() not in _IN_ONE_STEP
    for one in reversed(moves if all_taken else takes):
        source, target = one.ends(under)
        here, there = files.sizes(source), files.sizes(target)
        at_source, at_target = files.kind(source) is not None, files.kind(target) is not None
        if one.given and at_source and here == one.sizes:
            if copies and at_target and there.items() <= one.sizes.items():
                files.system.delete(files.path(target), True)
        elif not one.given and there != one.sizes:  # not all of it was taken, and it is still there
            done = done and here == one.sizes
        elif at_target and there == one.sizes and (one.given or here.items() <= one.sizes.items()):
            if at_source:
                files.system.delete(files.path(source), True)
            files.move(target, source)
        else:
            done = False
    return done


def recover(files: Files, place: Address, happened: staging.Happened = lambda text: None) -> None:
    """Take back what killed processes of this machine have half done beside a place, and remove what they left there.

    What is another machine's, or says not whose it is, or has a last step of which nobody knows, is told.
    """
    parent = Address(str(place).removesuffix(place.name))
    if files.kind(parent) != "folder":
        return
    for status in files.system.listStatus(files.path(parent)):
        name = str(status.getPath().getName())
        if not _PARTIAL.fullmatch(name) or not status.isDirectory():
            continue
        under = place.with_name(name)
        owner = files.read(under / _OWNER).decode(errors="replace") if files.kind(under / _OWNER) else ""
        ended = children.has_ended(owner)
        if ended is False:
            continue
        moves, then = _journal_of(files.read(under / _JOURNAL)) if files.kind(under / _JOURNAL) else ([], "")
        complete: bool | None = bool(moves) and _is_complete(files, under, moves)
        if complete and then:
            complete = happened(then)
        if ended and complete is not None and (complete or not moves or taken_back(files, under, moves)):
            files.system.delete(files.path(under), True)
        else:
            whose = "cannot be taken back" if ended else "may be under way on another machine"
            current().tell(
                f"A folder {name} beside the output holds a release that {whose}. Remove it when none is running there."
            )


def _is_complete(files: Files, under: Address, moves: Sequence[_Move]) -> bool:
    """Say whether the last name was given, to all of it."""
    source, target = moves[-1].ends(under)
    return files.kind(source) is None and files.sizes(target) == moves[-1].sizes


def content(address: str) -> io.BytesIO:
    """Return what is in a small file at an address, as a stream."""
    if not is_address(placed(address)):
        return io.BytesIO(Path(placed(address)).read_bytes())
    place = Address(address)
    files = Files.of(place, "path")
    bridge = require("py4j.protocol", "spark")
    try:
        return io.BytesIO(files.read(place))
    except bridge.Py4JError as error:
        stopping.look()
        refuse_absent(place.name, error)
        absent = "FileNotFoundException" in str(error)
        raise InputFileError(
            f"{printable(place.name)}: {'there is no such file' if absent else 'cannot be read at this address'}."
        ) from None


def to_this_machine(address: str, folder: Path) -> Path:
    """Copy a file or folder at an address into a folder of this machine, and return where it is."""
    place = Address(address)
    with writing(place.name):
        Files.of(place).fetch(place, folder / place.name)
    return folder / place.name


def to_address(source: Path, address: str, force: bool) -> None:
    """Let a file of this machine appear at an address, whole; what is there is replaced if forced."""
    place = Address(address)
    files = Files.of(place)
    hidden = place.with_name(_partial())
    with writing(place.name):
        try:
            files.bring(source, hidden)
            if force and files.kind(place) == "file":
                files.system.delete(files.path(place), False)
            files.move(hidden, place)
        finally:
            files.system.delete(files.path(hidden), False)


def require_free(address: str, force: bool) -> None:
    """Refuse the address of a file that has no folder, or is taken."""
    place = Address(address)
    files = Files.of(place)
    with writing(place.name):
        found = files.kind(place)
        if found == "folder" or (found is not None and not force):
            raise _taken(place)
        if files.kind(Address(str(place).removesuffix(place.name))) != "folder":
            raise DivulgeError(f"{printable(place.name)}: must be in a folder that exists.")


def remote(
    sink: str | None, papers: Sequence[str], receipt: Any, key: Any, sources: Sequence[str | os.PathLike[str]],
    force: bool, after: Any = None,
) -> Remote:  # fmt: skip
    """Return the places; refuse what is taken, what is read, and what has no name."""
    if receipt is not None and not is_address(receipt):
        raise DivulgeError.of("receipt", "be left out where the output is at an address, or be an address beside it",
                              "it", "a path of this machine", "it stands beside the output.")  # fmt: skip
    if (sink is not None and not is_address(sink)) or (sink is None and after is None):
        raise DivulgeError.of("receipt", "be a path of this machine where the output is none at an address", "it",
                              "an address", "write it here, and copy it there.")  # fmt: skip
    place = after if sink is None else Address(sink)
    if not place.name:
        raise DivulgeError.of("sink", "have a name behind its file system", "it", "without one")
    said = None if receipt is None else Address(receipt)
    if said is not None and (not said.name or str(place.with_name(said.name)) != str(said)):
        raise DivulgeError.of("receipt", "be in the folder of the output, at an address", "it", "in another one",
                              "leave it out, or give its name there; copies can stand anywhere.")  # fmt: skip
    files = Files.of(place)
    under = place.with_name(_partial())
    table = None if sink is None else place
    found = Remote(table, said, papers, key, after=after, files=files, under=under)  # pyright: ignore[reportArgumentType]: asked alike
    with writing(place.name):
        for source in sources if table is not None else ():
            _refuse_source(files, place, source)
        if files.kind(Address(str(place).removesuffix(place.name))) != "folder":
            raise DivulgeError(f"{printable(place.name)}: must be in a folder that exists.")
        recover(files, place)
        for one in found.all():
            found.refuse_taken(one, force)
        if len(set(map(str, found.all()))) < len(found.all()) or (table is not None and str(said) == str(table)):
            raise DivulgeError.of("receipt", "have a name of its own", "it", "that of another paper")
    scheme = str(place).partition(":")[0].lower()
    if scheme not in _IN_ONE_STEP and table is not None:
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
