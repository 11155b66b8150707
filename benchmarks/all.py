"""Every kind of work over its sizes, beside peers and physical limits: the table of goals, JSON and pictures.

    python benchmarks/all.py [--quick] [--only WORD] [--minutes 20] [--no-pictures]
    python benchmarks/all.py --processor oldest [--only WORD] [--minutes 7]
    python benchmarks/all.py --compare COMMIT [--only WORD] [--minutes 20]

Every kind runs in a process of its own, which is ended when its share of the time is used up. Ours and the others take
five turns, in each of which the least time of some laps counts; goals are about the median of the five ratios, never
about seconds. Memory is the most that Python's allocators (of a release: its process) held.
The last run, docs/benchmarks/results.json, is read first: what has become slower or faster since is said in ratios of
the peer or limit, on which machines agree where seconds differ. The exit code is 1 when a goal was missed, and 130 of
a run that was interrupted, which writes nothing. With `--compare` the sources as they are and those of a commit take
turns, the same work in both, and the medians of their ratios are printed; 1 is returned when one is above 1.1. With
`--processor` everything computes as on the oldest processor, or with the widest vectors of this one on two threads
(tests/processors.py); its ratios go beside those of the last run, as `imitated`.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "docs" / "benchmarks"
RESULTS = FOLDER / "results.json"
LIBRARIES = (
    "divulge", "numpy", "scipy", "numba", "highspy", "python-flint", "pyarrow", "cryptography", "duckdb", "qif",
    "prv-accountant", "pure-ldp", "multi-freq-ldpy", "typer",
)  # fmt: skip
OURS = "divulge"
STYLES = {OURS: ("o-", "#0072B2"), "peer": ("s--", "#D55E00"), "limit": ("^:", "#555555")}
TURNS, MOST_ROUNDS = 5, 8
ROW = "row: "
LAP = 2e-3
"""Seconds that one measured lap takes at least: what is shorter is repeated."""


def loaded() -> Any:
    """Return the package of what is timed, with no file of this folder in the way of a library of the same name."""
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != HERE]
    spec = importlib.util.spec_from_file_location("growth", HERE / "growth" / "__init__.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["growth"] = module
    spec.loader.exec_module(module)
    return module


# One kind of work, in a process of its own.


def lap(task: Any, times: int) -> float:
    """Return the seconds of a task, on average over so many calls."""
    start = time.perf_counter()
    for _ in range(times):
        task()
    return (time.perf_counter() - start) / times


Times = dict[str, float]


def median(several: Iterable[float]) -> float:
    """Return the middle one: there is a file named statistics beside this one."""
    found = sorted(several)
    return found[len(found) // 2]


def in_turns(tasks: dict[str, Any], first: Times, seconds: float) -> tuple[Times, Times]:
    """Return medians over turns: of the least time of each task, and of ours over each in the same turn.

    In a turn all tasks take as many laps as there is time for. What takes longer than a few times the seconds has fewer
    turns; what takes longer at once has its first lap.
    """
    first = {
        name: min(first[name], lap(task, 1)) if first[name] < seconds else first[name] for name, task in tasks.items()
    }
    times = {name: max(1, min(2000, int(LAP / max(first[name], 1e-7)))) for name in tasks}
    round_takes = sum(first[name] * times[name] for name in tasks)
    turns = min(TURNS, int(3 * seconds / round_takes))
    rounds = max(1, min(MOST_ROUNDS, int(seconds / TURNS / round_takes)))
    found = [] if turns else [first]
    for _ in range(turns):
        best = dict.fromkeys(tasks, float("inf"))
        for _ in range(rounds):
            best = {name: min(best[name], lap(task, times[name])) for name, task in tasks.items()}
        found.append(best)
    middle = {name: median(turn[name] for turn in found) for name in tasks}
    return middle, {name: median(turn[OURS] / turn[name] for turn in found) for name in tasks}


def held(task: Any) -> int:
    """Return the most bytes that Python's allocators held during a task, or what a task says of its process."""
    tracemalloc.start()
    found = task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found if type(found) is int and found > peak else peak


