"""A list of answers from a file: a codebook whose list was paid for is taken over, with what it was paid with."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import divulge as dv
from divulge.model.shown import at_most

from .visits import Visit, running

LINES = [f"{'abcde'[i % 5] if i else 'only one'},{'xy'[i % 2]},c{i % 150}" for i in range(900)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table, and with the papers of a publication that named its answers with noise."""
    folder = tmp_path_factory.mktemp("lists")
    (folder / "people.csv").write_text("faith,town,code\n" + "\n".join(LINES) + "\n")
    dv.publish(folder / "people.csv", dv.Count("faith"), folder / "list.csv", guarantee="adp=1:1e-12", per_row=True)
    return folder


def asked(visit: Visit, made: Path, file: str | None, **more: str) -> Any:
    form = {"secret": "faith", "public": ["town"], "whose": "row", "answers": "file", "other": "other", **more}
    files = {"list": (file, (made / file).read_bytes())} if file else None
    return visit.post("secret", form, files=files)


def test_a_list_that_was_paid_for_is_taken_over(made: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    dv.publish(made / "people.csv", dv.Count("faith"), tmp_path / "l.csv", guarantee="adp=1:1e-12", per_row=True,
               ledger=ledger)  # fmt: skip
    book = tmp_path / "l.codebook.json"
    (entry,) = (one for one in json.loads(book.read_text())["columns"] if one["column"] == "faith")
    listed, bought = entry["values"], entry["bought"]
    assert "only one" not in listed
    with running(ledger=str(ledger)) as client:
        visit = Visit(client)
        visit.upload(made / "people.csv")
        done = visit.post("secret", {"secret": "faith", "whose": "row", "answers": "file", "other": "other"},
                          files={"list": (book.name, book.read_bytes())})  # fmt: skip
        assert done.status_code == 200
        part = visit.part("columns")
        paid = f"paid for with epsilon 1 and a slack of {at_most(bought['delta'])}"
        assert f"l.codebook.json, 5 answers; {paid}" in part
        assert visit.post("secret", {"secret": "faith", "whose": "row", "answers": "file"}).status_code == 200
        visit.post("aim", {"attacker": "everything", "before": "1", "after": "5"})
        visit.post("how", {"way": "randomized-response", "prior": "uniform"})
        assert 'class="figure"' in visit.part("preview/found")
        said = visit.part("asked/found")
        assert f"was {paid}" in re.sub("</?strong>", "", said)
        assert "2 releases" in said
        papers = visit.papers(tmp_path)
    receipt = dv.Receipt.read(papers["receipt.json"])
    assert receipt.answers == {"from": "list", "other": ["other"], "bought": bought}
    assert set(map(str, receipt.channel.secrets)) == {*listed, "other"}
    assert json.loads(papers["answers.json"].read_text()) == json.loads(book.read_text())
    assert "l.codebook.json" in papers["script"].read_text()


def test_reports_take_it_over_too(made: Path, tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text("\n".join(f"c{i}" for i in range(150)))
    with running() as client:
        visit = Visit(client)
        visit.upload(made / "people.csv")
        form = {"column": "code", "odds": "3", "answers": "file", "other": "else", "whose": "row"}
        assert visit.post("many", form).status_code == 400
        sent = {"list": ("codes.txt", (tmp_path / "codes.txt").read_bytes())}
        assert visit.post("many", form, files=sent).status_code == 200
        assert "codes.txt, 150 answers" in visit.get("many").text
        assert visit.post("many", form | {"odds": "9"}).status_code == 200  # with the file that is there
        assert "for 151 answers that are asked for at once" in " ".join(visit.part("many/found").split())


WRONG = [
    ("x.csv", b"town\nx\ny\n"), ("x.json", b"{"), ("x.json", b'{"faith": ["a"]}'), ("x.json", b'{"faith": ["a", "a"]}'),
    ("x.xlsx", b"PK"), ("x.txt", b"\xff\xfe"), ("x.json", b'{"faith": 3}'), ("x.json", b"[1, null]"), ("", b"a\nb"),
    ("x.csv", b""), ("x.txt", b""), ("x.json", b'"a"'),
    ("x.codebook.json",
     b'{"format": "divulge codebook 9", "column": "faith", "values": ["a", "b"], "answers": {"bought": 1}}'),
]  # fmt: skip


def test_files_without_a_list_are_refused(made: Path) -> None:
    with running() as client:
        client.headers["accept-language"] = "de"
        visit = Visit(client)
        visit.upload(made / "people.csv")
        form = {"secret": "faith", "whose": "row", "answers": "file"}
        for name, content in WRONG:
            answer = visit.post("secret", form, files={"list": (name, content)} if name else None)
            assert answer.status_code == 400, content
            said = re.sub(r"<[^>]*>|„[^“]*“", "", answer.text.partition("<main")[2])
            assert not re.search(r"\b(must|the|is|of|has|there)\b", said), said
