"""The search of the built site, asked by typing into its box in a browser."""

from pathlib import Path
from urllib.parse import urlsplit

from browser import browser
from support import some

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


def path_of(page: str) -> str:
    """Return the path of a page on the site."""
    return "/" + page.removesuffix(".md").removesuffix("index").rstrip("/") + "/" if page != "index.md" else "/"


def test_the_index_has_fifty_notions_and_pages_that_exist(built: Path) -> None:
    assert len(PAPERS) >= 50
    pages = {*PAPERS.values(), *EVERYDAY.values(), *PLAIN.values()}
    missing = {page for page in pages if not (built / f".{path_of(page)}index.html").exists()}
    assert not missing


def test_every_notion_finds_its_page_first(address: str) -> None:
    wrong = {}
    with browser() as watched:
        page = watched.page
        page.goto(address)
        page.keyboard.press("f")
        box = page.locator("input.md-search__input")
        for words, expected in some(list({**PAPERS, **EVERYDAY, **PLAIN}.items())):
            box.fill("")
            page.keyboard.press("Shift")
            page.locator(".md-search-result__link").first.wait_for(state="detached")
            box.fill(words)
            page.keyboard.press("Shift")
            first = page.locator(".md-search-result__link").first
            first.wait_for(state="attached")
            found = urlsplit(first.get_attribute("href")).path
            if found != path_of(expected):
                wrong[words] = (found, expected)
    assert not watched.wrong
    assert not wrong


def test_guides_come_before_the_reference(address: str) -> None:
    with browser() as watched:
        page = watched.page
        page.goto(address)
        page.keyboard.press("f")
        for words in ("randomized response", "pointwise maximal cost", "gain function", "design a mechanism"):
            page.locator("input.md-search__input").fill(words)
            page.keyboard.press("Shift")
            first = page.locator(".md-search-result__link").first
            first.wait_for(state="attached")
            assert "/reference/" not in first.get_attribute("href"), words
            page.locator("input.md-search__input").fill("")
            page.keyboard.press("Shift")
            first.wait_for(state="detached")


def test_numbers_can_be_searched(address: str) -> None:
    with browser() as watched:
        page = watched.page
        page.goto(address)
        page.keyboard.press("f")
        box, first = page.locator("input.md-search__input"), page.locator(".md-search-result__link").first
        for words in [*"123456789", "0.5", "theorem 1", "10", "2025"]:
            box.fill(words)
            page.keyboard.press("Shift")
            first.wait_for(state="attached")
            box.fill("")
            page.keyboard.press("Shift")
            first.wait_for(state="detached")
        assert not watched.wrong
