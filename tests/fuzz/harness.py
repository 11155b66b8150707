"""One command line in a process of its own: what it said, how it ended, and how much it took."""

import os
import resource
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

MARK = "Zq7SecretCell"
"""Stands in cells that no output and no message may show."""

MOST_SECONDS = 30
MOST_MEMORY = 2 << 30
_WAIT = 20 * MOST_SECONDS
"""Seconds on the clock after which a command hangs, however loaded the machine is."""

NO = {"check", "compare", "audit"}
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
        if self.seconds > MOST_SECONDS:
            found.append(f"takes {self.seconds:.0f} s of the processor")
        if MARK in self.out + self.err:
            found.append("shows a cell that is secret")
        if any(not c.isprintable() and c != "\n" for c in self.out + self.err):
            found.append("prints control characters")
        return found


def run(arguments: list[str], folder: Path, stdin: bytes = b"") -> Outcome:
    """Run `divulge` with these arguments in a folder, in a copy of this process."""
    files = [tempfile.TemporaryFile() for _ in range(3)]  # noqa: SIM115
    files[0].write(stdin)
    files[0].seek(0)
    start = time.monotonic()
    child = os.fork()
    if not child:
        _be(arguments, folder, [file.fileno() for file in files])
    hung, status, used = False, 0, None
    while used is None:
        found, status, usage = os.wait4(child, os.WNOHANG)
        if found:
            used = usage
        elif time.monotonic() - start > _WAIT:
            hung = True
            os.kill(child, signal.SIGKILL)
            _, status, used = os.wait4(child, 0)
        else:
            time.sleep(0.005)
    for file in files:
        file.seek(0)
    out, err = (file.read().decode(errors="backslashreplace") for file in files[1:])
    for file in files:
        file.close()
    code = os.waitstatus_to_exitcode(status)
    hung = hung or code == -signal.SIGXCPU
    seconds = used.ru_utime + used.ru_stime
    return Outcome(tuple(arguments), code, out, err, used.ru_maxrss << 10, seconds, hung)


def _be(arguments: list[str], folder: Path, descriptors: list[int]) -> None:
    """Become the command; never return."""
    code = 99
    try:
        for target, descriptor in enumerate(descriptors):
            os.dup2(descriptor, target)
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(i, "w" if i else "r", closefd=False) for i in range(3)
        )  # fmt: skip
        os.chdir(folder)
        os.environ["DIVULGE_LEDGER"] = str(folder / "default.sqlite")
        os.environ["DIVULGE_TRACEBACK"] = "1"
        resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS + 5, MOST_SECONDS + 10))
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