def measured(title: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Yield for each size {size, seconds and ratios by name, missing, wrong, bytes where it took under 2 s}."""
    work = next(one for one in loaded().WORK if one.title == title)
    slow: set[str] = set()
    for i, size in enumerate(work.sizes):
        tasks, first, missing, wrong = {}, {}, {}, ""
        for name, maker in {OURS: work.ours, **work.beside}.items():
            if name in slow:
                missing[name] = "too slow for this size"
                continue
            try:
                task = maker(size)
                start = time.perf_counter()
                answer = task()
                first[name] = time.perf_counter() - start
                tasks[name] = task
            except (ImportError, LookupError) as error:
                missing[name] = "not installed" if isinstance(error, ImportError) else str(error)
                continue
            if name == OURS:
                wrong = work.check(answer)
        if OURS not in tasks:
            yield {"size": size, "seconds": {}, "ratios": {}, "missing": missing, "bytes": None, "wrong": missing[OURS]}
            continue
        share = seconds * (0.5 if i == len(work.sizes) - 1 else 0.5 / max(1, len(work.sizes) - 1))
        taken, ratios = in_turns(tasks, first, share)
        slow |= {name for name, one in taken.items() if name != OURS and one > share}
        used = held(tasks[OURS]) if taken[OURS] < 2 else None
        yield {
            "size": size, "seconds": taken, "ratios": ratios, "missing": missing, "wrong": wrong, "bytes": used,
        }  # fmt: skip


# All of them.


def imitating(processor: str) -> dict[str, str]:
    """Return the settings under which this machine computes as another."""
    spec = importlib.util.spec_from_file_location("processors", HERE.parent / "tests" / "processors.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.settings(processor)


def grown(
    title: str, seconds: float, sources: Path = HERE.parent / "src", processor: str | None = None
) -> list[dict[str, Any]]:
    """Return what a process of its own, by these sources, has measured of a kind of work until its time was up."""
    command = [sys.executable, str(HERE / "all.py"), "--row", title, "--seconds", f"{seconds:g}"]
    environment = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"} | dict(os.environ)
    environment |= imitating(processor) if processor else {}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # what Python compiled is kept, as on a machine of a user
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(sources), os.environ.get("PYTHONPATH"))))
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, env=environment | {"TMPDIR": folder}, **pipes) as child,
    ):
        try:
            out, said = child.communicate(timeout=4 * seconds + 30)
        except BaseException as error:
            child.kill()
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            out, said = child.communicate()
    found = [json.loads(line.removeprefix(ROW)) for line in out.split("\n") if line.startswith(ROW)]
    if child.returncode and not found:
        print(f"{title}: {said.strip().splitlines()[-1] if said.strip() else 'ended when its time was up'}")
    return found


def compared(work: Any, found: list[dict[str, Any]], limits: frozenset[str]) -> list[dict[str, Any]]:
    """Return a row for each goal, at the size where it is nearest to being missed; one without goals has one row."""
    rows = []
    for goal in work.goals or (None,):
        asked = goal.sizes if goal and goal.sizes else work.sizes[-1:]
        needed = goal.of if goal and goal.of else OURS
        chosen = [one for one in found if one["size"] in asked and {OURS, needed} <= one["seconds"].keys()]
        over = [one["ratios"][needed] for one in chosen]
        ratio = max(over, default=None)
        at = chosen[over.index(ratio)] if ratio else nowhere(found, asked, needed)
        times, wrong = at["seconds"], "; ".join(sorted({one["wrong"] for one in chosen if one["wrong"]}))
        peers = [
            name for name in (needed, *work.beside) if name in work.beside and name not in limits and name in times
        ]
        bounds = [name for name in (needed, *work.beside) if name in limits and name in times]
        peer, limit = next(iter(peers), None), next(iter(bounds), None)
        reached = None if goal is None or ratio is None else ratio <= goal.most and not wrong
        rows.append({
            "work": work.title, "what": work.what, "size": at["size"], "seconds": times.get(OURS),
            "peer": peer, "peer_seconds": times.get(peer), "limit": limit, "limit_seconds": times.get(limit),
            "ratio": ratio if needed != OURS else at["ratios"][peer] if peer else None,
            "goal": str(goal or ""), "of": goal.of if goal else None, "most": goal.most if goal else None,
            "reached": reached, "wrong": wrong, "bytes": at["bytes"], "missing": at["missing"],
        })  # fmt: skip
    return rows


def nowhere(found: list[dict[str, Any]], asked: Sequence[int], needed: str) -> dict[str, Any]:
    """Return an empty measurement, with why what a goal needs was missing."""
    why = {name: text for one in found if one["size"] in asked for name, text in one["missing"].items()}
    return {"size": asked[-1], "seconds": {}, "bytes": None, "missing": why or {needed: "its time was up"}}


def since(row: dict[str, Any], last: dict[str, Any]) -> float | None:
    """Return the time of a row over that of the last run, each in units of its peer or limit where both have one."""
    same = ("work", "goal", "size")
    then = next((one for one in last.get("rows", ()) if all(one.get(k) == row.get(k) for k in same)), None)
    if then is None or not then.get("seconds") or not row.get("seconds"):
        return None
    unit = next((k for k in ("limit_seconds", "peer_seconds") if row.get(k) and then.get(k)), None)
    return (row["seconds"] / (row[unit] if unit else 1.0)) / (then["seconds"] / (then[unit] if unit else 1.0))


def shown(row: dict[str, Any]) -> str:
    """Return a row as people read it."""
    if not row.get("seconds"):
        return f"{row['work']:27} {'':>12} {'':>11} {'':>9}  {row['goal']:40} NOT MEASURED {row['missing']}"
    size = f"{row['size']:,}" if row["what"] else ""
    ratio = f"{row['ratio']:.2f}" if row["ratio"] else ""
    verdict = "" if row["reached"] is None else "reached" if row["reached"] else "MISSED"
    asides = [row["wrong"], *(f"{name}: {why}" for name, why in row["missing"].items())]
    if row.get("since"):
        asides.append(f"{row['since']:.2f} of the last run")
    aside = "; ".join(filter(None, asides))
    return f"{row['work']:27} {size:>12} {clock(row['seconds']):>11} {ratio:>9}  {row['goal']:40} {verdict:8} {aside}"


def compare(commit: str, works: Sequence[Any], seconds: float) -> int:
    """Print time now over time at a commit, for each kind of work and size; 1 when a median is above `_SLOWER`."""
    slower = 0
    with tempfile.TemporaryDirectory() as folder:
        packed = subprocess.run(
            ["git", "-C", str(HERE.parent), "archive", commit, "src"], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=packed.stdout, check=True)
        for work in works:
            ratios: dict[int, list[float]] = {}
            for turn in range(_ROUNDS):
                places = [HERE.parent / "src", Path(folder) / "src"]
                found = {at: grown(work.title, seconds / _ROUNDS, at) for at in (places if turn % 2 else places[::-1])}
                now, then = (found[at] for at in places)
                before = {one["size"]: one["seconds"].get(OURS) for one in then}
                for one in now:
                    if OURS in one["seconds"] and before.get(one["size"]):
                        ratios.setdefault(one["size"], []).append(one["seconds"][OURS] / before[one["size"]])
            for size, several in ratios.items():
                middle = median(several)
                slower |= middle > _SLOWER
                print(f"{work.title:27} {size:>12,} {middle:9.2f}  of {commit}, {len(several)} rounds", flush=True)
    return int(slower)


_ROUNDS = 5
"""Turns that the two sources take."""

_SLOWER = 1.1
"""Medians of five ratios are off by some percent on a machine that does nothing else."""


def clock(seconds: float) -> str:
    """Return a time with three digits and a unit."""
    scale, unit = next((pair for pair in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")) if seconds >= pair[0]), (1e-9, "ns"))
    return f"{seconds / scale:.3g} {unit}"


def drawn(work: Any, found: list[dict[str, Any]], limits: frozenset[str]) -> dict[str, str]:
    """Draw time and memory over size, all as logarithms, and return {work, file, alt}."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = work.title
    from matplotlib import pyplot as plt
    from matplotlib.ticker import LogLocator

    figure, (ax, beside) = plt.subplots(1, 2, figsize=(8.6, 3.3), layout="constrained")
    ours, taken = [one for one in found if one["seconds"]], set[str]()
    for name in (OURS, *work.beside):
        points = [(one["size"], one["seconds"][name]) for one in ours if name in one["seconds"]]
        style, color = STYLES[OURS if name == OURS else "limit" if name in limits else "peer"]
        if points:
            (line,) = ax.loglog(*zip(*points, strict=True), style, color=color, label=name, markersize=4)
            if color in taken:  # a second peer or limit
                line.set(marker="D", linestyle="-.")
            taken.add(color)
    weighed = [one for one in ours if one["bytes"]]
    sizes, megabytes = [one["size"] for one in weighed], [one["bytes"] / 1e6 for one in weighed]
    beside.loglog(sizes, megabytes, "o-", color=STYLES[OURS][1], markersize=4)
    for axes, label in ((ax, "seconds"), (beside, "megabytes")):
        axes.set_xlabel(work.what)
        axes.set_xticks([one["size"] for one in ours], [f"{one['size']:,}" for one in ours])
        axes.minorticks_off()
        axes.yaxis.set_minor_locator(LogLocator(subs="auto"))
        axes.set_ylabel(label)
        axes.grid(alpha=0.3)
    ax.set_title(f"{work.title}: time")
    beside.set_title("memory")
    ax.legend(fontsize="small")
    FOLDER.mkdir(parents=True, exist_ok=True)
    name = "".join(c if c.isalnum() else "-" for c in work.title.lower()).replace("--", "-").strip("-")
    figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)
    first, last = ours[0], ours[-1]
    alt = (
        f"{work.title}: from {first['size']:,} to {last['size']:,} {work.what} the time grows from "
        f"{clock(first['seconds'][OURS])} to {clock(last['seconds'][OURS])}"
    )
    others = [f"{other} takes {clock(last['seconds'][other])}" for other in work.beside if other in last["seconds"]]
    memory = f"memory from {weighed[0]['bytes'] / 1e6:,.2f} to {weighed[-1]['bytes'] / 1e6:,.2f} MB" if weighed else ""
    return {"work": work.title, "file": f"{name}.svg", "alt": "; ".join(filter(None, [alt, *others, memory]))}


