"""Every kind of work over its sizes, beside a peer and the physical limit: a table, JSON and pictures.

Run: python benchmarks/all.py [--quick] [--only WORD] [--minutes 20]. Times are the least of several runs, and memory is
the largest size that Python's allocators held during one more run. The JSON of the last run (build/benchmarks.json) is
read first: what has become slower or faster since is said in ratios, which machines agree on where seconds differ.
A whole run also writes docs/benchmarks/results.json, with the machine and the versions; docs/benchmarks.md shows it.
"""

import argparse
import datetime
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import sys
import time
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
# Files beside this one have the names of libraries that the work imports (coverage, statistics).
sys.path[:] = [place for place in sys.path if Path(place).resolve() != HERE]
_spec = importlib.util.spec_from_file_location("growth", HERE / "growth.py")
assert _spec
assert _spec.loader
growth = importlib.util.module_from_spec(_spec)
sys.modules["growth"] = growth
_spec.loader.exec_module(growth)
ROOT, WORK, Task, Work = growth.ROOT, growth.WORK, growth.Task, growth.Work

RESULTS = ROOT / "build" / "benchmarks.json"
PICTURES = ROOT / "docs" / "benchmarks"
LIBRARIES = (
    "numpy", "scipy", "highspy", "numba", "python-flint", "pyarrow", "duckdb", "opendp", "qif",
    "dp-accounting", "prv-accountant", "cvxpy", "pure-ldp", "multi-freq-ldpy",
)  # fmt: skip


def least(task: Task, seconds: float) -> float:
    """Return the least time of a task in seconds, run 2 to 50 times while the budget lasts."""
    best, spent, runs = math.inf, 0.0, 0
    while runs < 2 or (spent < seconds and runs < 50):
        start = time.perf_counter()
        task()
        taken = time.perf_counter() - start
        best, spent, runs = min(best, taken), spent + taken, runs + 1
        if taken > 4 * seconds:
            break
    return best


def held(task: Task) -> int:
    """Return the most bytes that Python's allocators held during a task."""
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def measured(work: Work, seconds: float) -> dict[str, Any]:
    """Return sizes, times by name and memory; larger sizes are left out when one has used up its share of the time."""
    times: dict[str, list[float | None]] = {name: [] for name in ("divulge", *work.beside)}
    share, memory, sizes = seconds / (len(work.sizes) * len(times) + 1), 0, []
    for size in work.sizes:
        sizes.append(size)
        for name, maker in (("divulge", work.ours), *work.beside.items()):
            before = [v for v in times[name] if v is not None]
            slow = bool(before) and before[-1] > 2 * share
            times[name].append(None if slow else least(maker(size), share))
        taken = times["divulge"][-1]
        if taken is not None and taken < 4 * share:
            memory = held(work.ours(size))
    return {"what": work.what, "sizes": sizes, "times": times, "bytes": memory}


def ratio(work: Work, found: dict[str, Any]) -> str:
    """Return the ratio that has a goal, at the largest size at which both were timed."""
    if work.goal is None:
        return ""
    name, most = work.goal
    pairs = [(a, b) for a, b in zip(found["times"]["divulge"], found["times"][name], strict=True) if a and b]
    if not pairs:
        return ""
    reached = pairs[-1][0] / pairs[-1][1]
    return f"{reached:.2f} times {name}, asked {most:g}: {'reached' if reached <= most else 'MISSED'}"


def since(title: str, found: dict[str, Any], last: dict[str, Any]) -> str:
    """Return how the time at the largest size compares with the last run, both in units of the peer or limit."""
    if title not in last or last[title]["sizes"] != found["sizes"]:
        return ""
    unit = next((name for name in found["times"] if name != "divulge" and name in last[title]["times"]), None)
    now, then = (list(zip(one["times"]["divulge"], _unit(one, unit), strict=True)) for one in (found, last[title]))
    both = [(a / b, c / d) for (a, b), (c, d) in zip(now, then, strict=True) if a and b and c and d]
    return f"{both[-1][0] / both[-1][1]:.2f} of the last run" if both else ""


def _unit(found: dict[str, Any], name: str | None) -> list[float | None]:
    return found["times"][name] if name else [1.0] * len(found["sizes"])


def drawn(title: str, found: dict[str, Any]) -> None:
    """Draw time against size, both as logarithms."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot as plt

    figure, ax = plt.subplots(figsize=(5.2, 3.4))
    for (name, times), style in zip(found["times"].items(), ("o-", "s--", "^:", "v:"), strict=False):
        points = [(n, t) for n, t in zip(found["sizes"], times, strict=True) if t]
        ax.loglog([n for n, _ in points], [1e3 * t for _, t in points], style, label=name)
    ax.set_xlabel(found["what"])
    ax.set_ylabel("milliseconds")
    ax.set_title(title)
    ax.legend()
    ax.grid(alpha=0.3)
    PICTURES.mkdir(parents=True, exist_ok=True)
    name = title.replace(" ", "-").replace(",", "").lower()
    figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def about(command: str) -> dict[str, Any]:
    """Return what a reader needs to judge the times: the command, the day, the machine, the versions."""
    cpu = Path("/proc/cpuinfo")
    lines = cpu.read_text().splitlines() if cpu.exists() else []
    model = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    versions = {"divulge": growth.dv.__version__}
    for name in LIBRARIES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "command": command,
        "date": datetime.date.today().isoformat(),
        "processor": model[0] if model else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "versions": versions,
    }


def main() -> int:
    """Print the table; the exit code is 1 when a goal was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 minutes and no pictures")
    parser.add_argument("--only", default="", help="kinds of work whose title has this in it")
    parser.add_argument("--minutes", type=float, default=20.0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    last = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    chosen = [work for work in WORK if asked.only in work.title]
    share = 60 * (2.0 if asked.quick else asked.minutes) / len(WORK) / 2
    results, missed = dict(last), 0
    for work in chosen:
        found = measured(work, share)
        goal = ratio(work, found)
        missed += "MISSED" in goal
        top = max((i for i, t in enumerate(found["times"]["divulge"]) if t), default=0)
        size = f"{found['sizes'][top]:,}" if work.what else ""
        memory, told = f"{found['bytes'] / 1e6:9.1f} MB", f"{goal}  {since(work.title, found, last)}".rstrip()
        taken = 1e3 * found["times"]["divulge"][top]
        print(f"{work.title:28}{size:>11}{taken:12.2f} ms{memory}  {told}", flush=True)
        results[work.title] = {**found, "goal": work.goal}
        if not asked.quick and work.what:
            drawn(work.title, found)
    if not asked.only:
        PICTURES.mkdir(parents=True, exist_ok=True)
        command = "python benchmarks/all.py" + (" --quick" if asked.quick else "")
        whole = {**about(command), "work": {work.title: results[work.title] for work in chosen}}
        (PICTURES / "results.json").write_text(json.dumps(whole, indent=1) + "\n")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
