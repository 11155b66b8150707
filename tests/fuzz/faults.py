"""One call to the system fails, or ends the process, at every place in turn: all is published or nothing, and known.

python tests/fuzz/faults.py [SHARE] [FIRST] [LINE...]    tries each SHARE-th place; prints the table of docs/security.md
"""

import errno
import json
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import Thread

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

import pyarrow as pa
import pyarrow.parquet as pq
import xlsxwriter

import divulge as dv
from divulge import children, staging
from divulge.releasing.output.sinks import digest
from fuzz.cases import COIN
from fuzz.kernel import KINDS, Fault, Watched, watch

BOOK = ["--ledger", "book.sqlite"]
RELEASE = ["--column", "x", "--mechanism", "c.csv", *BOOK, "-o"]
PUBLISH = ["--guarantee", "dp=1", "--count", "x", "--values", "v.json", *BOOK, "-o"]
GENERALIZE = ["--known", "y", "--secret", "x", "--guarantee", "k=2", "-o"]

LINES: dict[str, list[str]] = {
    "release": ["release", "t.csv", *RELEASE, "out.csv"],
    "release, Parquet": ["release", "t.parquet", *RELEASE, "out.parquet"],
    "release, Excel": ["release", "t.xlsx", *RELEASE, "out.xlsx"],
    "release, folder": ["release", "t.csv", *RELEASE, "out"],
    "release over another": ["release", "t.csv", *RELEASE, "old.csv", "--force"],
    "release, usual ledger": ["release", "t.csv", *RELEASE[:4], "-o", "out.csv", "--budget", "ldp=9"],
    "publish": ["publish", "t.csv", *PUBLISH, "out.csv"],
    "publish, Parquet": ["publish", "t.parquet", *PUBLISH, "out.parquet"],
    "publish, Excel": ["publish", "t.xlsx", *PUBLISH, "out.xlsx"],
    "publish over another": ["publish", "t.csv", *PUBLISH, "old.csv", "--force"],
    "generalize": ["generalize", "t.csv", *GENERALIZE, "out.csv"],
    "generalize, Parquet": ["generalize", "t.parquet", *GENERALIZE, "out.parquet"],
    "generalize, Excel": ["generalize", "t.xlsx", *GENERALIZE, "out.xlsx"],
    "estimate": ["estimate", "old.csv", "--receipt", "old.receipt.json"],
    "estimate, Excel": ["estimate", "made.xlsx", "--receipt", "made.receipt.json"],
    "design": ["design", "--prior", "p.csv", "--guarantee", "ldp=1", "-o", "out.json"],
    "ledger": ["ledger", "show", *BOOK],
    "ledger, budget": ["ledger", "budget", "t", "ldp=5", "--column", "x", *BOOK],
    "run": ["run", "q.json", "-o", "out.csv"],
}
"""What is tried. "old" and "made" were released before, and their ledger is "book.sqlite"."""

ERRORS = {
    "open": (errno.EACCES, errno.EIO, errno.ENOSPC), "read": (errno.EIO,), "write": (errno.ENOSPC, errno.EIO),
    "sync": (errno.EIO, errno.ENOSPC), "name": (errno.ENOSPC, errno.EACCES, errno.EIO),
    "remove": (errno.EIO, errno.EACCES), "lock": (errno.ENOLCK, errno.EIO), "memory": (errno.ENOMEM,),
}  # fmt: skip
"""What each kind of call says when it fails."""

BEGUN = 2
"""Releases that were there before."""

PAPERS = 6
"""Papers of every release, publication and generalized table."""

ENDING = 5.0
"""Seconds that the system has to end what was killed."""

STILL = 3.0
"""Seconds after which threads that all wait for each other are taken for stuck."""


