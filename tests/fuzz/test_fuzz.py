"""Whatever is in the files and on the command line: an answer or one message, a documented exit code, bounded work.

python tests/fuzz/test_fuzz.py [SECONDS] [FIRST_SEED]     (make fuzz) as long as wanted; prints each seed that fails
"""

import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support import THOROUGH, few

from divulge.cli.main import COMMANDS
from fuzz import faults
from fuzz.cases import command_line
from fuzz.formats import structured
from fuzz.good import chain
from fuzz.harness import MARK, NO, Outcome, Surroundings, run
from fuzz.kernel import supported
from fuzz.lines import GOOD, WORDS, good_files, near, options_of, write_files

KINDS: dict[str, Callable[[random.Random, Path], list[str]]] = {
    "files": command_line,
    "lines": near,
    "formats": structured,
}
"""Where a command line comes from: files with one fault each, good lines with a change, files of odd structure."""


def lets_others_out(arguments: list[str]) -> bool:
    """Say whether a release lets other columns out: --only-column is not there, or is the value of another option."""
    valued = {word for option in options_of("release").values() if not option.is_flag for word in option.opts}
    pairs = pairwise(arguments)
    return arguments[0] == "release" and not any(b == "--only-column" and a not in valued for a, b in pairs)


def standard_input(rng: random.Random) -> bytes:
    """Return what comes from standard input: a table, a file of another kind, or bytes of none."""
    files = good_files()
    return rng.choice([
        b"x,y\na,b\n", b"x,y\na,b\n", rng.randbytes(50), b"", files["t.csv"], files["c.csv"], files["p.csv"],
        files["l.json"], files["o.receipt.json"], b"PAR1" + rng.randbytes(50) + b"PAR1", b"ARROW1" + bytes(50),
        b"PK\x03\x04" + bytes(50), files["t.csv"].replace(b"\n", b"\r\n") * 9,
    ])  # fmt: skip


def surroundings(rng: random.Random) -> Surroundings:
    """Return mostly the usual surroundings of a command, else others."""
    if rng.random() < 0.7:
        return Surroundings()
    environment = rng.choice([
        ("DIVULGE_LIMIT", rng.choice(WORDS).replace("\0", "")), ("DIVULGE_LIMIT", "rows=3"), ("TZ", "Nowhere/Zone"),
        ("TMPDIR", "/nowhere"), ("HOME", "/nowhere"), ("COLUMNS", "1"), ("NO_COLOR", "1"), ("LANG", "tr_TR.UTF-8"),
        ("DIVULGE_LEDGER", rng.choice(["/nowhere/b.sqlite", "t.csv", "dir", "sqlite://", "postgresql://h/x", ""])),
    ])  # fmt: skip
    return Surroundings(
        (environment,), rng.choice(["utf-8", "ascii", "latin-1"]), rng.choice([None, None, 0, 900, 20_000])
    )


