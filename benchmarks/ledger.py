"""Releases a second that writers get through one ledger, while they race for one budget.

    python benchmarks/ledger.py [URL ...] [--writers 24]

A URL is what SQLAlchemy takes, such as postgresql+psycopg://user@host/name; without one, an SQLite file. Every writer
is a process of its own that releases until the budget is spent. Stops with an error when anything but exactly the
budget was spent.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from secrets import token_hex

import divulge as dv

ALLOWED = 40

WRITER = """
import sys
import pyarrow as pa
import divulge as dv
coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
survey, book, done, spent = pa.table({"answer": ["yes", "no"]}), dv.Ledger(sys.argv[1]), 0, False
dv.release(survey, column="answer", mechanism=coin, ledger=book, source_name=sys.argv[2] + " before the race")
print("ready", flush=True)
sys.stdin.readline()
while not spent:
    try:
        dv.release(survey, column="answer", mechanism=coin, ledger=book, source_name=sys.argv[2],
                   budget=f"ldp={sys.argv[3]}")
        done += 1
    except dv.DivulgeError as error:
        spent = "nothing was drawn" in str(error)
        if not spent:
            raise
print(done)
"""


def race(url: str, writers: int) -> tuple[int, float]:
    """Return how many releases went through, and the seconds they took."""
    name, budget = token_hex(8), f"{(ALLOWED + 0.5) * 1.0986122886681098}"
    command = [sys.executable, "-c", WRITER, url, name, budget]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, **pipes) for _ in range(writers)]
    for writer in running:
        writer.stdout.readline()
    start = time.perf_counter()
    for writer in running:
        writer.stdin.write("go\n")
        writer.stdin.flush()
    done = sum(int(writer.communicate()[0]) for writer in running)
    seconds = time.perf_counter() - start
    if not done == len(dv.Ledger(url).entries(name)) == ALLOWED:
        raise SystemExit(f"{ALLOWED} releases were allowed, and {done} went through")
    return done, seconds


def main(urls: list[str], writers: int) -> None:
    """Print a line a database."""
    with tempfile.TemporaryDirectory() as folder:
        for url in urls or [str(Path(folder) / "ledger.sqlite")]:
            done, seconds = race(url, writers)
            kind = url.partition(":")[0] if "://" in url else "sqlite"
            print(f"{kind:24} {writers} writers: {done} of {done} releases, {done / seconds:6.1f} a second")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("urls", nargs="*", metavar="URL")
    parser.add_argument("--writers", type=int, default=24)
    given = parser.parse_args()
    main(given.urls, given.writers)