@cache
def files() -> dict[str, bytes]:
    """Return the content of every file that is there before."""
    rows = [("a", "b"), ("b", "b"), ("c", "a"), ("a", "a")] * 20
    table = pa.table({"x": [row[0] for row in rows], "y": [row[1] for row in rows], "n": [*range(len(rows))]})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t.csv").write_text("x,y,n\n" + "".join(f"{a},{b},{i}\n" for i, (a, b) in enumerate(rows)))
        pq.write_table(table, folder / "t.parquet")
        with xlsxwriter.Workbook(str(folder / "t.xlsx")) as book:
            sheet = book.add_worksheet()
            for i, row in enumerate([("x", "y", "n"), *((*row, i) for i, row in enumerate(rows))]):
                sheet.write_row(i, 0, row)
        dv.write_channel(COIN, folder / "c.csv")
        (folder / "v.json").write_text(json.dumps({"x": ["a", "b", "c"]}))
        (folder / "p.csv").write_text("a,1/3\nb,1/3\nc,1/3\n")
        dv.Request.of("release", "t.csv", column="x", mechanism="c.csv", ledger="book.sqlite").save(folder / "q.json")
        for sink in ("old.csv", "made.xlsx"):
            dv.release(table, folder / sink, column="x", keep=[], mechanism=COIN, ledger=folder / "book.sqlite",
                       source_name="t")  # fmt: skip
        return {path.name: path.read_bytes() for path in folder.iterdir()}


@dataclass(frozen=True)
class Place:
    """The folders of one trial: where it works, its home, and what is temporary."""

    root: Path

    @property
    def work(self) -> Path:
        """The working folder."""
        return self.root / "work"

    @property
    def temporary(self) -> Path:
        """TMPDIR."""
        return self.root / "temporary"

    @property
    def home(self) -> Path:
        """HOME."""
        return self.root / "home"

    def begin(self) -> None:
        """Make them."""
        for folder in (self.work, self.temporary, self.home):
            folder.mkdir()
        for name, content in files().items():
            (self.work / name).write_bytes(content)

    @property
    def ledger(self) -> Path:
        """The ledger of a release that names none."""
        return self.home / ".local" / "share" / "divulge" / "ledger.sqlite"


def command(place: Place, line: list[str], out: int, err: int) -> Callable[[], None]:
    """Return a function that becomes the command, as its program does, and never returns."""

    def become() -> None:
        for target, descriptor in enumerate((os.open(os.devnull, os.O_RDONLY), out, err)):
            os.dup2(descriptor, target)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(i, "w" if i else "r", encoding="utf-8", closefd=False) for i in range(3)
        )  # fmt: skip
        os.chdir(place.work)
        for name in [name for name in os.environ if name.startswith(("DIVULGE", "XDG"))]:
            del os.environ[name]
        os.environ |= {"HOME": str(place.home), "TMPDIR": str(place.temporary), "DIVULGE_TRACEBACK": "1"}
        sys.dont_write_bytecode = True  # a write that is cut short would leave compiled code that no process can read
        tempfile.tempdir = None
        sys.argv = ["divulge", *line]
        from divulge.__main__ import main
        from divulge.cli import supervisor

        supervisor.STILL = STILL
        code = 98
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 97
        os._exit(code)

    return become


@dataclass(frozen=True)
class Trial:
    """What became of a line with a fault."""

    line: list[str]
    fault: Fault | None
    watched: Watched
    out: str
    err: str
    problems: list[str]

    def __str__(self) -> str:
        met = f"{self.fault} ({self.watched.hit})"
        return f"{' '.join(self.line)}: {met}: {'; '.join(self.problems)}\n  {self.err[-1500:]}"


def tried(line: list[str], fault: Fault | None) -> Trial:
    """Carry a line out with a fault, and look at everything that it left."""
    # A TemporaryDirectory would be removed by the end of every copy of this process.
    place = Place(Path(tempfile.mkdtemp()).resolve())
    try:
        place.begin()
        pipes = [os.pipe() for _ in range(2)]
        said = [bytearray(), bytearray()]
        readers = [Thread(target=_drain, args=(here, to)) for (here, _), to in zip(pipes, said, strict=True)]
        for reader in readers:
            reader.start()
        watched = watch(command(place, line, pipes[0][1], pipes[1][1]), place.root, fault)
        for _, there in pipes:
            os.close(there)
        for reader in readers:
            reader.join()
        out, err = (bytes(text).decode(errors="backslashreplace") for text in said)
        return Trial(line, fault, watched, out, err, [*_problems(place, line, fault, watched, err)])
    finally:
        shutil.rmtree(place.root)


