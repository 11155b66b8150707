"""Show the results of the last whole run of benchmarks/all.py where a page says <!-- benchmarks -->."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("benchmarks")
MARK = "<!-- benchmarks -->"


def _time(seconds: float) -> str:
    """Return a time with two digits and a unit."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.2g} {unit}" if seconds < 100 * scale else f"{seconds / scale:.0f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


_REACHED = {None: "", True: "reached", False: "missed"}


def _verdict(imitated: dict[str, Any]) -> str:
    """Return the ratio on a processor that was imitated, and whether it was the goal."""
    ratio = f"{imitated['ratio']:.2g}" if imitated["ratio"] else "not measured"
    return " ".join(filter(None, (ratio, _REACHED[imitated["reached"]])))


def _row(found: dict[str, Any]) -> str:
    """Return the row of a kind of work: size, times, the ratio to what it is measured by, the goal, memory."""
    size = f"{found['size']:,} {found['what']}" if found["what"] else ""
    beside = [
        f"{_time(found[f'{kind}_seconds'])} {found[kind]}" for kind in ("peer", "limit") if found.get(f"{kind}_seconds")
    ]
    ratio = f"{found['ratio']:.2g} × {found['of'] or found['peer']}" if found["ratio"] else ""
    reached = _REACHED[found["reached"]]
    goal = ": ".join(filter(None, (found["goal"], " ".join(filter(None, (reached, found["wrong"]))))))
    ours = _time(found["seconds"]) if found["seconds"] else "not in this run"
    memory = f"{found['bytes'] / 1e6:.1f} MB" if found["bytes"] else ""
    elsewhere = [f"{name} {_verdict(one)}" for name, one in found.get("imitated", {}).items()]
    told = [found["work"], size, ours, "; ".join(beside), ratio, goal, ", ".join(elsewhere), memory]
    return f"| {' | '.join(told)} |"


def _missed(found: dict[str, Any]) -> str:
    """Return what was found and what was asked, of a goal that was missed."""
    size = f" of {found['size']:,} {found['what']}" if found["what"] else ""
    took = f"{found['ratio']:.2g} × {found['of']}" if found["of"] and found["ratio"] else _time(found["seconds"])
    return f"- {found['work']}{size}: {', '.join(filter(None, (took, found['wrong'])))}, asked: {found['goal']}"


def verdict(run: dict[str, Any]) -> str:
    """Return in words how many goals were reached, which were not, and how far the run can be trusted."""
    goals = [row for row in run["rows"] if row["goal"]]
    missed = [row for row in goals if row["reached"] is False]
    unknown = [row["work"] for row in goals if row["reached"] is None]
    words = [f"**Of {len(goals)} goals {sum(row['reached'] is True for row in goals)} are reached.**"]
    words += [f"Not measured: {', '.join(unknown)}."] if unknown else []
    words += ["A quick run: single numbers may be off by half."] if "--quick" in run["command"] else []
    if run["load"] > run["cores"]:
        words.append(f"The machine was busy (load {run['load']} on {run['cores']} cores), so that times are too long.")
    return "\n\n".join([" ".join(words), *(["Missed:", "\n".join(map(_missed, missed))] if missed else [])])


def results() -> str:
    """Return the machine, the goals, the table and the versions."""
    run = json.loads((FOLDER / "results.json").read_text())
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    head = (
        "| work | size | time | beside | ratio | asked | other processors | memory |\n"
        "|---|---|---|---|---|---|---|---|\n"
    )
    rows = "\n".join(map(_row, run["rows"]))
    machine = (
        f"{run['processor']}, {run['cores']} cores, {run['memory_gib']} GiB, load {run['load']}, Python {run['python']}"
    )
    said = f"`{run['command']}` on {run['date']}: {machine}.\n\n{verdict(run)}"
    return f"{said}\n\n{head}{rows}\n\nVersions: {versions}."


def pictures() -> str:
    """Return the pictures of the run, with what they show in words."""
    run = json.loads((FOLDER / "results.json").read_text())
    return "\n\n".join(f"![{one['alt']}](benchmarks/{one['file']}){{ .on-white }}" for one in run["pictures"])


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, f"{results()}\n\n{pictures()}") if MARK in markdown else markdown
