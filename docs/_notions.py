"""The index of notions: which page a word of the field leads to first. Search weighs it above titles and text."""

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from mkdocs.plugins import event_priority

TABLE = Path(__file__).with_name("notions.tsv")
_DIALOG = 'data-md-component="search" role="dialog"'
_PLACES: dict[str, tuple[str, str]] = {}
"""Source of a page -> its address and title, noted while pages are made."""


def notions() -> dict[str, str]:
    """Return word -> page, as in notions.tsv."""
    return dict(line.split("\t") for line in TABLE.read_text().splitlines() if line)


def entries(places: dict[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the entries of the search, one a notion: the page it leads to, at the place where it is named.

    The search adds up the words of a query that an entry has, whatever else the entry holds. Entries of n words weigh
    n^-0.7: one that a query names whole then stands before longer ones that hold it, and before shorter ones it holds.
    """
    return [
        {
            "location": f"{places[page][0]}#:~:text={quote(word)}",
            "title": word,
            "text": places[page][1],
            "tags": [word],
            "boost": 4 * len(re.split(r"[\s-]+", word)) ** -0.7,
        }
        for word, page in notions().items()
    ]


def on_page_context(context: Any, page: Any, **_: Any) -> Any:
    _PLACES[page.file.src_path] = (page.url, page.title)
    return context


def on_post_page(output: str, **_: Any) -> str:
    """Give the search a name that is read aloud."""
    return output.replace(_DIALOG, f'{_DIALOG} aria-label="Search"')


@event_priority(-100)  # after the search has written its index
def on_post_build(config: Any, **_: Any) -> None:
    path = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text())
    index["docs"] += entries(_PLACES)
    path.write_text(json.dumps(index, separators=(",", ":")))
