"""What stands in the folder of the built site: links that lead somewhere, nothing from elsewhere."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

from support import THOROUGH

OWN = "https://site.invalid/"


class Page(HTMLParser):
    """The links of a page, what it loads, and the names of its places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found: dict[str, Any] = dict(attrs)
        self.names |= {found[name] for name in ("id", "name") if found.get(name)}
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        loaded = found.get("src") or (found.get("href") if tag == "link" and found.get("rel") != "canonical" else None)
        if loaded:
            self.loads.append(loaded)


def pages_of(built: Path) -> dict[str, Page]:
    return {str(path.relative_to(built)): Page(path.read_text()) for path in built.rglob("*.html")}


def test_every_link_and_anchor_leads_to_something_and_nothing_is_loaded_from_elsewhere(built: Path) -> None:
    pages = pages_of(built)
    assert len(pages) > 50
    wrong: list[str] = []
    for name, page in pages.items():
        base = urljoin(OWN, name)
        for link in [*page.links, *page.loads]:
            whole, anchor = urldefrag(urljoin(base, link))
            if not whole.startswith(OWN):
                outside = link in page.loads and urlsplit(whole).scheme not in ("data", "blob")
                wrong += [f"{name} loads {link[:80]}"] if outside else []
                continue
            path = unquote(urlsplit(whole).path).lstrip("/")
            target = path + "index.html" if path == "" or path.endswith("/") else path
            if name == "404.html" or not target:
                continue
            if not (built / target).is_file():
                wrong.append(f"{name} -> {link}")
            elif anchor and target in pages and unquote(anchor) not in pages[target].names:
                wrong.append(f"{name} -> {link}: no such place")
    assert not wrong, "\n".join(wrong)


MOST_WORDS = 7500
"""A page of more would be searched, and not read."""
DRAFTED = 1 if THOROUGH else 1.4
"""Words of a page of the reference for one of its docstrings, all that a draft shows: 7006 for 5068 on the longest."""


def content(path: Path) -> str:
    """Return what a page is about, without its menus."""
    article = re.search(r"<article.*?</article>", path.read_text(), re.DOTALL)
    return article[0] if article else ""


def test_no_page_is_too_long_to_read(built: Path) -> None:
    for path in built.rglob("index.html"):
        shown = re.sub(r'<(script|style|svg).*?</\1>|srcdoc="[^"]*"', "", content(path), flags=re.DOTALL)
        words = len(re.sub(r"<[^>]*>", " ", shown).split()) * (DRAFTED if "reference" in path.parts else 1)
        assert words <= MOST_WORDS, path.relative_to(built)


def test_the_machine_that_built_it_is_not_named(built: Path) -> None:
    here = re.compile(r"/(?:home|root|work|tmp|Users)/[\w.-]+")
    for path in built.rglob("*.html"):
        text = re.sub(r'"data:[^"]*"', "", path.read_text())
        assert not here.findall(text), path


def test_every_page_of_the_menu_is_in_llms_txt(built: Path) -> None:
    text = (built / "llms.txt").read_text()
    assert text.startswith("# Divulge\n\n> ")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", text, re.MULTILINE)
    assert len(links) == len(set(links)) > 50
    assert all((built / link / "index.html").exists() or (built / link).is_file() for link in links)
    assert "data:image" not in text


DOORS = {
    "I publish data": ("From a survey to what is published",),
    "I use differential privacy": ("From dp-accounting",),
    "I study leakage": ("Quantifying privacy via information density",),
    "In a browser": (),
}
"""A door on the first page -> links after it, to a page with what was asked and what came out: three clicks at most."""
RESULT = re.compile(r">>> |\$ divulge |^print\(", re.MULTILINE)


def test_the_doors_lead_to_a_result_in_three_clicks(built: Path) -> None:
    for door, further in DOORS.items():
        here = built / "index.html"
        for words in (door, *further):
            article = content(here)
            links = re.findall(r'<a[^>]* href="([^"]+)"[^>]*>(.*?)</a>', article, re.DOTALL)
            link = next(link for link, text in links if " ".join(re.sub("<[^>]*>", "", text).split()) == words)
            here = (here.parent / urlsplit(link).path / "index.html").resolve()
        article = content(here)
        steps = len(re.findall(r'<img[^>]* alt="Step', article))
        assert RESULT.search(unescape(re.sub("<[^>]*>", "", article))) or steps > 4, (
            f"{door}: nothing came out on {here}"
        )
