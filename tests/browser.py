"""A page in the system's Chromium that notes what it must not do: reach the network, log errors, scroll sideways."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from support import THOROUGH

PATIENCE = 180_000
"""Milliseconds until a page that does not answer is given up: far more than a slow machine takes."""


def chromium() -> str:
    """Return the path of the system's Chromium, or skip the test with a message; under CI it must be there."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        assert "CI" not in os.environ, "Chromium must be installed for the browser tests (apt-get install chromium)"
        pytest.skip("no Chromium on this machine (apt-get install chromium)")
    return found


EXAMINED: set[str] = set()
"""Pages of the app and the site that axe has seen in this process."""
IN_THE_DARK = ("map", "aim", "preview")
"""Pages of the app that axe sees in the dark, where it sees all others in the light or as the only test shows them."""


class Watched:
    """A page and what went wrong on it."""

    def __init__(self, page: Any, dark: bool = False) -> None:
        self.page, self.dark = page, dark
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda m: m.type in ("error", "warning") and self.wrong.append(f"console: {m.text}"))
        page.on("pageerror", lambda error: self.wrong.append(f"page: {error}"))
        page.on("request", self._request)
        page.on("response", lambda r: r.status >= 400 and self.wrong.append(f"{r.status}: {r.url}"))

    def _request(self, request: Any) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("file", "data", "blob", "about") and address.hostname != "127.0.0.1":
            self.wrong.append(f"network: {request.url}")

    def looks_right(self, name: str) -> None:
        """Assert that nothing went wrong, that nothing is cut off sideways, and that axe finds nothing serious.

        In the suite axe, which takes longer than all that leads to a page, sees each page once.
        """
        assert not self.wrong, f"{name}: {self.wrong}"
        wide = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide <= 0, f"{name} is {wide} px wider than the screen"
        if THOROUGH or not (name in EXAMINED or (name in IN_THE_DARK and not self.dark)):
            EXAMINED.add(name)
            self._examined(name)

    def _examined(self, name: str) -> None:
        from axe_playwright_python.sync_playwright import Axe

        serious = [
            f"{rule['id']}: {node['html'][:200]}"
            for rule in Axe().run(self.page, options={"resultTypes": ["violations"]}).response["violations"]
            for node in rule["nodes"]
            if rule["impact"] in ("serious", "critical")
        ]
        assert not serious, f"{name}: {serious}"


_KEPT: list[ExitStack] = []
_RUNNING: list[Any] = []


@contextmanager
def kept() -> Iterator[None]:
    """Let the pages that are opened meanwhile share one Chromium, started with the first; visits share nothing else."""
    with ExitStack() as stack:
        _KEPT.append(stack)
        try:
            yield
        finally:
            if _KEPT[0] is stack:  # which holds it
                _RUNNING.clear()
            _KEPT.remove(stack)


def _launched(stack: ExitStack) -> Any:
    """Start Chromium, until the stack is left."""
    path = chromium()
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    playwright = stack.enter_context(sync_playwright())
    running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox", "--disable-dev-shm-usage"])
    stack.callback(running.close)
    return running


@contextmanager
def launched() -> Iterator[Any]:
    """Start Chromium, or take the one that is kept: a process has one at a time."""
    with ExitStack() as stack:
        if _KEPT and not _RUNNING:
            _RUNNING.append(_launched(_KEPT[0]))
        yield _RUNNING[0] if _KEPT else _launched(stack)


@contextmanager
def browser(width: int = 1280, dark: bool = False) -> Iterator[Watched]:
    """Open a page of this width, light or dark."""
    with launched() as running:
        context = running.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", accept_downloads=True
        )
        try:
            yield Watched(context.new_page(), dark)
        finally:
            context.close()
