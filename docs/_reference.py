"""Fill the reference page: every public name, under the folder it lives in."""

import ast
from itertools import groupby
from pathlib import Path
from typing import Any

import divulge

TITLES = {
    "model": "What is released",
    "measures": "What it leaks",
    "adversaries": "What that means",
    "losses": "Privacy loss and composition",
    "noise": "Noise on numbers",
    "guarantees": "Guarantees",
    "designing": "What to release instead",
    "releasing": "Releasing",
    "auditing": "Auditing",
    "reporting": "Reporting",
    "datasets": "Data",
    "files": "Files",
    "errors": "Errors",
}


def folders() -> dict[str, str]:
    """Return the folder or module that each public name comes from, as the list of public names has it."""
    stub = Path(divulge.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    imports = (node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom))
    return {
        alias.asname or alias.name: (node.module or alias.name).partition(".")[0]
        for node in imports
        for alias in node.names
    }


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_path != "reference.md":
        return markdown
    order, folder_of = list(TITLES), folders()
    names = sorted(folder_of, key=lambda name: (order.index(folder_of[name]), name.lower()))
    lines = [markdown]
    for folder, group in groupby(names, key=folder_of.__getitem__):
        lines += [f"## {TITLES[folder]}", *(f"::: divulge.{name}" for name in group)]
    return "\n\n".join(lines)
