"""`divulge chain` and `divulge network` write the report on one secret beside what they say of it."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from divulge.cli.main import app

CHAIN = ("chain", "--transition", "moves.csv", "--release", "told.csv", "--steps", "2")
NETWORK = ("network", "ill.bif", "--release", "test")
BIF = """network ill { }
variable ill { type discrete [ 2 ] { yes, no }; }
variable test { type discrete [ 2 ] { up, down }; }
probability ( ill ) { table 0.1, 0.9; }
probability ( test | ill ) { (yes) 0.9, 0.1; (no) 0.2, 0.8; }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("moves.csv").write_text("secret,ill,well\nill,9/10,1/10\nwell,1/10,9/10\n")
    Path("told.csv").write_text("secret,ill,well\nill,3/4,1/4\nwell,1/4,3/4\n")
    Path("ill.bif").write_text(BIF)


def run(*arguments: str, code: int = 0) -> Any:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize(
    ("asked", "title", "seen"),
    [
        ((*CHAIN, "--secret", "1"), "What step 1 of a chain and all its outputs reveal", "step 1"),
        ((*CHAIN, "--secret", "ever=ill", "--language", "de"), "Was ever ill einer Kette", "Schritt 1"),
        ((*NETWORK, "--secret", "ill", "--json"), "What ill of a network and all its outputs reveal", "test"),
    ],
    ids=["chain", "event in German", "network"],
)
@pytest.mark.thin
def test_a_page_on_one_secret(asked: tuple[str, ...], title: str, seen: str) -> None:
    plain = run(*(one for one in asked if one not in ("--language", "de")))
    result = run(*asked, "--report", "page.html")
    assert result.stdout == plain.stdout
    assert result.stderr == "written to page.html\n"
    page = Path("page.html").read_text()
    assert title in page
    assert f">{seen}<" in page
    assert "there is one already" in run(*asked, "--report", "page.html", code=2).output
    assert Path("page.html").read_text() == page


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--report", "page.html"), "--secret names it"),
        (("--secret", "1", "--force"), "--report PAGE"),
        (("--secret", "1", "--language", "de"), "--report PAGE"),
        (("--secret", "1", "--outputs", "ill,ill", "--report", "page.html"), "all outputs that there could be"),
        (("--secret", "1", "--calibrate", "1", "--report", "page.html"), "all outputs that there could be"),
        (("--secret", "1", "--report", "page.txt"), "ends in .html"),
        (("--secret", "1", "--steps", "40", "--report", "page.html"), "to be listed"),
        (("--secret", "1", "--time-limit", "9", "--report", "page.html"), "about an answer without a page"),
    ],
)
def test_what_makes_no_page_is_refused(options: tuple[str, ...], message: str) -> None:
    assert message in " ".join(run(*CHAIN, *options, code=2).output.split())
    assert not list(Path().glob("page*"))


@pytest.mark.parametrize(
    "more",
    [
        (),
        ("--secret", "1"),
        ("--secret", "all"),
        ("--calibrate", "1"),
        ("--secret", "ever=ill", "--outputs", "ill,ill"),
    ],
)
def test_a_time_limit_reaches_the_search(more: tuple[str, ...]) -> None:
    refused = run(*CHAIN, *more, "--time-limit", "0", code=2).output
    assert "long enough for a chain of 2 steps and 2 states" in " ".join(refused.split())
    run(*NETWORK, "--time-limit", "0")
    run(*CHAIN, *more, "--time-limit", "60")
