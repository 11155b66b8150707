"""Write llms.txt at the root of the site: what the project is, and the pages of the menu with their first words."""

import re
from pathlib import Path
from typing import Any

_FIRST: dict[str, str] = {}
"""Source of a page -> its first words, without marks."""
_NAV: list[Any] = []
"""The menu, once it is made."""


def first_words(markdown: str) -> str:
    """Return the first paragraph of prose of a page, as plain text in one line."""
    for block in re.split(r"\n\s*\n", re.sub(r"```.*?```", "", markdown, flags=re.DOTALL)):
        text = " ".join(block.split())
        if re.match(r"[A-Za-z*“\[]", text) and not text.startswith("[This page"):
            text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
            return re.sub(r"[*`]|\$", "", text)
    return ""


def lines(items: Any, heading: str | None = None) -> list[str]:
    """Return the menu as headings and links."""
    found = [f"\n## {heading}\n"] if heading else []
    for item in items:
        if item.is_section:
            found += lines(item.children, item.title)
        elif item.is_page:
            words = _FIRST.get(item.file.src_path, "")
            found.append(f"- [{item.title}]({item.url or 'index.html'})" + (f": {words}" if words else ""))
    return found


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    _FIRST[page.file.src_path] = first_words(markdown)[:240]
    return markdown


def on_nav(nav: Any, **_: Any) -> Any:
    _NAV[:] = [nav]
    return nav


def on_post_build(config: Any, **_: Any) -> None:
    head = f"# {config.site_name}\n\n> {config.site_description}.\n"
    note = "\nPython library, command and app. `import divulge as dv`; every command takes `--json`.\n"
    Path(config.site_dir, "llms.txt").write_text(head + note + "\n".join(lines(_NAV[0].items)) + "\n")
