"""Make the pages of the reference: for each public module, of large ones by where names are from, and for commands.

With DIVULGE_DRAFT docstrings stand there as they are written, where mkdocstrings takes half of the time of the site.
"""

import inspect
import os
from functools import cached_property
from types import FunctionType
from typing import Any

import divulge
from divulge.cli.main import COMMANDS, DOES, app

TITLES = {
    "divulge": "At the top",
    "measures": "What it leaks: dv.measures",
    "adversaries": "What that means: dv.adversaries",
    "guarantees": "Guarantees: dv.guarantees",
    "dp": "Privacy loss and composition: dv.dp",
    "noise": "Noise on numbers: dv.noise",
    "networks": "What correlates: dv.networks",
    "protocols": "Millions of values: dv.protocols",
    "mechanisms": "Named mechanisms: dv.mechanisms",
    "tables": "Whole tables: dv.tables",
    "results": "What functions return: dv.results",
    "datasets": "Data: dv.datasets",
}
"""Public module -> the title of its page."""

PARTS: dict[str, dict[str, tuple[str, tuple[str, ...]]]] = {
    "divulge": {
        "model": ("what is released, and files", ("model", "files", "errors")),
        "leaks": ("what it leaks, to whom", ("measures", "adversaries")),
        "promises": ("guarantees", ("guarantees", "dp")),
        "designs": ("design and noise", ("designing", "noise")),
        "tables": ("tables, and what correlates", ("tables", "networks")),
        "releases": (
            "releases",
            tuple(f"releasing.{name}" for name in ("release", "request", "preview", "noisy_places")),
        ),
        "records": (
            "estimates and records",
            tuple(f"releasing.{name}" for name in ("estimating", "records", "output")),
        ),
        "statistics": ("statistics, audits and reports", ("publishing", "auditing", "reporting")),
    },
    "dp": {
        "variants": ("variants of differential privacy", ("dp.variants", "dp.special")),
        "losses": ("mechanisms and their losses", ("dp.mechanisms", "dp.subjects", "dp.goals", "dp.loss")),
        "sums": ("several releases", ("dp.accounting", "dp.releases", "dp.individual", "dp.filters", "dp.shuffling")),
    },
    "results": {
        "tables": ("tables and designs", ("tables", "designing", "noise", "dp")),
        "releases": ("releases and audits", ("releasing", "publishing", "auditing", "reporting", "files")),
    },
}
"""Public module -> its pages: name -> (what is on it, the rooms that its names are from)."""

COMMANDS_BY = {
    "asking": "Commands that answer", "auditing": "Commands that audit", "doing": "Commands that do",
}  # fmt: skip
"""Folder of commands -> the title of their page."""

_SAYS = (FunctionType, classmethod, staticmethod, property, cached_property)
"""Members of a class that have docstrings of their own."""

RANK = "---\nsearch:\n  boost: {boost}\n---\n\n"
"""Guides come first when somebody searches; the reference is there for those who know a name."""


def names_of(module: str) -> list[str]:
    """Return the names that a page lists: each public name once, on the page of the first module that has it."""
    seen = set[str]()
    for title in TITLES:
        public = divulge if title == "divulge" else getattr(divulge, title)
        names = [n for n in sorted(public.__all__, key=str.lower) if not n.startswith("_") and n not in TITLES]
        new = [name for name in names if name not in seen]
        if title == module:
            return new
        seen |= set(new)
    return []


def part_of(module: str, name: str) -> str:
    """Return the page of a large module that a name is on."""
    public = divulge if module == "divulge" else getattr(divulge, module)
    home = getattr(public, name).__module__.removeprefix("divulge.") + "."
    return next(part for part, (_, rooms) in PARTS[module].items() if home.startswith(tuple(f"{r}." for r in rooms)))


def module_pages(module: str) -> dict[str, str]:
    """Return the pages of a module: all its names as links, then each with its docstring, on pages of their own where
    they are many."""
    place = "divulge" if module == "divulge" else f"divulge.{module}"
    names, parts = names_of(module), PARTS.get(module, {})
    on = {name: part_of(module, name) if parts else "" for name in names}

    def page(title: str, shown: list[str], told: list[str]) -> str:
        links = " · ".join(
            f"[`{n}`]({f'{module}-{on[n]}.md' if on[n] and not told else ''}#{place}.{n})" for n in shown
        )
        return RANK.format(boost=0.4) + "\n\n".join([f"# {title}", links, *(told_of(place, name) for name in told)])

    found = {f"reference/{module}.md": page(TITLES[module], names, [] if parts else names)}
    for part, (title, _) in parts.items():
        mine = [name for name in names if on[name] == part]
        found[f"reference/{module}-{part}.md"] = page(f"{TITLES[module]}: {title}", mine, mine)
    return found


def docstrings(place: str, name: str) -> list[str]:
    """Return what a public name and, of a class, its public members say of themselves."""
    found = getattr(divulge if place == "divulge" else getattr(divulge, place.removeprefix("divulge.")), name)
    members = vars(found).items() if inspect.isclass(found) else ()
    told = [found, *(member for key, member in members if key[0] != "_" and isinstance(member, _SAYS))]
    return [inspect.cleandoc(one.__doc__) for one in told if isinstance(one.__doc__, str)]


def told_of(place: str, name: str) -> str:
    """Return what makes mkdocstrings tell of a public name; in a draft its docstrings, under the same anchor."""
    if not os.environ.get("DIVULGE_DRAFT"):
        return f"::: {place}.{name}"
    words = "\n\n".join(docstrings(place, name))
    return f"### `{name}` {{ #{place}.{name} }}\n\n~~~~text\n{words}\n~~~~"


def command_pages() -> dict[str, str]:
    """Return the pages of the command line: all commands, then what each says of itself."""
    from typer.testing import CliRunner

    rows = ["| command | answers |", "|---|---|"]
    pages = {folder: [f"# {title}"] for folder, title in COMMANDS_BY.items()}
    for name, line in COMMANDS.items():
        folder = "doing" if name in DOES else "auditing" if name.startswith("audit") else "asking"
        rows.append(f"| [`divulge {name}`](commands-{folder}.md#divulge-{name}) | {line} |")
        told = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "100", "TERM": "dumb"}, prog_name="divulge")
        pages[folder] += [f"## divulge {name}", f"```text\n{told.output.strip()}\n```"]
    exits = "Exit codes: 0 done or yes, 1 a “no” that was asked for, 2 anything wrong with the input, 130 interrupted."
    first = RANK.format(boost=0.8) + "\n\n".join(["# The command line", "\n".join(rows), exits])
    parts = {f"commands-{name}.md": RANK.format(boost=0.6) + "\n\n".join(text) for name, text in pages.items()}
    return {"commands.md": first, **parts}


def on_files(files: Any, config: Any, **_: Any) -> Any:
    from mkdocs.structure.files import File

    pages = {path: text for module in TITLES for path, text in module_pages(module).items()} | command_pages()
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files
