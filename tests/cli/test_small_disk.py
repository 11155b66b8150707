"""A disk of 64 KiB: nothing half written stays, the message names the cause, and what was there before is unharmed."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import THOROUGH

SCRIPT = Path(__file__).with_name("small_disk.py")

# how a small disk is had, from the most real to what is always there -> the command that mounts one at $1
MOUNTS = {
    "unshare": ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=64k small "$1" && shift && exec "$@"', "sh"],
    "sudo": [
        "sudo",
        "-n",
        "unshare",
        "-m",
        "sh",
        "-c",
        'mount -t tmpfs -o size=64k small "$1" && shift && exec "$@"',
        "sh",
    ],
}


def route_to(folder: Path) -> list[str]:
    """Return the way to a small disk that this machine has; nothing where no process may mount one."""
    for command in MOUNTS.values():
        try:
            if not subprocess.run([*command, str(folder), "true"], capture_output=True).returncode:
                return [*command, str(folder)]
        except OSError:  # no such program
            continue
    return []


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, list[dict[str, Any]]]:
    """Return the route that was taken, and what came of each line with each room."""
    folder, place = tmp_path_factory.mktemp("disk"), tmp_path_factory.mktemp("place")
    mounted = route_to(folder)
    route = "disk" if mounted else "limit"
    done = subprocess.run(
        [*mounted, sys.executable, str(SCRIPT), str(folder), str(place), route],
        capture_output=True, text=True, env=os.environ | {"DIVULGE_LEDGER": str(place / "other.sqlite")},
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return f"{route} ({' '.join(mounted[:2]) or 'RLIMIT_FSIZE'})", [
        json.loads(line) for line in done.stdout.splitlines()
    ]


@pytest.mark.long
def test_a_full_disk_leaves_everything_as_it_was(
    found: tuple[str, list[dict[str, Any]]], record_property: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    route, tried = found
    record_property("route", route)
    with capsys.disabled():
        print(f" [a full disk by way of {route}] ", end="")
    assert len(tried) == 12 * (3 if THOROUGH else 1)
    for one in tried:
        assert one["code"] == 2, (route, one)
        assert one["said"].count("error: ") == 1, (route, one)
        assert any(cause in one["said"] for cause in ("No space left", "File too large", "disk is full")), (route, one)
        assert one["kept"], (route, one)
        assert one["entries"] == 0, (route, one)
        assert set(one["left"]) <= {one["old"], "new.sqlite" if "ledger" in one["name"] else one["old"]}, (route, one)
