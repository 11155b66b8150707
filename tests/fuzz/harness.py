"""One command line in a process of its own: what it said, how it ended, and how much it took."""

import math
import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Thread

MARK = "Zq7SecretCell"
"""Stands in cells that no output and no message may show."""

MOST_SECONDS = 30
MOST_MEMORY = 2 << 30
_REFERENCE = 0.05
"""Seconds of the processor that `_work` takes where the limit of 30 was set (2 GHz of 2020)."""


@cache
def slowness() -> float:
    """Return how many times slower this machine is, at least 1: a limit on time is one on work."""
    return max(1.0, min(_work() for _ in range(3)) / _REFERENCE)


def _work() -> float:
    start, total = time.process_time(), 0
    for i in range(1_000_000):
        total += i * i % 7
    return time.process_time() - start


NO = {"check", "compare", "audit", "audit-model", "audit-attribute", "audit-synthetic"}
"""Commands with which exit code 1 is an answer."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    arguments: tuple[str, ...]
    code: int
    out: str
    err: str
    memory: int
    seconds: float
    hung: bool

    def problems(self) -> list[str]:
        """Return everything about it that may never be."""
        found: list[str] = []
        if self.hung:
            found.append("hangs")
        elif self.code < 0:
            found.append(f"ends by signal {-self.code}")
        elif self.code not in (0, 1, 2, 130) or (self.code == 1 and self.arguments[0] not in NO):
            found.append(f"ends with exit code {self.code}")
        if "Traceback" in self.err or "unforeseen" in self.err:
            found.append("ends with an error that nobody foresaw")
        if self.code == 2 and self.err.count("error: ") != 1 and "Usage" not in self.err:
            found.append("does not say in one message what is wrong")
        if self.memory > MOST_MEMORY:
            found.append(f"takes {self.memory >> 20} MiB")
        if self.seconds > MOST_SECONDS * slowness():
            found.append(f"takes {self.seconds:.0f} s of the processor")
        if MARK in self.out + self.err:
            found.append("shows a cell that is secret")
        if any(not c.isprintable() and c != "\n" for c in self.out + self.err):
            found.append("prints control characters")
        return found


@dataclass(frozen=True)
class Surroundings:
    """What is around a command: variables of the environment, the encoding of its streams, the room on the disk."""

    environment: tuple[tuple[str, str], ...] = ()
    encoding: str = "utf-8"
    largest_file: int | None = None
    """Bytes after which a file cannot grow, as on a disk that is full; what it prints goes through pipes."""


USUAL = Surroundings()


def run(arguments: list[str], folder: Path, stdin: bytes = b"", around: Surroundings = USUAL) -> Outcome:
    """Run `divulge` with these arguments in a folder, in a copy of this process."""
    pipes = [os.pipe() for _ in range(2)]  # a limit on files, as of a full disk, is none on them
    most, start = math.ceil(MOST_SECONDS * slowness()), time.monotonic()
    with tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        child = os.fork()
        if not child:
            _be(arguments, folder, [given.fileno(), *(there for _, there in pipes)], around, most)
    said = [bytearray(), bytearray()]
    readers = [Thread(target=_drain, args=(*pipe, to), daemon=True) for pipe, to in zip(pipes, said, strict=True)]
    for reader in readers:
        reader.start()
    hung, status, used = False, 0, None
    while used is None:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            used = usage
        elif time.monotonic() - start > 20 * most:
            hung = True
            os.kill(child, signal.SIGKILL)
            _, status, used = os.wait4(child, 0)
        else:
            time.sleep(0.005)
    for reader in readers:
        reader.join(20 * most)
    out, err = (bytes(text).decode(errors="backslashreplace") for text in said)
    code = os.waitstatus_to_exitcode(status)
    hung = hung or code == -signal.SIGXCPU
    seconds = used.ru_utime + used.ru_stime
    return Outcome(tuple(arguments), code, out, err, used.ru_maxrss << 10, seconds, hung)


def _drain(here: int, there: int, to: bytearray) -> None:
    """Take everything that comes through a pipe."""
    os.close(there)
    while block := os.read(here, 1 << 16):
        to += block
    os.close(here)


def _be(arguments: list[str], folder: Path, descriptors: list[int], around: Surroundings, most: int) -> None:
    """Become the command; never return."""
    code = 99
    try:
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(i, "w" if i else "r", encoding=around.encoding, closefd=False) for i in range(3)
        )  # fmt: skip
        os.chdir(folder)
        os.environ["DIVULGE_LEDGER"] = str(folder / "default.sqlite")
        os.environ["DIVULGE_TRACEBACK"] = "1"
        os.environ.update(around.environment)
        if around.largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (around.largest_file, around.largest_file))
        resource.setrlimit(resource.RLIMIT_CPU, (most + 5, most + 10))
        resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_MEMORY, 4 * MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        from divulge.cli import main

        sys.argv = ["divulge", *arguments]
        try:
            main.main()
        except SystemExit as error:
            code = error.code if isinstance(error.code, int) else 0 if error.code is None else 98
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)
