"""Only this machine's own pages are answered; a token is asked for beyond it; uploads are bounded."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener, urlopen

import pytest
from starlette.testclient import TestClient

from divulge.app import sessions
from divulge.app.server import application
from divulge.app.sessions import MOST

HOST = "127.0.0.1:8765"


def client(**options: Any) -> TestClient:
    return TestClient(application(frozenset({HOST}), **options), base_url=f"http://{HOST}", follow_redirects=False)


@pytest.fixture
def local() -> Iterator[TestClient]:
    with client() as found:
        yield found


def visit(local: TestClient) -> str:
    return re.search(r"/s/[\w-]+", local.get("/").headers["location"])[0]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8765", "127.0.0.1", "127.0.0.1:1", ""])
def test_a_name_that_was_bound_to_this_machine_is_not_answered(local: TestClient, host: str) -> None:
    assert local.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("headers", [{"origin": "http://evil.example"}, {"origin": "null"}, {"origin": f"https://{HOST}"},
                                     {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
                                     {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}])  # fmt: skip
def test_other_sites_cannot_act(local: TestClient, headers: dict[str, str]) -> None:
    base = visit(local)
    assert local.post(f"{base}/census", headers=headers).status_code == 403
    assert local.get(f"{base}/data").status_code == 200
    assert "census.parquet" not in local.get(f"{base}/data").text


def test_a_link_from_elsewhere_opens_the_first_page_only(local: TestClient) -> None:
    came = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert local.get("/", headers=came | {"sec-fetch-dest": "document"}).status_code == 303
    for place in ("iframe", "frame", "embed", "object", "empty", "fencedframe"):
        assert local.get("/", headers=came | {"sec-fetch-dest": place}).status_code == 403


def test_every_answer_carries_the_policy(local: TestClient) -> None:
    base = visit(local)
    for path in ("/", f"{base}/data", "/static/app.js", "/s/nobody/data", f"{base}/paper/none", "/nothing"):
        headers = local.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"], path
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_no_page_holds_a_script_or_style_of_its_own(local: TestClient) -> None:
    page = local.get(f"{visit(local)}/data").text
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|https?://", page)
    assert not re.findall(r"<script(?![^>]*\ssrc=)", page)


@pytest.mark.parametrize("part", [False, True])
def test_after_a_restart_pages_and_parts_say_the_way_back(part: bool) -> None:
    """The visit and the token of before are gone; in German where the browser asks for it."""
    asks = {"hx-request": "true"} if part else {}
    with client(token="old") as found:
        first = found.get("/?token=old")
        base, cookie = first.headers["location"], first.headers["set-cookie"].partition(";")[0]
    with client(token="new") as found:
        page = found.get(base, headers=asks | {"cookie": cookie})
        assert page.status_code == 401
        assert page.headers["content-type"].startswith("text/html")
        assert ("<html" in page.text) != part
        assert "started again since" in page.text
        german = found.get(base, headers=asks | {"cookie": cookie, "accept-language": "de"}).text
        assert "neu gestartet" in german
        assert "token" not in german
        assert found.get("/?token=new").status_code == 303
        ended = found.get(base, headers=asks)  # the address was opened: the visit is gone all the same
        assert ended.status_code == 404
        assert "This visit has ended" in ended.text
        for one in (page, ended):
            assert re.findall(r'<a href="([^"]*)"', one.text) == ["/"]
        assert found.get("/").status_code == 303


def test_a_file_that_is_too_large_leads_back_to_the_visit() -> None:
    with client(limit=10) as found:
        base = visit(found)
        refused = found.post(f"{base}/upload", headers={"referer": f"http://{HOST}{base}/data"}, content=b"x" * 99)
        assert refused.status_code == 413
        assert f'href="{base}/data"' in refused.text


def test_a_token_is_asked_for() -> None:
    with client(token="long-secret") as found:
        assert found.get("/").status_code == 401
        assert found.get("/?token=wrong").status_code == 401
        assert found.get("/", headers={"cookie": "divulge-token=wrong"}).status_code == 401
        first = found.get("/?token=long-secret")
        assert first.status_code == 303
        assert "HttpOnly" in first.headers["set-cookie"]
        assert "SameSite=Strict" in first.headers["set-cookie"]
        assert found.get(first.headers["location"]).status_code == 200


def test_a_page_that_leads_in_gets_the_cookie_before_the_first_page_opens() -> None:
    """A browser keeps a strict cookie from all requests that a foreign page began, redirects as well."""
    with client(token="long-secret") as found:
        came = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
        first = found.get("/?token=long-secret", headers=came)
        assert first.status_code == 200
        assert "SameSite=Strict" in first.headers["set-cookie"]
        assert 'http-equiv="refresh" content="0;url=/"' in first.text
        assert "long-secret" not in first.text
        assert found.get("/", headers=came | {"sec-fetch-site": "same-origin"}).status_code == 303


@contextmanager
def served(home: Path, *options: str) -> Generator[subprocess.Popen[str]]:
    """Run the app, and end it however the test ends."""
    command = [sys.executable, "-m", "divulge", "app", "--port", "0", "--no-ledger", *options]
    environment = os.environ | {"HOME": str(home), "TMPDIR": str(home), "BROWSER": f"{sys.executable} {home}/see.py %s"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        try:
            yield running
        finally:
            running.kill()


def test_the_address_of_this_machine_has_a_token_that_no_process_list_shows(tmp_path: Path) -> None:
    """What is printed opens; the same without its token, as another user may ask, does not; the browser gets a file."""
    seen = tmp_path / "seen"
    (tmp_path / "see.py").write_text(
        "import pathlib, sys, urllib.request as r\n"
        "path = pathlib.Path(r.url2pathname(sys.argv[1].removeprefix('file://')))\n"
        f"told = ' '.join([sys.argv[1], oct(path.stat().st_mode)[-3:], path.read_text()])\n"
        f"pathlib.Path({str(seen)!r} + '.part').write_text(told)\n"
        f"pathlib.Path({str(seen)!r} + '.part').rename({str(seen)!r})\n"
    )
    with served(tmp_path) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        plain, _, token = address.partition("?token=")
        assert len(token) >= 32
        assert build_opener(HTTPCookieProcessor()).open(address).status == 200
        with pytest.raises(HTTPError, match="401"):
            urlopen(plain)
        for _ in range(3000):
            if seen.exists():
                break
            time.sleep(0.1)
        opened, mode, page = seen.read_text().split(" ", 2)
        assert token not in opened
        assert opened.startswith("file://")
        assert mode == "600"
        assert f'content="0;url={address}"' in page
        running.send_signal(signal.SIGHUP)  # the terminal was closed
        assert running.wait(300) == 0
    assert not list(tmp_path.glob("divulge-run-app-*"))


def test_empty_visits_make_room_before_those_with_a_file() -> None:
    """Whoever opens the first page again and again does not end anybody's work."""
    with client() as found:
        base = visit(found)
        found.post(f"{base}/upload", files={"file": ("t.csv", b"a\n1\n2\n")})
        for _ in range(2 * MOST):
            found.get("/")
        assert found.get(f"{base}/data").status_code == 200


