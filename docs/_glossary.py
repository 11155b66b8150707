"""The index of notions: write the glossary from its table, mark each notion on its page, and let the search find it.

Run as a program, it writes the tables of src/divulge/glossary.py into docs/glossary.md.
"""

import json
import re
from itertools import chain
from pathlib import Path
from typing import Any

from divulge.glossary import GLOSSARY, Term

PAGE = Path(__file__).with_name("glossary.md")
MARK = "<!-- What follows is written by docs/_glossary.py from src/divulge/glossary.py. -->"
TERMS = tuple(chain.from_iterable(GLOSSARY.values()))
_PASSED_OVER = re.compile(r"^```.*?^```|`[^`\n]*`|\$[^$]*\$|!?\[[^\]]*\]\([^)]*\)|^#.*?$|^\|.*?$|<[^>]*>", re.M | re.S)
"""Code, formulas, links, headings, tables, tags: an anchor inside would break them."""

_FIRST = re.compile(r"^[^#\s]", re.MULTILINE)


def anchor(word: str) -> str:
    """Return the name of the place where a word is explained on its page."""
    return "notion-" + re.sub(r"\W+", "-", word.lower()).strip("-")


_SPELLED = str.maketrans({"ε": "epsilon", "δ": "delta", "μ": "mu", "é": "e"})


def spellings(word: str) -> tuple[str, ...]:
    """Return the word, then other ways to type it: without Greek and accents, with DP written out."""
    typed = word.translate(_SPELLED)
    return tuple(dict.fromkeys((word, typed, re.sub(r"\bDP$", "differential privacy", typed))))


def marked(markdown: str, words: tuple[str, ...]) -> str:
    """Return the page with an anchor before each word where its prose has it first, or else before the first line."""
    for word in words:
        prose = _PASSED_OVER.sub(lambda found: "\0" * len(found[0]), markdown)
        spaced = r"\s+".join(map(re.escape, word.split()))
        found = re.search(rf"\*\*{spaced}", prose, re.I) or re.search(rf"(?<!\w){spaced}", prose, re.I)
        at = (found or next(_FIRST.finditer(markdown))).start()
        places = "".join(f'<a id="{anchor(spelling)}"></a>' for spelling in spellings(word))
        markdown = markdown[:at] + places + markdown[at:]
    return markdown


def _row(term: Term) -> str:
    words = "; ".join(f"[{word}]({term.page}.md#{anchor(word)})" for word in term.words)
    names = ", ".join(f"`dv.{name}`" for name in term.names)
    symbol = f"${term.symbol}$".replace("\\mid", "\\vert") if term.symbol else ""
    return f"| {words} | {symbol} | {names} | {term.source} |"


def glossary() -> str:
    """Return the tables, one a subject."""
    head = "| in papers | symbol | here | source |\n|---|---|---|---|"
    return "\n\n".join(f"## {title}\n\n{head}\n" + "\n".join(map(_row, rows)) for title, rows in GLOSSARY.items())


def page(text: str) -> str:
    """Return the page as it should be: its own words down to the mark, then the tables."""
    return f"{text.partition(MARK)[0]}{MARK}\n\n{glossary()}\n"


def entries() -> list[dict[str, Any]]:
    """Return what the search knows of each notion: its word as a title, our names and the source as the text.

    Titles of pages count 2.5 times what those of places in them do, and the length of a title nothing. So notions are
    raised just above titles, and those of fewer words more: "maximal leakage" before "pointwise maximal leakage".
    """
    return [
        {
            "location": f"{term.page}/#{anchor(spelling)}",
            "title": spelling,
            "text": "<p>" + "; ".join([*(f"dv.{name}" for name in term.names), term.source]) + "</p>",
            "boost": 2.5 + 2.5 / len(re.split(r"[\s-]+", spelling)),
        }
        for term in TERMS
        for word in term.words
        for spelling in spellings(word)
    ]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    here = page.file.src_path.removesuffix(".md")
    return marked(markdown, tuple(word for term in TERMS if term.page == here for word in term.words))


def on_post_build(config: Any, **_: Any) -> None:
    """Put the notions before all else into the index that the search made."""
    path = Path(config["site_dir"], "search", "search_index.json")
    index = json.loads(path.read_text())
    index["docs"] = [*index["docs"], *entries()]
    path.write_text(json.dumps(index, separators=(",", ":")))


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
