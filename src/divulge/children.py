"""Processes of our own, all started here: isolated, in a private folder, and ended with whoever started them.

Python looks for modules in the working folder first when it is started with `-c` or `-m`, and a table that somebody
sent may lie there beside a `json.py`. No child looks there.
"""

import atexit
import contextlib
import errno
import hashlib
import os
import platform
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

from divulge import stopping

PREFIX = "divulge-run-"
"""What the names of all private folders begin with."""

KEPT = ("PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TZDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")
"""What a child knows of the environment, and all that begins with LC_: where libraries are, language and time."""

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
"""On a machine with many cores the stacks of all threads alone would fill the addresses that a child may take."""

SLEEP_AT_ONCE = ("OPENBLAS_THREAD_TIMEOUT", "4")
"""The logarithm to base 2 of the cycles that a thread of OpenBLAS looks for work before it sleeps: 4 is the least."""

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a file system without locks says; there nobody takes a folder for abandoned."""

_ATTEMPTS = 3
"""So often a disk that does not answer for a moment, as one in a network, is asked."""

_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of prctl(2), Linux: the signal that a process gets when the thread that started it ends."""


def search_path() -> list[str]:
    """Return where modules are looked for, without the working folder and without what is relative to it.

    >>> "" in search_path()
    False
    """
    try:
        here = os.path.realpath(os.getcwd())
    except OSError:  # it is gone
        here = ""
    return [path for path in sys.path if os.path.isabs(path) and os.path.realpath(path) != here]


def isolate() -> None:
    """Look for no module in the working folder from here on, nor for one that the environment draws pictures with.

    Threads of OpenBLAS sleep as soon as they are done. By default they look for work for 25 ms, and a product of a
    vector and a matrix takes ten times the processor.
    """
    sys.path[:] = search_path()
    os.environ.pop("MPLBACKEND", None)
    os.environ.setdefault(*SLEEP_AT_ONCE)


def command(module: str) -> list[str]:
    """Return the line that starts an isolated Python and calls `main()` of a module of this package."""
    path = [*search_path(), str(Path(__file__).parents[1])]
    kept = ["-B"] if sys.dont_write_bytecode else []
    begin = (
        f"import sys; sys.path += {path!r}; from divulge import children; children.end_with({os.getpid()}); "
        f"from {module} import main; main()"
    )
    return [sys.executable, "-I", *kept, "-c", begin]


def environment(folder: Path) -> dict[str, str]:
    """Return the environment of a child whose temporary files belong into a folder."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith("LC_")}
    return kept | ONE_THREAD | {name: str(folder) for name in ("TMPDIR", "TEMP", "TMP")}


@contextlib.contextmanager
def isolated() -> Generator[None]:
    """Let processes that a library starts from here, such as the server of multiprocessing, be isolated as well."""
    before = dict(os.environ)
    for name in [name for name in before if name.startswith("PYTHON")]:
        del os.environ[name]
    os.environ |= {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(search_path()), "PYTHONUNBUFFERED": "1"}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def end_with(parent: int) -> None:
    """Let the system end this process when the one that started it ends, however that happens (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL))
        if os.getppid() != parent:  # it has ended meanwhile
            os._exit(1)


def run(module: str, argument: str, output: Path) -> tuple[int, str]:
    """Return exit code and messages of `main()` of a module, in a process that writes its output to a file.

    Whatever ends this call ends the process too, with all that it started. Its temporary files go where the output is.
    """
    with (
        output.open("xb") as out,
        subprocess.Popen(
            [*command(module), argument],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            env=environment(output.parent),
            cwd=output.parent,
            start_new_session=True,
        ) as child,
    ):
        try:
            said = child.communicate()[1]
        finally:
            end(child.pid)
    return child.returncode, said.decode(errors="replace")


def end(leader: int) -> None:
    """End a process that was started as the leader of its group, and all that it started."""
    with contextlib.suppress(OSError):  # it has ended by itself
        if hasattr(os, "killpg"):
            os.killpg(leader, signal.SIGKILL)
        else:
            os.kill(leader, signal.SIGTERM)


@contextlib.contextmanager
def private_folder(purpose: str, parent: Path | None = None) -> Generator[Path]:
    """Give a folder that only its owner can enter, and remove it at the end; also those that a killed run left.

    It is made in `parent`, or where temporary files go. A folder is locked while its run lives, which the system undoes
    however the run ends.
    """
    within = parent or Path(tempfile.gettempdir())
    remove_abandoned(within)
    with held_folder(lambda: within / f"{PREFIX}{purpose}-{secrets.token_hex(4)}", clear, 0o700) as path:
        yield path


