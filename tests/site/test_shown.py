"""The documentation in a browser: on a phone and a wide screen, light and dark, by eye and by screen reader."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import pytest
from browser import Watched
from browser import browser as watching
from support import THOROUGH

READ = (
    "", "measures/", "gallery/", "papers/quantifying-privacy/", "papers/envelopes/", "notebooks/from-qif/",
    "commands/", "peers/",
)  # fmt: skip
"""Pages of every kind, looked at closely."""
FIRST = {False: ("",), True: ("papers/envelopes/", "notebooks/from-qif/")}
"""Whether the screen is dark -> those that the suite looks at: words, pictures; formulas, tables, programs."""


@contextmanager
def browser(width: int = 1280, dark: bool = False) -> Generator[Watched]:
    """Open a page that has nothing to search in: each one would read the index of all, longer than it is shown."""
    with watching(width, dark) as watched:
        nothing = {"config": {"lang": ["en"], "separator": " ", "pipeline": [], "fields": {}}, "docs": []}
        watched.page.route("**/search/search_index.json", lambda asked: asked.fulfill(json=nothing))
        yield watched


def opened(watched: Watched, address: str, path: str) -> None:
    watched.page.goto(address + path)
    watched.page.wait_for_load_state("networkidle")


def test_no_page_is_wider_than_a_phone_or_asks_the_network(address: str, built: Path) -> None:
    wide = {}
    with browser(width=390) as watched:
        every = sorted(str(path.parent.relative_to(built)) for path in built.rglob("index.html"))
        for name in every if THOROUGH else set(READ) - set(FIRST[True]):
            watched.page.goto(urljoin(address, f"{name}/".lstrip("./")))
            script = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            over = watched.page.evaluate(script)
            if over > 0:
                wide[name] = over
    assert not wide
    assert not watched.wrong


LEAST = {
    "": (0, 1), "measures/": (30, 1), "gallery/": (0, 10),
    "papers/quantifying-privacy/": (20, 1), "papers/envelopes/": (15, 1),
}  # fmt: skip
"""Page -> how many formulas and pictures it has at least."""


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["wide light", "phone dark"])
def test_pages_are_readable_and_have_names_for_everything(address: str, width: int, dark: bool) -> None:
    """Some pages on each of the two screens; all on both in `make search`. Formulas and pictures show."""
    with browser(width=width, dark=dark) as watched:
        for path in READ if THOROUGH else FIRST[dark]:
            opened(watched, address, path)
            watched.looks_right(path or "start")
            formulas, pictures = LEAST.get(path, (0, 0))
            sizes = watched.page.eval_on_selector_all("math", "all => all.map(m => m.getBoundingClientRect().width)")
            assert len(sizes) >= formulas
            assert all(size > 0 for size in sizes)
            drawn = watched.page.eval_on_selector_all(
                ".md-content img", "all => all.map(i => [i.naturalWidth, i.alt.length])"
            )
            assert len(drawn) >= pictures
            assert all(width > 0 and alt > 10 for width, alt in drawn)
            assert "\\(" not in watched.page.locator(".md-content").inner_text()


def test_the_cheat_sheet_is_one_printed_page(address: str) -> None:
    with browser() as watched:
        opened(watched, address, "cheat-sheet/")
        watched.page.emulate_media(media="print")
        printed = watched.page.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type\s*/Page\b(?!s)", printed)) == 1
        sheet = watched.page.locator(".sheet")
        assert sheet.locator("tr").count() > 20


def test_pictures_that_come_on_white_follow_the_screen(address: str) -> None:
    """The corner of a picture is as dark or as light as the page beside it, and its lines can be seen.

    Both follow a screen that changes while the page is open, or before the next visit.
    """
    from io import BytesIO

    import numpy as np
    from matplotlib import image

    with browser() as watched:
        for path in ("notebooks/choosing-epsilon/", "benchmarks/")[: 2 if THOROUGH else 1]:
            opened(watched, address, path)
            picture = watched.page.locator("img.on-white").first
            picture.scroll_into_view_if_needed()
            for dark in (False, True):
                watched.page.emulate_media(color_scheme="dark" if dark else "light")
                scheme = "slate" if dark else "default"
                watched.page.locator(f"body[data-md-color-scheme={scheme}]").wait_for()
                shown = image.imread(BytesIO(picture.screenshot()), format="png")[..., :3].mean(axis=2)
                red, green, blue = watched.page.evaluate(
                    "getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)"
                )
                page = (red + green + blue) / 3 / 255
                assert (page < 0.5) == dark
                assert abs(float(shown[2, 2]) - page) < 0.02, path
                assert float(np.abs(shown - page).max()) > 0.5, path
        assert not watched.wrong


def test_the_button_beside_a_session_copies_what_is_typed(address: str) -> None:
    with browser() as watched:
        page = watched.page
        copied: dict[str, list[str]] = {}
        for name in ("for-publishers", "release"):
            page.goto(f"{address}{name}/")
            page.locator("[data-copy]").first.wait_for(state="attached")
            copied[name] = page.eval_on_selector_all("[data-copy]", "all => all.map(one => one.dataset.copy)")
    assert "divulge estimate published.csv \\\n    --receipt published.receipt.json" in copied["for-publishers"]
    for text in [one for found in copied.values() for one in found]:
        assert text.strip(), "a session with nothing typed"
        assert not any(line.startswith((">>>", "$ ")) for line in text.splitlines()), text
        if text.startswith("divulge"):
            lines = text.splitlines()
            starts = [line for before, line in zip(["", *lines], lines, strict=False) if not before.endswith("\\")]
            assert all(line.startswith("divulge ") for line in starts), text
        else:
            compile(text, name, "exec")
