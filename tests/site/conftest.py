"""The documentation, built strictly once and served to the system's Chromium; one process runs all its tests.

The suite builds a draft, in which pictures are empty and docstrings stand as written: `tests/test_pages.py` draws
pictures and reads docstrings.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from browser import kept
from support import THOROUGH

ROOT = Path(__file__).parents[2]


BUILD = "import gc; gc.set_threshold(100_000); from mkdocs.__main__ import cli; cli()"
"""Pages are made of many small things that live on: a quarter of the time Python would look for rubbish among them."""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="package", autouse=True)
def _one_chromium() -> Iterator[None]:
    with kept():
        yield


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site that is built now, or that of DIVULGE_SITE."""
    if "DIVULGE_SITE" in os.environ:
        return Path(os.environ["DIVULGE_SITE"])
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-c", BUILD, "build", "--strict", "--quiet", "--site-dir", str(site)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT / "src")}
    environment["DIVULGE_DRAFT"] = "" if THOROUGH else "1"
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr, done.stderr
    return site


@pytest.fixture(scope="session")
def address(built: Path) -> Iterator[str]:
    """Return where the site is served, on this machine alone."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(built)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()