@contextlib.contextmanager
def held_folder(name: Callable[[], Path], end: Callable[[Path], object], mode: int = 0o777) -> Generator[Path]:
    """Give a new folder that is locked until `end` has taken it away, whatever interrupts: the making of it, the work
    or the taking away, which then happens when Python ends.
    """
    path, lock = None, None
    try:
        with stopping.held():
            path, lock = _locked(name, mode)
            _TO_END[path] = (os.getpid(), end)
        yield path
    finally:
        if path is not None:
            end(path)
            _TO_END.pop(path, None)
        if lock is not None:
            os.close(lock)


_TO_END: dict[Path, tuple[int, Callable[[Path], object]]] = {}
"""Folders of processes, this one and what it is a copy of, and what takes them away."""


@atexit.register
def end_folders() -> None:
    """Take away what an interrupt left between two steps of Python's own."""
    for path, (process, end) in [*_TO_END.items()]:
        if process == os.getpid():
            end(path)


def let_go(folder: Path) -> None:
    """Leave a folder to whom holds it: `end_folders` may come before others that still take away what lies in it."""
    _TO_END.pop(folder, None)


def _locked(name: Callable[[], Path], mode: int) -> tuple[Path, int | None]:
    """Return a new folder, and the descriptor that holds its lock; None where there are no locks.

    Who waits for this process knows of it before it is there.
    """
    while True:
        path, lock = name(), None
        stopping.tell_of(path)
        path.mkdir(mode)
        try:
            lock = _lock(path, wait=True)
        except OSError as error:
            if error.errno not in _NO_LOCKS and path.exists():
                path.rmdir()
                raise
        if lock is None or path.exists():  # else another run took it for abandoned before it was locked
            return path, lock
        os.close(lock)


def remove_abandoned(parent: Path | None = None) -> None:
    """Remove the private folders of this user whose run has ended."""
    for path in abandoned(parent or Path(tempfile.gettempdir()), lambda name: name.startswith(PREFIX)):
        clear(path)


def clear(folder: Path) -> None:
    """Remove a folder with all that is in it; what does not answer for a moment is asked again."""
    for _ in range(_ATTEMPTS):
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)


def abandoned(parent: Path, ours: Callable[[str], object]) -> Generator[Path]:
    """Yield the folders of this user, by their names, whose run has ended; each is locked meanwhile."""
    mine = os.getuid() if hasattr(os, "getuid") else None
    try:
        with os.scandir(parent) as entries:
            found = [entry.path for entry in entries if ours(entry.name)]
    except OSError:
        return
    for path in found:
        try:
            status = os.lstat(path)
            lock = _lock(Path(path)) if status.st_uid == mine and os.path.isdir(path) else None
        except OSError:  # it is gone, or another run is in it
            continue
        if lock is not None:
            try:
                yield Path(path)
            finally:
                os.close(lock)


def mark() -> str:
    """Return what this process is known by where no lock can be held: its machine, as a digest, itself, and its start.

    >>> has_ended(mark()), has_ended("another machine:1:2")
    (False, None)
    """
    return f"{_machine()}:{os.getpid()}:{_start_of(os.getpid())}"


def has_ended(marked: str) -> bool | None:
    """Say whether the process of a mark has ended; None where it is one of another machine."""
    machine, _, process = marked.partition(":")
    number, _, start = process.partition(":")
    if machine != _machine() or not number.isdecimal():
        return None
    return _start_of(int(number)) != start


def _machine() -> str:
    """Return a digest of what tells this machine, since it was started, and this room of processes from others."""
    parts = [platform.node()]
    for path in ("/proc/sys/kernel/random/boot_id", "/proc/self/ns/pid"):
        with contextlib.suppress(OSError):
            parts.append(os.readlink(path) if path.endswith("pid") else Path(path).read_text())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _start_of(process: int) -> str:
    """Return when a process was started, in ticks, or that it is there where the system does not say; else nothing."""
    try:
        if os.path.isdir("/proc/self"):
            return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
        if hasattr(os, "getuid"):  # elsewhere a signal would end it
            os.kill(process, 0)
    except (FileNotFoundError, ProcessLookupError):
        return ""
    except OSError:  # it is another user's
        return "there"
    return "there"


def _lock(path: Path, *, wait: bool = False) -> int | None:
    """Return a descriptor that holds the lock of a folder; OSError when another run has it, None without locks."""
    try:
        import fcntl
    except ImportError:
        return None
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def limit(limits: Mapping[str, int]) -> None:
    """Let this process take no more of each resource, by the names of `resource` ("RLIMIT_AS"), where there are any."""
    with contextlib.suppress(ImportError):
        import resource

        for name, most in limits.items():
            kind = getattr(resource, name)
            hard = resource.getrlimit(kind)[1]
            resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))


def addresses() -> int | None:
    """Return the bytes of addresses that this process may take, None where there is no limit."""
    with contextlib.suppress(ImportError):
        import resource

        most = resource.getrlimit(resource.RLIMIT_AS)[0]
        return None if most == resource.RLIM_INFINITY else most
    return None
