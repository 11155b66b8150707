"""The search of the built site, asked by typing into its box in a browser."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browser import Watched, browser
from support import THOROUGH, some

from divulge.glossary import GLOSSARY

ROOT = Path(__file__).parents[2]
EVERYDAY = dict(line.split("\t") for line in (ROOT / "docs" / "notions.tsv").read_text().splitlines())
PAPERS = {word: f"{term.page}.md" for terms in GLOSSARY.values() for term in terms for word in term.words}

PLAIN = {
    "anonymize": "for-publishers.md",
    "average": "statistics.md",
    "attacker": "adversaries.md",
    "which attacker": "adversaries.md",
    "how to choose": "choose.md",
    "several releases": "composition.md",
    "forbidden outcomes": "design.md",
    "who attains it": "noise.md",
    "gallery": "gallery.md",
    "spark": "walkthrough.md",
    "for those who study leakage": "for-researchers.md",
}
"""Words that no index holds, as somebody would type them -> the page that answers."""


class Box:
    """The box that words are typed into."""

    def __init__(self, watched: Watched) -> None:
        self.watched = watched

    def first(self, words: str) -> str:
        """Return the address that comes first for these words."""
        page = self.watched.page
        box, first = page.locator("input.md-search__input"), page.locator(".md-search-result__link").first
        box.fill("")
        page.keyboard.press("Shift")
        first.wait_for(state="detached")
        box.fill(words)
        page.keyboard.press("Shift")
        first.wait_for(state="attached")
        return first.get_attribute("href") or ""


def path_of(page: str) -> str:
    """Return the path of a page on the site."""
    return "/" + page.removesuffix(".md").removesuffix("index").rstrip("/") + "/" if page != "index.md" else "/"


def test_the_index_has_fifty_notions_and_pages_that_exist(built: Path) -> None:
    assert len(PAPERS) >= 50
    pages = {*PAPERS.values(), *EVERYDAY.values(), *PLAIN.values()}
    missing = {page for page in pages if not (built / f".{path_of(page)}index.html").exists()}
    assert not missing


@pytest.fixture(scope="module")
def box(address: str) -> Iterator[Box]:
    """The search of one page: each page reads the index anew, longer than it answers."""
    with browser() as watched:
        watched.page.goto(address)
        watched.page.keyboard.press("f")
        yield Box(watched)
        assert not watched.wrong


def test_every_notion_finds_its_page_first(box: Box) -> None:
    wrong = {}
    for words, expected in some(list({**PAPERS, **EVERYDAY, **PLAIN}.items()))[:: 1 if THOROUGH else 3]:
        found = urlsplit(box.first(words)).path
        if found != path_of(expected):
            wrong[words] = (found, expected)
    assert not wrong


def test_guides_come_before_the_reference(box: Box) -> None:
    for words in ("randomized response", "pointwise maximal cost", "gain function", "design a mechanism"):
        assert "/reference/" not in box.first(words), words


def test_numbers_can_be_searched(box: Box) -> None:
    for words in [*"123456789", "0.5", "theorem 1", "10", "2025"]:
        assert box.first(words)
    assert not box.watched.wrong