def _drain(here: int, to: bytearray) -> None:
    while block := os.read(here, 1 << 16):
        to += block
    os.close(here)


def _problems(place: Place, line: list[str], fault: Fault | None, watched: Watched, err: str) -> Iterator[str]:
    killed, code = fault is not None and fault.how == "kill all" and watched.hit is not None, watched.code
    if watched.stays:
        yield "stays, and does nothing"
    if "Traceback" in err or "unforeseen" in err:
        yield "ends with an error that nobody foresaw"
    if not killed and code not in (0, 2):
        yield f"ends with exit code {code}"
    if code == 2 and err.count("error: ") != 1:
        yield "does not say in one message what is wrong"
    if not (killed or _lasts(fault)):
        yield from _left(place, line, "at once")
    _recover(place)
    before, tempfile.tempdir = tempfile.tempdir, str(place.temporary)
    children.remove_abandoned()
    tempfile.tempdir = before
    done = _published(place, line)
    yield from _uncounted(place, line, done is True)
    yield from _left(place, line, "after the next start")
    if isinstance(done, str):
        yield done
    elif not killed and done is not None and done != (code == 0) and not _written(line, err):
        yield f"ends with exit code {code}, and it is {'' if done else 'not '}published"


def _written(line: list[str], err: str) -> bool:
    """Say whether the error names what was written, as that of a mechanism that could not be printed too."""
    made = _made(line)
    return line[0] == "design" and made is not None and f"Written whole: {made}." in err


def _recover(place: Place) -> None:
    """Do what the next command does first, in the folders that it writes to.

    What was killed may hold its lock for a moment longer than its calls are watched.
    """
    end = time.monotonic() + ENDING
    for folder in (place.work, place.ledger.parent):
        while folder.exists():
            staging.recover(folder)
            if time.monotonic() > end or not any(folder.glob(".divulge-*")):
                break
            time.sleep(0.02)


def _lasts(fault: Fault | None) -> bool:
    """Say whether the fault does not end: what is left cannot be removed before the next start."""
    return fault is not None and fault.lasting


def _made(line: list[str]) -> str | None:
    return line[line.index("-o") + 1] if "-o" in line else None


def _of(place: Place, name: str) -> list[str]:
    """Return the papers of a table."""
    stem = Path(name).stem
    return sorted(path.name for path in place.work.iterdir() if path.name.startswith(f"{stem}.") and path.name != name)


def _left(place: Place, line: list[str], when: str) -> Iterator[str]:
    """Yield what nobody asked for."""
    made = _made(line)
    usual = {".local", ".local/share", ".local/share/divulge"} | {
        f".local/share/divulge/ledger.sqlite{end}" for end in ("", ".key")
    }
    known = {*files(), *([] if made is None else [made, *_of(place, made)])}
    for folder, allowed in ((place.work, known), (place.temporary, set[str]()), (place.home, usual)):
        for path in folder.rglob("*"):
            name = path.relative_to(folder).as_posix()
            journal = name.endswith(".sqlite-journal")  # which the ledger takes back, when it is opened or written
            tried = (
                folder == place.temporary and path.is_file() and path.read_bytes() in (b"", b"blat")
            )  # by `tempfile`
            if name not in allowed and not journal and not tried and not (made and name.startswith(f"{made}/part-")):
                yield f"{when} leaves {name} in {folder.name}"