def machine() -> dict[str, Any]:
    """Return the kind of machine and the versions, without the names of either."""
    known = "unknown"
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        known = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    memory = 0
    with contextlib.suppress(ValueError, OSError):
        memory = round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    found = {}
    for name in LIBRARIES:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "date": date.today().isoformat(), "processor": known, "cores": cores, "memory_gib": memory,
        "load": round(os.getloadavg()[0], 1), "python": platform.python_version(), "versions": found,
    }  # fmt: skip


def main() -> int:
    """Measure, print the table, and write results and pictures; the exit code is 1 when a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="3 minutes")
    parser.add_argument("--only", default="", help="kinds of work whose title has this in it")
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--no-pictures", action="store_true")
    parser.add_argument(
        "--compare", metavar="COMMIT", help="take turns with the sources of a commit; nothing is written"
    )
    parser.add_argument("--processor", choices=("oldest", "newest"), help="compute as on another; ratios go beside")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=10.0, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    if asked.row:
        for found in measured(asked.row, asked.seconds):
            print(ROW + json.dumps(found), flush=True)
        return 0
    growth = loaded()
    last = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    where = machine()
    where["versions"]["divulge"] = growth.work.dv.__version__
    chosen = [work for work in growth.WORK if asked.only in work.title]
    seconds = 60 * (3.0 if asked.quick else asked.minutes) / len(growth.WORK) / 2.5
    with prepared(any("whole table" in work.title for work in chosen), growth):
        if asked.compare:
            return compare(asked.compare, chosen, seconds)
        return told(chosen, growth, asked, seconds, last, where)


@contextlib.contextmanager
def prepared(wanted: bool, growth: Any) -> Iterator[None]:
    """Make an environment for the peers of whole tables, unless one is named; without a network they are missing."""
    if not wanted or growth.whole_tables.PEERS in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.suppress(OSError, subprocess.CalledProcessError):
            os.environ[growth.whole_tables.PEERS] = growth.whole_tables.peers().environment(folder)
        yield


def told(chosen: Any, growth: Any, asked: Any, seconds: float, last: dict[str, Any], where: dict[str, Any]) -> int:
    """Measure what was chosen, print and write it; return the exit code."""
    kept = {
        "rows": last.get("rows", []) if asked.only else [],
        "pictures": last.get("pictures", []) if asked.only or asked.no_pictures else [],
    }
    sizes, missed = dict(last.get("growth", {})) if asked.only else {}, False
    print(f"{'work':27} {'size':>12} {'time':>11} {'ratio':>9}  {'asked':34}")
    for work in chosen:
        found = grown(work.title, seconds, processor=asked.processor)
        rows = compared(work, found, growth.LIMITS)
        for row in rows:
            row["since"] = None if asked.processor else since(row, last)
            print(shown(row), flush=True)
        if asked.processor:
            missed |= any(row["goal"] and row["reached"] is False for row in rows)
            for row, known in ((row, beside(row, last)) for row in rows):
                if known is not None:
                    known.setdefault("imitated", {})[asked.processor] = {key: row[key] for key in ("ratio", "reached")}
            continue
        kept["rows"] = [row for row in kept["rows"] if row["work"] != work.title] + rows
        sizes[work.title] = [{key: one[key] for key in ("size", "seconds", "ratios", "bytes")} for one in found]
        if work.what and not asked.no_pictures and any(one["seconds"] for one in found):
            kept["pictures"] = [one for one in kept["pictures"] if one["work"] != work.title]
            kept["pictures"].append(drawn(work, found, growth.LIMITS))
    FOLDER.mkdir(parents=True, exist_ok=True)
    if asked.processor:
        RESULTS.write_text(json.dumps(last, indent=1) + "\n")
        return int(missed)
    command = "python benchmarks/all.py" + " --quick" * asked.quick
    RESULTS.write_text(json.dumps({"command": command, **where, **kept, "growth": sizes}, indent=1) + "\n")
    left = [row for row in kept["rows"] if row["goal"] and not row["reached"]]
    print(f"\n{sum(bool(row['goal']) for row in kept['rows']) - len(left)} goals reached, {len(left)} not.")
    return 1 if left else 0


def beside(row: dict[str, Any], last: dict[str, Any]) -> dict[str, Any] | None:
    """Return the row of the last run with the same goal, of the same size where there are several."""
    rows = [one for one in last.get("rows", ()) if one["work"] == row["work"] and one["goal"] == row["goal"]]
    return next((one for one in rows if one["size"] == row["size"]), rows[0] if len(rows) == 1 else None)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
