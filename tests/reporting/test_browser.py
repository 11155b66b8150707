"""Statement and report in a real browser: on a phone, in print, in the dark, with long and right-to-left labels."""

import base64
import shutil
from collections.abc import Generator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from browser import launched
from support import THOROUGH

import divulge as dv

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None or not find_spec("playwright"):
    pytest.skip("needs Chromium (apt-get install chromium) and playwright", allow_module_level=True)

LONG = "a community of people whose name has sixty letters in a row x"
RIGHT_TO_LEFT = ("מסורתי", "مسلم", "یهودی")
LABELS = {
    "plain": ("Catholic", "None", "Muslim", "Jewish"),
    "long": tuple(f"{i} {LONG.replace(' ', '')}" for i in range(6)),
    "right to left": RIGHT_TO_LEFT,
    "many": tuple(f"value {i}" for i in range(200)),
}


@cache
def released(labels: str) -> dv.Receipt:
    values = LABELS[labels]
    counts = np.arange(1, len(values) + 1)
    table = pa.table({"answer": np.repeat(values, counts), "a " + LONG: np.arange(counts.sum())})
    return dv.release(table, column="answer", guarantee="ldp=1", prior=dv.Prior.from_counts(dict.fromkeys(values, 1)))


@cache
def page_of(kind: str, labels: str) -> str:
    receipt = released(labels)
    return dv.report(receipt).html() if kind == "report" else dv.statement(receipt, kind).html()


@pytest.fixture(scope="module")
def browser() -> Generator[Any]:
    with launched() as running:
        context = running.new_context()
        yield context
        context.close()


def opened(
    browser: Any, html: str, folder: Path, width: int = 390, scheme: str = "light", axe: bool = False
) -> tuple[Any, list[str]]:
    """Return the page in a window, and what it said on the console or asked of the network.

    What brings its own program, as axe does, needs a window in which the page's policy does not hold.
    """
    path = folder / "page.html"
    path.write_text(html)
    window = browser.browser.new_page(bypass_csp=True) if axe else browser.new_page()
    window.set_viewport_size({"width": width, "height": 844})
    window.emulate_media(color_scheme=scheme)
    heard: list[str] = []
    window.on("console", lambda message: heard.append(message.text))
    window.on("pageerror", lambda error: heard.append(str(error)))
    window.on("request", lambda asked: heard.append(asked.url) if asked.url.startswith(("http", "ws")) else None)
    window.goto(path.as_uri())
    return window, heard


ALL = [(kind, labels) for kind in ("en", "de", "report") for labels in LABELS if (kind, labels) != ("de", "many")]
CASES = ALL if THOROUGH else [("en", "long"), ("de", "right to left"), ("report", "plain"), ("report", "many")]
"""Pages that are opened: all in `make search`, else each kind and all labels once."""

SEEN = [
    (kind, labels, scheme)
    for kind, labels in (("en", "long"), ("de", "right to left"), ("report", "plain"))
    for scheme in ("light", "dark")
]


@pytest.mark.parametrize(("kind", "labels"), CASES)
@pytest.mark.thin
def test_nothing_is_cut_off_on_a_phone_and_nothing_leaves_the_page(
    kind: str, labels: str, browser: Any, tmp_path: Path
) -> None:
    window, heard = opened(browser, page_of(kind, labels), tmp_path)
    assert heard == []
    assert window.evaluate("document.documentElement.scrollWidth") <= 390
    beyond = window.evaluate(
        """[...document.querySelectorAll('main :is(p, li, h1, h2, td, th, caption, summary)')]
        .filter(e => !e.closest('.wide:not(.stack), thead') && e.getBoundingClientRect().width > 0
                     && e.getBoundingClientRect().right > innerWidth + 1).length"""
    )
    assert beyond == 0
    for wide in window.locator(".wide:not(.stack)").all():  # what goes on to the right says so
        assert wide.locator("xpath=following-sibling::p[1]").is_visible()
    window.close()


