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


def _row(title: str, found: dict[str, Any]) -> str:
    """Return the row of a kind of work, at the largest size at which a peer was timed too, or else ours alone."""
    times = found["times"]
    others = [name for name in times if name != "divulge"]
    done = [i for i, taken in enumerate(times["divulge"]) if taken]
    both = [i for i in done if any(times[name][i] for name in others)] or done
    if not both:
        return ""
    at, ours = both[-1], times["divulge"][both[-1]]
    beside = [f"{ours / times[name][at]:.2g} × {name}" for name in others if times[name][at]]
    goal = f"at most {found['goal'][1]:g} × {found['goal'][0]}" if found.get("goal") else ""
    size = f"{found['sizes'][at]:,} {found['what']}" if found["what"] else ""
    return f"| {title} | {size} | {_time(ours)} | {'; '.join(beside)} | {goal} | {found['bytes'] / 1e6:.1f} MB |"


def results() -> str:
    """Return the machine, the versions and the table."""
    run = json.loads((FOLDER / "results.json").read_text())
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    head = "| work | size | time | in units of a peer or a limit | asked | memory beside |\n|---|---|---|---|---|---|\n"
    rows = "\n".join(filter(None, (_row(title, found) for title, found in run["work"].items())))
    machine = (
        f"{run['processor']}, {run['cores']} cores, {run['memory_gib']} GiB, load {run['load']}, Python {run['python']}"
    )
    return f"`{run['command']}` on {run['date']}: {machine}.\n\n{head}{rows}\n\nVersions: {versions}."


def pictures() -> str:
    """Return the pictures of the run, if it drew any."""
    return "\n".join(
        f"![{path.stem.replace('-', ' ')}: time over size, both as logarithms](benchmarks/{path.name})"
        for path in sorted(FOLDER.glob("*.svg"))
    )


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, f"{results()}\n\n{pictures()}") if MARK in markdown else markdown