def outcome_of(kind: str, seed: int) -> tuple[Outcome, list[str]]:
    """Return how the command line of a seed ended, and what may not be."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        arguments = KINDS[kind](rng, folder)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}
        outcome = run(arguments, folder, standard_input(rng), surroundings(rng))
        problems = outcome.problems()
        for path in folder.rglob("*"):
            if path.is_symlink() or not path.is_file() or path in before:
                continue
            if MARK.encode() in path.read_bytes() and not lets_others_out(arguments):
                problems.append(f"writes a secret cell to {path.name}")
            if ".partial" in path.name:
                problems.append(f"leaves {path.name}")
        written = {"book.sqlite", "default.sqlite", "empty"}
        problems += [
            f"changes {path.name}, which it reads"
            for path, content in before.items()
            if path.name not in written
            and "--force" not in arguments
            and path.exists()
            and path.read_bytes() != content
        ]
    return outcome, problems


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs each command in a copy of this process")
@settings(max_examples=few(40), deadline=None)
@given(st.sampled_from(list(KINDS)), st.integers(0, 2**32 - 1))
def test_whatever_is_asked_there_is_an_answer_or_one_message(kind: str, seed: int) -> None:
    outcome, problems = outcome_of(kind, seed)
    assert not problems, (seed, outcome)


def chain_of(seed: int) -> tuple[list[Outcome], list[str]]:
    """Return how the good lines of a seed ended, each about what the ones before it left, and what may not be."""
    with tempfile.TemporaryDirectory() as name:
        found = chain(random.Random(seed), Path(name))
    return found.lines, found.problems


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs each command in a copy of this process")
@pytest.mark.parametrize("seed", range(20) if THOROUGH else [14])  # a design is used
def test_what_a_command_leaves_the_next_one_takes(seed: int) -> None:
    _, problems = chain_of(seed)
    assert not problems, seed


@pytest.mark.skipif(not supported(), reason="the kernel lets no process watch the calls of its children")
@pytest.mark.parametrize("name", faults.LINES if THOROUGH else ["release over another"])
def test_all_is_published_or_nothing_whichever_call_fails(name: str) -> None:
    """As a process of its own: the ones that it starts are copies of it."""
    places = ("61", "0") if THOROUGH else ("419", "330")  # these are calls that write, and wait for the disk
    line = [sys.executable, faults.__file__, *places, name]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert int(done.stdout.splitlines()[-1].split()[0]) > 0


def test_every_command_and_every_option_is_tried() -> None:
    """A new command has a good line here, which works; its options are then found by themselves."""
    assert set(GOOD) == set(COMMANDS)
    bounded = set(COMMANDS) - {"run", "verify"}  # a request says what is read and how much of it, a paper is small
    assert all("--ledger" in options_of(name) or "--limit" in options_of(name) for name in bounded)


@pytest.mark.parametrize("line", [(name, *line) for name, lines in GOOD.items() for line in lines], ids=" ".join)
@pytest.mark.thin
def test_good_lines_are_good(line: tuple[str, ...], tmp_path: Path) -> None:
    write_files(tmp_path)
    outcome = run(list(line), tmp_path)
    answers = {*NO, "assess", "verify"} - {"check", "compare"}
    assert outcome.code in ((2,) if line[0] == "app" else (0, 1) if line[0] in answers else (0,)), outcome


def main(seconds: float = 3600, first: int = 0) -> int:
    """Try one seed after the other, of every kind; print what fails, and return how many did."""
    start, seed, failed, injected, codes = time.monotonic(), first, 0, 0, dict[int, int]()
    # Commands run in copies of the process that makes their files: it is a new one now and then, as files leave memory.
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=_FRESH) as maker:
        while time.monotonic() - start < seconds:
            for kind in KINDS:
                outcome, problems = maker.submit(outcome_of, kind, seed).result()
                codes[outcome.code] = codes.get(outcome.code, 0) + 1
                if problems:
                    failed += 1
                    said = f"{'; '.join(problems)}\n  {outcome.arguments}\n  {outcome.err[-1500:]}"
                    print(f"{kind} {seed}: {said}", flush=True)
            ended, problems = maker.submit(chain_of, seed).result()
            for outcome in ended:
                codes[outcome.code] = codes.get(outcome.code, 0) + 1
            failed += bool(problems)
            for problem in problems:
                print(f"good lines {seed}: {problem}", flush=True)
            if supported():
                line = [*faults.LINES][seed % len(faults.LINES)]
                lost, total = maker.submit(faults.tallied, _SHARE, seed, [line]).result()
                failed += len(lost)
                injected += total.total()
                for trial in lost:
                    print(f"faults {seed}: {trial}", flush=True)
            seed += 1
    codes = dict(sorted(codes.items()))
    print(f"{sum(codes.values())} command lines, exit codes {codes}, {injected} faults injected, {failed} failed")
    return failed


_SHARE = 97
"""Of the places where a line can fail, a seed tries one in so many."""

_FRESH = 300
"""Command lines that one process makes."""


if __name__ == "__main__":
    sys.exit(min(main(*map(float, sys.argv[1:2]), *map(int, sys.argv[2:3])), 1))
