"""List the JSON schemas where a page says <!-- schemas -->."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("schemas")
MARK = "<!-- schemas -->"


def table() -> str:
    """Return a table of all schemas: the file and what it describes."""
    rows = ["| schema | what it describes |", "|---|---|"]
    for path in sorted(FOLDER.glob("*.json")):
        if path.stem != "common":
            rows.append(f"| [{path.name}](schemas/{path.name}) | {json.loads(path.read_text())['title']} |")
    return "\n".join(rows)


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, table()) if MARK in markdown else markdown