def _published(place: Place, line: list[str]) -> bool | str | None:
    """Say whether what the line makes is there, with all its papers; in words, if only in part."""
    made = _made(line)
    if made is None:
        return None
    table, papers = place.work / made, _of(place, made)
    if line[0] == "design":
        if table.exists():
            dv.read_channel(table)
        return table.exists()
    old = made == "old.csv"
    if not table.exists():
        return f"papers without their table: {papers}" if papers or old else False
    if len(papers) != PAPERS:
        return f"a table with papers {papers} alone"
    if json.loads((place.work / f"{table.stem}.receipt.json").read_text())["digest"] != digest(table):
        return "a table beside the papers of another"
    return not old or table.read_bytes() != files()[made]


def _uncounted(place: Place, line: list[str], published: bool) -> Iterator[str]:
    """Yield what the ledger does not know of."""
    if line[0] in ("generalize", "design"):
        return
    usual = line[0] in ("release", "publish") and "--ledger" not in line
    book = place.ledger if usual else place.work / "book.sqlite"
    begun = 0 if usual else BEGUN
    if not book.exists() and not published:
        return
    try:
        entries = len(dv.Ledger(book).entries())
    except dv.DivulgeError as error:
        yield f"the ledger is damaged: {error}"
        return
    if not begun + published <= entries <= begun + 1:
        yield f"the ledger has {entries} entries, before it {begun}"


def places(calls: Counter[str], share: int = 1, first: int = 0) -> Iterator[Fault]:
    """Yield the faults of a line: every call in turn, or each share-th from another one on, in each way."""
    ways: list[tuple[str, int | str, bool]] = []
    for kind in KINDS:
        ways += [(kind, how, False) for how in ERRORS[kind]]
        ways += [(kind, ERRORS[kind][0], True), (kind, "kill", False), (kind, "kill all", False)]
    for i, (kind, how, lasting) in enumerate(ways):
        for number in range(1 + (i * 7 + first) % share, calls[kind] + 1, share):
            yield Fault(kind, number, how, lasting)


LOADED = ("duckdb", "opendp.measurements", "pandas", "sqlalchemy.dialects.sqlite", "pyarrow.csv", "divulge.cli.main",
          "divulge.releasing.release", "divulge.publishing.publish", "divulge.tables.generalize")  # fmt: skip
"""What the commands need, loaded once: they run in copies of this process."""


def tallied(share: int, first: int = 0, lines: Iterable[str] = LINES) -> tuple[list[Trial], Counter[tuple[str, str]]]:
    """Try each share-th place of some lines; return what failed, and how often a call of each kind failed or killed."""
    for module in LOADED:
        import_module(module)
    warnings.simplefilter("ignore")
    files()
    failed, total = list[Trial](), Counter[tuple[str, str]]()
    for name in lines:
        usual = tried(LINES[name], None)
        if usual.problems or usual.watched.code:
            failed.append(usual)
            continue
        for fault in places(usual.watched.calls, share, first):
            trial = tried(LINES[name], fault)
            if trial.watched.hit is not None:
                total[fault.kind, "killed" if isinstance(fault.how, str) else "failed"] += 1
            if trial.problems:
                failed.append(trial)
    return failed, total


_WORDS = {
    "open": "a file is opened", "read": "a file is read", "write": "a file is written", "sync": "a disk is waited for",
    "name": "a name is given, a folder made", "remove": "something is removed", "lock": "a folder is locked",
    "memory": "memory is asked for",
}  # fmt: skip


def table(total: Counter[tuple[str, str]]) -> str:
    """Return the rows of the table in docs/security.md."""
    rows = ["| where | the call failed | the process was killed |", "|---|---|---|"]
    rows += [f"| {_WORDS[kind]} | {total[kind, 'failed']:,} | {total[kind, 'killed']:,} |" for kind in KINDS]
    return "\n".join(rows)


def main(share: str = "41", first: str = "0", *lines: str) -> int:
    """Print what failed, and the table."""
    failed, total = tallied(int(share), int(first), lines or LINES)
    print(*failed, table(total), sep="\n")
    print(f"{sum(total.values()):,} injected, {sum(total.values()) - len(failed):,} survived")
    return len(failed)


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:]), 1))
