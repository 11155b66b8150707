"""A bar in a notebook that tells how far a release or a publication is."""

import html
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from divulge.errors import DivulgeError, number_of

_PAUSE = 0.1
"""Seconds between two drawings."""


def in_notebook() -> bool:
    """Say whether a Jupyter kernel runs this process."""
    if "ipykernel" not in sys.modules or "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def telling(
    progress: Any, first: str = "choosing the mechanism"
) -> Generator[Callable[[int, int | None], None] | None]:
    """Give what tells of progress: the function that is given, in a notebook a bar without one, nothing for False."""
    if not callable(progress or str):
        raise DivulgeError.of("progress", "be a function", "it", f"a {type(progress).__name__}")
    if progress is None and in_notebook():
        with bar(first) as move:
            yield move
    else:
        yield progress or None


@contextmanager
def bar(first: str) -> Generator[Callable[[int, int | None], None]]:
    """Show a bar from now on, and give a function of (rows done, rows in all or None) that moves it."""
    display: Any = sys.modules["IPython"].display
    shown = display.display(_drawn(first, None, None), raw=True, display_id=True)
    last = [0.0]

    def move(done: int, total: int | None) -> None:
        if time.monotonic() - last[0] >= _PAUSE or done == total:
            last[0] = time.monotonic()
            shown.update(_drawn(number_of(done, "row"), done, total), raw=True)

    try:
        yield move
    finally:
        shown.update({"text/html": ""}, raw=True)


def _drawn(words: str, done: int | None, total: int | None) -> dict[str, str]:
    """Return the bar as HTML alone: nothing stays in the text of a notebook."""
    known = f' value="{done}" max="{total}"' if done is not None and total else ""
    return {"text/html": f"<progress{known}></progress> {html.escape(words)}"}
