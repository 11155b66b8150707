"""What is public besides the numbers is the same on a processor of twenty years ago."""

import os
import subprocess
import sys
from difflib import unified_diff
from pathlib import Path

from processors import settings
from support import THOROUGH, fresh_seed

ROOT = Path(__file__).parent


def said(processor: dict[str, str], *arguments: str) -> list[str]:
    """Return the lines of machines.py, run as on a processor."""
    path = os.pathsep.join([*sys.path, os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, ROOT / "machines.py", *arguments],
        capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path} | processor,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_labels_pairs_orders_and_methods_do_not_depend_on_the_processor() -> None:
    number = fresh_seed()
    seed, both = str(number), ("geometric", "mirrored")
    names = both if THOROUGH else both[number % 2 :][:1]
    here, there = (said(settings(which), seed, *names) for which in ("newest", "oldest"))
    assert len(here) > 30 * len(names)
    difference = "\n".join(unified_diff(here, there, "the newest", "the oldest", lineterm="", n=0))
    assert not difference, f"python tests/machines.py {seed} {' '.join(names)}: {difference}"
