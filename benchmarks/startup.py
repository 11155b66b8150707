"""How long a user waits before anything happens: the command and the import, beside a plain interpreter and numpy.

Run: python benchmarks/startup.py. Every figure is the least of several fresh processes, taken in turns.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 7
ROOT = Path(__file__).parent.parent
CHANNEL = "secret,yes,no\nill,0.75,0.25\nwell,0.25,0.75\n"

Case = tuple[list[str], str | None]


def cases(channel: Path) -> dict[str, Case]:
    """Return what to start, and the row that it is compared with."""
    divulge = ["-m", "divulge"]
    return {
        "python -c pass": (["-c", "pass"], None),
        "import numpy": (["-c", "import numpy"], "python -c pass"),
        "import divulge": (["-c", "import divulge"], "import numpy"),
        "import divulge, numpy": (["-c", "import divulge, numpy"], "import numpy"),
        "divulge --version": ([*divulge, "--version"], "python -c pass"),
        "divulge --help": ([*divulge, "--help"], "python -c pass"),
        "divulge measure FILE --prior uniform": (
            [*divulge, "measure", str(channel), "--prior", "uniform"],
            "import numpy",
        ),
    }


def seconds(arguments: list[str]) -> float:
    """Return how long a fresh interpreter takes for these arguments."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - start


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        channel = Path(folder, "channel.csv")
        channel.write_text(CHANNEL)
        chosen = cases(channel)
        rounds = [{name: seconds(arguments) for name, (arguments, _) in chosen.items()} for _ in range(ROUNDS)]
    least = {name: min(times[name] for times in rounds) for name in chosen}
    print(f"{'':<38} {'seconds':>8} {'ratio':>7}")
    for name, (_, other) in chosen.items():
        beside = f"{least[name] / least[other]:7.2f}  x {other}" if other else ""
        print(f"{name:<38} {least[name]:8.3f} {beside}")


if __name__ == "__main__":
    main()
