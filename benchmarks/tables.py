"""Whole tables beside pyCANON and anjana: the same measures and a coarsening of Adult, all in one run.

    python benchmarks/tables.py [--peers PYTHON]

The peers ask for versions of libraries that do not go with ours. So they run in an environment of their own, which is
made here in a folder that goes away, or is that of PYTHON. Seconds are of the processor, without imports.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import pyarrow.csv

import divulge as dv
from divulge.datasets import adult, adult_hierarchies

PEERS = ("pycanon==1.3.5", "anjana==1.2.3")
SECRET = "occupation"
K = 5

CHILD = """
import json, os, sys, time, warnings
out = os.dup(1)
os.dup2(2, 1)  # what the peers print is none of our answers
warnings.simplefilter("ignore")
import pandas as pd
table, folder, secret, k = sys.argv[1:]
data = pd.read_csv(table)
known = [name for name in data.columns if name != secret]
from pycanon import anonymity
import anjana.anonymity
ladders = {}
for name in known:
    rows = pd.read_csv(f"{folder}/{name}.csv", sep=";", header=None, dtype=str)
    ladders[name] = {level: rows[level].values for level in rows.columns}
text = data.astype(str)
def coarse():
    out = anjana.anonymity.k_anonymity(text, [], known, int(k), 0, ladders)
    sizes = out.groupby(known, dropna=False).size()
    return {"k": int(sizes.min()), "discernibility": int((sizes * sizes).sum())}
tasks = {
    "pyCANON k": lambda: int(anonymity.k_anonymity(data, known)),
    "pyCANON l": lambda: int(anonymity.l_diversity(data, known, [secret])),
    "pyCANON t": lambda: float(anonymity.t_closeness(data, known, [secret])),
    "anjana generalize": coarse,
}
for name in sys.stdin:
    start = time.process_time()
    try:
        told = {"answer": tasks[name.strip()]()}
    except Exception as error:
        told = {"wrong": type(error).__name__}
    os.write(out, (json.dumps(told | {"seconds": time.process_time() - start}) + "\\n").encode())
"""


def environment(folder: str) -> str:
    """Make an environment with the peers in a folder, and return its interpreter."""
    venv.create(folder, with_pip=True)
    python = f"{folder}/bin/python"
    subprocess.run([python, "-m", "pip", "install", "-q", *PEERS], check=True, stdout=sys.stderr)
    return python


class Peers:
    """The peers in a process of their own, which has the table and is asked for one piece of work after the other."""

    def __init__(self, python: str, known: list[str], folder: str) -> None:
        pyarrow.csv.write_csv(adult().select([*known, SECRET]), f"{folder}/adult.csv")
        for name in known:
            Path(f"{folder}/{name}.csv").write_text(Path(adult_hierarchies()[name]).read_text())
        command = [python, "-c", CHILD, f"{folder}/adult.csv", folder, SECRET, str(K)]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name: str) -> dict[str, Any]:
        """Return the answer of a peer and the seconds of the processor that it took, or what went wrong."""
        assert self.child.stdin
        assert self.child.stdout
        with contextlib.suppress(BrokenPipeError):
            self.child.stdin.write(f"{name}\n")
            self.child.stdin.flush()
        told = self.child.stdout.readline()
        if not told:
            raise LookupError("the peers did not run")
        return json.loads(told)

    def close(self) -> None:
        """End the process."""
        self.child.communicate()


def ours(known: list[str]) -> dict[str, dict[str, Any]]:
    """Return what is measured here, and how long it takes."""
    table, ladders = adult(), {name: adult_hierarchies()[name] for name in known}
    dv.assess(table.slice(0, 100), known, SECRET).measures()  # libraries are read at first use
    dv.generalize(table.slice(0, 100), known, SECRET, guarantees="k=2", hierarchies=ladders)
    found: dict[str, dict[str, Any]] = {}

    def timed(name: str, work: Any) -> Any:
        start = time.process_time()
        answer = work()
        found[name] = {"seconds": time.process_time() - start}
        return answer

    told = timed("Divulge all measures", lambda: dv.assess(table, known, SECRET, pairs=False))
    start = time.process_time()
    measures = told.measures()
    found["Divulge all measures"]["seconds"] += time.process_time() - start
    found["Divulge all measures"]["answer"] = {name: float(measures[name]) for name in ("k", "distinct_l", "t")}
    for how in ("global", "local"):
        done = timed(
            f"Divulge generalize, {how}",
            lambda how=how: dv.generalize(
                table, known, SECRET, guarantees=f"k={K}", hierarchies=ladders, loss="discernibility", recoding=how
            ),
        )
        found[f"Divulge generalize, {how}"]["answer"] = {"k": done.assessment.k, "discernibility": int(done.loss)}
    return found


def peers(python: str, known: list[str]) -> dict[str, dict[str, Any]]:
    """Return what the peers measure on the same table, in a process of their own."""
    with tempfile.TemporaryDirectory() as folder:
        child = Peers(python, known, folder)
        try:
            return {name: child.ask(name) for name in ("pyCANON k", "pyCANON l", "pyCANON t", "anjana generalize")}
        finally:
            child.close()


def main() -> None:
    """Print seconds and answers of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has pycanon and anjana")
    asked = parser.parse_args()
    known = [name for name in adult().column_names if name != SECRET]
    found = ours(known)
    if asked.peers:
        found |= peers(asked.peers, known)
    else:
        with tempfile.TemporaryDirectory() as folder:
            found |= peers(environment(folder), known)
    for name, one in found.items():
        seconds = f"{one['seconds']:9.3f} s" if "wrong" not in one else f"{one['wrong']:>11}"
        print(f"{name:28} {seconds}  {one.get('answer', '')}")


if __name__ == "__main__":
    main()
