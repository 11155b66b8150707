"""Fill the reference page: every public name, under the folder it lives in."""

import inspect
from itertools import groupby
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


def _folder(name: str) -> str:
    value = getattr(divulge, name)
    module = value if inspect.ismodule(value) else inspect.getmodule(value) or inspect.getmodule(type(value))
    return (module.__name__ if module else "").split(".")[1:2][0]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_path != "reference.md":
        return markdown
    order = list(TITLES)
    names = sorted(
        (n for n in divulge.__all__ if not n.startswith("_")), key=lambda n: (order.index(_folder(n)), n.lower())
    )
    lines = [markdown]
    for folder, group in groupby(names, key=_folder):
        lines += [f"## {TITLES[folder]}", *(f"::: divulge.{name}" for name in group)]
    return "\n\n".join(lines)
