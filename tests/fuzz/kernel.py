"""The n-th call to the system fails, or ends the process: asked of the kernel itself, so libraries in C are met too.

Linux hands chosen calls of a process and its children to a listener (seccomp_unotify(2), Linux 5.5 and newer), which
counts them, and lets each one through, lets it fail, or kills. No compiler, no preloaded library is needed.
"""

import ctypes
import errno
import fcntl
import os
import platform
import select
import signal
import socket
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_NUMBERS = {
    "x86_64": {
        "open": 2, "creat": 85, "openat": 257, "read": 0, "pread64": 17, "readv": 19, "write": 1, "pwrite64": 18,
        "writev": 20, "ftruncate": 77, "fallocate": 285, "fsync": 74, "fdatasync": 75, "rename": 82, "renameat": 264,
        "renameat2": 316, "link": 86, "linkat": 265, "unlink": 87, "unlinkat": 263, "mkdir": 83, "mkdirat": 258,
        "rmdir": 84, "flock": 73, "mmap": 9, "brk": 12,
    },
    "aarch64": {
        "openat": 56, "read": 63, "pread64": 67, "readv": 65, "write": 64, "pwrite64": 68, "writev": 66,
        "ftruncate": 46, "fallocate": 47, "fsync": 82, "fdatasync": 83, "renameat": 38, "renameat2": 276, "linkat": 37,
        "unlinkat": 35, "mkdirat": 34, "flock": 32, "mmap": 222, "brk": 214,
    },
}  # fmt: skip
_SECCOMP = {"x86_64": 317, "aarch64": 277}

KINDS = {
    "open": ("open", "creat", "openat"),
    "read": ("read", "pread64", "readv"),
    "write": ("write", "pwrite64", "writev", "ftruncate", "fallocate"),
    "sync": ("fsync", "fdatasync"),
    "name": ("rename", "renameat", "renameat2", "link", "linkat", "mkdir", "mkdirat"),
    "remove": ("unlink", "unlinkat", "rmdir"),
    "lock": ("flock",),
    "memory": ("mmap", "brk"),
}
"""What is counted together. Of files only those in the folder of the trial, of memory what no file is behind."""

_KIND = {name: kind for kind, names in KINDS.items() for name in names}
_AT = {"openat": 0, "renameat": 0, "renameat2": 0, "linkat": 0, "unlinkat": 0, "mkdirat": 0}
"""Calls whose first argument is a folder, and the second a path in it; others of KINDS by name begin with the path."""

PATIENCE = 120
"""Seconds without any call, after which what runs is taken for stuck."""

_NOTIFY, _ALLOW = 0x7FC00000, 0x7FFF0000
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ANONYMOUS = 0x20
_NEW_PRIVILEGES, _SET_FILTER, _LISTEN = 38, 1, 8
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CONTINUE = 1
_NOTE, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_HERE = -100


class _Step(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("yes", ctypes.c_ubyte), ("no", ctypes.c_ubyte), ("k", ctypes.c_uint)]


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.POINTER(_Step))]


def supported() -> bool:
    """Say whether this system lets a process watch the calls of its children."""
    if platform.system() != "Linux" or platform.machine() not in _NUMBERS:
        return False
    child = os.fork()
    if not child:
        try:
            os._exit(0 if _listener() >= 0 else 1)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _listener() -> int:
    """Let the calls of this process and its children wait for answers; return where they are asked."""
    numbers = _NUMBERS[platform.machine()]
    others = [number for name, number in numbers.items() if name != "mmap"]
    steps = [_Step(_LOAD, 0, 0, 0)]
    steps += [_Step(_EQUAL, len(others) - i + 3, 0, number) for i, number in enumerate(others)]
    steps += [
        _Step(_EQUAL, 0, 2, numbers["mmap"]), _Step(_LOAD, 0, 0, 16 + 8 * 3), _Step(_ANY_BIT, 1, 0, _ANONYMOUS),
        _Step(_RETURN, 0, 0, _ALLOW), _Step(_RETURN, 0, 0, _NOTIFY),
    ]  # fmt: skip
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_NEW_PRIVILEGES, 1, 0, 0, 0)
    program = _Program(len(steps), (_Step * len(steps))(*steps))
    return library.syscall(_SECCOMP[platform.machine()], _SET_FILTER, _LISTEN, ctypes.byref(program))


@dataclass(frozen=True)
class Fault:
    """What happens at one call.

    Attributes
    ----------
    kind, number : the number-th call of a kind, from 1 on
    how : number of the error that it gives, or "kill": the process that calls ends, or "kill all": its group does
    lasting : whether all later calls of the kind fail too
    """

    kind: str
    number: int
    how: int | str
    lasting: bool = False

    def __str__(self) -> str:
        how = errno.errorcode[self.how] if isinstance(self.how, int) else self.how
        return f"{self.kind} {self.number}{' and later' if self.lasting else ''}: {how}"