def test_uploads_are_bounded() -> None:
    with client(limit=10_000) as found:
        base = visit(found)
        big = {"file": ("big.csv", b"a,b\n" + b"1,2\n" * 10_000)}
        assert found.post(f"{base}/upload", files=big).status_code == 413

        def pieces() -> Iterator[bytes]:
            yield b"x" * 8_000
            yield b"x" * 8_000

        kind = {"content-type": "multipart/form-data; boundary=b"}
        assert found.post(f"{base}/upload", content=pieces(), headers=kind).status_code in (400, 413)


def test_all_visits_together_are_bounded(local: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_BYTES", 100_000)  # a small file is kept with what is made of it
    file = {"file": ("t.csv", b"a\n" + b"1\n2\n" * 15_000)}
    first, second = visit(local), visit(local)
    assert local.post(f"{first}/upload", files=file).status_code == 303
    refused = local.post(f"{second}/upload", files=file)
    assert (refused.status_code, "too many files" in refused.text) == (413, True)
    assert local.post(f"{first}/over").status_code == 303
    assert local.post(f"{second}/upload", files=file).status_code == 303


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE"])
def test_only_get_and_post(local: TestClient, method: str) -> None:
    assert local.request(method, "/").status_code == 405


@pytest.mark.parametrize("step", ["aim", "how", "preview", "release", "map", "meaning", "ways/found", "check/found"])
def test_a_step_too_early_gets_a_message(local: TestClient, step: str) -> None:
    answer = local.get(f"{visit(local)}/{step}")
    assert answer.status_code in (404, 409)
    assert 'role="alert"' in answer.text


def test_visits_do_not_see_each_other(local: TestClient) -> None:
    one, other = visit(local), visit(local)
    local.post(f"{one}/census")
    assert "census.parquet" in local.get(f"{one}/data").text
    assert "census.parquet" not in local.get(f"{other}/data").text
    assert local.post(f"{one}/over").status_code == 303
    assert local.get(f"{one}/data").status_code == 404
    assert local.get(f"{other}/data").status_code == 200
