"""Fill the reference page: every public name, module by module."""

from typing import Any

import divulge

TITLES = {
    "": "At the top",
    "measures": "What it leaks",
    "adversaries": "What that means",
    "guarantees": "Guarantees",
    "dp": "Privacy loss and composition",
    "noise": "Noise on numbers",
    "mechanisms": "Named mechanisms",
    "results": "What functions return",
    "datasets": "Data",
}
"""Public module -> its title; "" is divulge itself."""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    if page.file.src_path != "reference.md":
        return markdown
    lines, seen = [markdown], set(TITLES)
    for module, title in TITLES.items():
        public = getattr(divulge, module) if module else divulge
        names = sorted((name for name in public.__all__ if not name.startswith("_")), key=str.lower)
        new = [name for name in names if name not in seen]
        seen |= set(new)
        place = f"divulge.{module}" if module else "divulge"
        lines += [f"## {title}", f"`{place}`", *(f"::: {place}.{name}" for name in new)]
    return "\n\n".join(lines)