@dataclass
class Watched:
    """What became of a process whose calls were counted.

    Attributes
    ----------
    calls : how many of each kind there were
    hit : the call that failed, by its name and path; None where there were fewer
    code : as of `os.waitstatus_to_exitcode`
    stays : whether something of it was still there, and did nothing, after `PATIENCE`
    """

    calls: Counter[str] = field(default_factory=Counter[str])
    hit: str | None = None
    code: int = 0
    stays: bool = False


def watch(run: Callable[[], None], below: Path, fault: Fault | None = None) -> Watched:
    """Run a function in a copy of this process, the leader of its group, and let one of its calls fail."""
    ours, theirs = socket.socketpair()
    child = os.fork()
    if not child:
        try:
            os.setsid()
            ours.close()
            listener = _listener()
            socket.send_fds(theirs, [b"!"], [listener])
            os.close(listener)
            theirs.close()
            run()
        finally:
            os._exit(99)
    theirs.close()
    _, (listener, *_), _, _ = socket.recv_fds(ours, 1, 1)
    ours.close()
    found = Watched()
    try:
        _answer(listener, child, str(below.resolve()), fault, found)
    finally:
        os.close(listener)
    found.code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return found


def _answer(listener: int, group: int, below: str, fault: Fault | None, found: Watched) -> None:
    """Answer all calls until nobody is left who could call."""
    names = {number: name for name, number in _NUMBERS[platform.machine()].items()}
    poll = select.poll()
    poll.register(listener, select.POLLIN)
    met = set[int]()
    while True:
        events = poll.poll(1000 * PATIENCE)
        if not events:
            found.stays = True
            _end_watched({group, *met})
            return
        if not events[0][1] & select.POLLIN:
            return
        note = bytearray(_NOTE.size)
        try:
            fcntl.ioctl(listener, _RECEIVE, note)
        except OSError:  # it has ended meanwhile
            continue
        id_, pid, _, number, _, _, *arguments = _NOTE.unpack(note)
        met.add(pid)
        name = names[number]
        what = _about(name, pid, arguments, below)
        failing = False
        if what is not None:
            kind = _KIND[name]
            found.calls[kind] += 1
            if fault is not None and fault.kind == kind:
                at = found.calls[kind]
                failing = at == fault.number or (fault.lasting and at > fault.number)
        if failing and fault is not None and found.hit is None:
            found.hit = f"{name} {what}"
        killed = failing and fault is not None and isinstance(fault.how, str)
        if killed and _end(_process(pid), group if fault.how == "kill all" else None):
            continue  # no answer: with one, the call would still take place before the end
        how = fault.how if failing and fault is not None and isinstance(fault.how, int) else 0
        answer = _ANSWER.pack(id_, 0, 0 if name == "brk" else -how, 0 if how else _CONTINUE)
        try:
            fcntl.ioctl(listener, _SEND, bytearray(answer))
        except OSError:  # it has ended meanwhile
            continue


def _about(name: str, pid: int, arguments: list[int], below: str) -> str | None:
    """Return what a call is about, None where it is not about the trial."""
    if name == "brk":
        return "more of the heap" if arguments[0] else None  # else it asks where the heap ends
    if name == "mmap":
        return f"{arguments[1]} bytes"
    try:
        if _KIND[name] in ("open", "name", "remove"):
            folder = f"/proc/{pid}/cwd"
            if name in _AT:
                at, *arguments = arguments
                at = ctypes.c_int(at & 0xFFFFFFFF).value
                folder = folder if at == _HERE else f"/proc/{pid}/fd/{at}"
            path = os.path.normpath(os.path.join(os.readlink(folder), os.fsdecode(_text(pid, arguments[0]))))
        else:
            path = os.readlink(f"/proc/{pid}/fd/{arguments[0]}")
    except (OSError, ValueError):
        return None
    inside = path.startswith(below + "/") or path == below
    return path.removeprefix(below).lstrip("/") or "." if inside else None


def _text(pid: int, address: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        found = memory.read(min(4096, 4096 - address % 4096))
        if b"\0" not in found:
            found += memory.read(4096)
    return found.partition(b"\0")[0]


def _end(process: int, group: int | None) -> bool:
    """End a process, or a whole group; say whether the process is among what ended: a reader has a group of its own."""
    if group is None:
        os.kill(process, signal.SIGKILL)
        return True
    inside = os.getpgid(process) == group
    os.killpg(group, signal.SIGKILL)
    return inside


def _end_watched(threads: set[int]) -> None:
    """End those whose calls are still watched: a number may be another's by now."""
    for thread in threads:
        with suppress(OSError):
            if "Seccomp:\t2" in Path(f"/proc/{thread}/status").read_text():
                os.kill(thread, signal.SIGKILL)


def _process(thread: int) -> int:
    """Return the process of a thread."""
    with open(f"/proc/{thread}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("Tgid:"))
