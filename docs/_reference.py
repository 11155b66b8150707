"""Make the pages of the reference: one for each public module, and one for the command line."""

from typing import Any

import divulge
from divulge.cli.main import COMMANDS, app

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


def module_page(module: str) -> str:
    """Return the page of a module: all its names as links, then each with its docstring."""
    place = "divulge" if module == "divulge" else f"divulge.{module}"
    names = names_of(module)
    links = " · ".join(f"[`{name}`](#{place}.{name})" for name in names)
    parts = [f"# {TITLES[module]}", links, *(f"::: {place}.{name}" for name in names)]
    return RANK.format(boost=0.4) + "\n\n".join(parts)


def command_page() -> str:
    """Return the page of the command line: what each command says of itself."""
    from typer.testing import CliRunner

    rows = ["| command | answers |", "|---|---|"]
    rows += [f"| [`divulge {name}`](#divulge-{name}) | {line} |" for name, line in COMMANDS.items()]
    parts = ["# The command line", "\n".join(rows)]
    for name in COMMANDS:
        told = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "100", "TERM": "dumb"}, prog_name="divulge")
        parts += [f"## divulge {name}", f"```text\n{told.output.strip()}\n```"]
    exits = "Exit codes: 0 done or yes, 1 a “no” that was asked for, 2 anything wrong with the input, 130 interrupted."
    return RANK.format(boost=0.8) + "\n\n".join([*parts[:2], exits, *parts[2:]])


def on_files(files: Any, config: Any, **_: Any) -> Any:
    from mkdocs.structure.files import File

    pages = {f"reference/{module}.md": module_page(module) for module in TITLES} | {"commands.md": command_page()}
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files