@pytest.mark.parametrize(
    "labels", [pytest.param(one, marks=pytest.mark.long if one == "plain" else ()) for one in LABELS]
)
def test_titles_of_pictures_are_whole(labels: str, browser: Any, tmp_path: Path) -> None:
    """No text of a picture reaches beyond it."""
    window, _ = opened(browser, page_of("report", labels), tmp_path)
    sources = [image.get_attribute("src") for image in window.locator("figure img").all()]
    assert sources
    for source in sources:
        window.set_content(base64.b64decode(source.partition(",")[2]).decode())
        beyond = window.evaluate(
            """() => { const page = document.querySelector('svg').getBoundingClientRect();
            return [...document.querySelectorAll('svg [id^=text_]')].map(e => e.getBoundingClientRect())
            .filter(b => b.width > 0 && (b.top < page.top - 1 || b.left < page.left - 1 || b.right > page.right + 1
                                         || b.bottom > page.bottom + 1)).length }"""
        )
        assert beyond == 0
    window.close()


@pytest.mark.parametrize(("kind", "labels", "scheme"), SEEN if THOROUGH else [SEEN[1], SEEN[2], SEEN[5]])
def test_axe_finds_nothing_serious(kind: str, labels: str, scheme: str, browser: Any, tmp_path: Path) -> None:
    from axe_playwright_python.sync_playwright import Axe

    window, _ = opened(browser, page_of(kind, labels), tmp_path, scheme=scheme, axe=True)
    found = Axe().run(window, options={"resultTypes": ["violations"]}).response["violations"]
    serious = [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in found
               if one["impact"] in ("serious", "critical")]  # fmt: skip
    assert serious == []
    window.close()


@pytest.mark.parametrize(
    ("kind", "labels"), [("en", "long"), pytest.param("report", "plain", marks=pytest.mark.long), ("report", "many")]
)
def test_nothing_is_wider_than_the_paper(kind: str, labels: str, browser: Any, tmp_path: Path) -> None:
    """A4 less its margins is 178 mm, 673 pixels."""
    window, _ = opened(browser, page_of(kind, labels), tmp_path, width=673)
    window.emulate_media(media="print")
    assert window.evaluate("document.documentElement.scrollWidth") <= 673
    assert window.pdf(format="A4")[:4] == b"%PDF"
    window.close()


@pytest.mark.parametrize("width", [673, 340])
def test_on_paper_nothing_is_cut_off_folded_or_divided(width: int, browser: Any, tmp_path: Path) -> None:
    window, _ = opened(browser, page_of("report", "plain"), tmp_path, width=width)
    window.emulate_media(media="print")
    folded = window.evaluate("[...document.querySelectorAll('details > :not(summary)')].map(e => e.offsetHeight)")
    assert folded
    assert all(folded)
    beyond = f"[...document.querySelectorAll('img, td, th')].filter(e => e.getBoundingClientRect().right > {width + 1})"
    assert window.evaluate(f"{beyond}.map(e => e.textContent || e.alt)") == []
    divided = """
        [...document.querySelectorAll('td.number, th.whole')].flatMap(cell => {
            const words = [], walk = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
            while (walk.nextNode()) for (const found of walk.currentNode.data.matchAll(/\\S+/g)) {
                const range = document.createRange();
                range.setStart(walk.currentNode, found.index);
                range.setEnd(walk.currentNode, found.index + found[0].length);
                if (new Set([...range.getClientRects()].map(r => Math.round(r.top))).size > 1) words.push(found[0]);
            }
            return words;
        })"""
    assert window.evaluate(divided) == []
    window.close()


def test_right_to_left_labels_do_not_turn_the_sentence(browser: Any, tmp_path: Path) -> None:
    window, _ = opened(browser, page_of("en", "right to left"), tmp_path)
    assert window.locator("bdi").count() >= len(RIGHT_TO_LEFT)
    assert all(label in window.inner_text("main") for label in RIGHT_TO_LEFT)
    window.close()


def test_the_keyboard_reaches_what_is_folded(browser: Any, tmp_path: Path) -> None:
    window, _ = opened(browser, page_of("en", "plain"), tmp_path)
    window.locator("summary").first.focus()
    window.keyboard.press("Enter")
    assert window.locator("details[open]").count() == 1
    window.close()
