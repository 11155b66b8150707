"""A column of many values by the forms: protocols side by side, what is refused, and reports that went out."""

import html
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from support import NEVER

import divulge as dv
from divulge.app.steps import many

from .test_languages import german
from .visits import Visit, running, visiting

ASKED = {"column": "url", "odds": "20", "answers": "any", "typed": "", "other": "other", "whose": "row", "person": "",
         "rows": "6"}  # fmt: skip
PAGES = [f"page {i}" for i in range(150)]


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = ["wer,url,sex"]
    rows += [f"p{i // 2},page {i % 149 if i % 2 else 0},{'fm'[i % 2]}" for i in range(3000)]
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.fixture
def client() -> Iterator[TestClient]:
    with running() as found:
        yield found


@pytest.fixture(scope="module")
def refusing(visits: Path) -> Iterator[Visit]:
    """One visit for all that is refused, which leaves nothing behind."""
    with visiting(visits) as visit:
        yield visit


def begun(client: TestClient, file: Path, **more: str) -> Visit:
    visit = Visit(client)
    visit.upload(file)
    page = visit.part("columns")
    assert "Or publish a column of many values" in page or "Oder eine Spalte mit vielen Werten" in page
    assert visit.post("many", ASKED | more).status_code == 200
    return visit


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def rows_of(page: str) -> dict[str, list[str]]:
    """Return the cells of each way, by its name."""
    table = re.findall(r'<tr><th scope="row">(.*?)</th>(.*?)</tr>', page, re.DOTALL)
    named = {title: name for name, (title, _) in many.WORDS.items()}
    return {named[words(head).removesuffix(" ★")]: [words(cell) for cell in re.findall(r"<td.*?</td>", rest, re.DOTALL)]
            for head, rest in table}  # fmt: skip


def test_ways_are_those_of_the_library_and_the_marked_one_is_its_choice(client: TestClient, visits: Path) -> None:
    page = begun(client, visits, answers="typed", typed="\n".join(PAGES)).part("many/found")
    chosen = dv.protocols.choose(151, f"ldp={float(many.level('20'))!r}", n=3000)
    assert set(rows_of(page)) == {one.protocol.name for one in chosen if one.compact}
    assert re.findall(r'value="([\w-]+)" checked', page) == [chosen.best.protocol.name]
    for one in chosen:
        if one.compact:
            rare, any_, bits, told = rows_of(page)[one.protocol.name]
            assert int(bits.replace(",", "")) == -int(-one.bits // 1)
            assert float(told) >= one.information.upper / 0.6932
            spread = 3000 * one.protocol.variance(0, n=3000) ** 0.5
            assert spread < float(rare.strip("± ").replace(",", "")) < 8 * spread
            assert float(any_.strip("± ").replace(",", "")) >= float(rare.strip("± ").replace(",", ""))
    after = float(re.findall(r"at most ([\d.]+) in 100 afterwards", words(page))[0])
    assert after == pytest.approx(100 * 20 / (20 + 99), rel=0.01)
    figure = json.loads(html.unescape(re.findall(r'data-figure="([^"]*)"', page)[0]))
    assert len(figure["data"]) == len(rows_of(page))


def test_without_a_list_only_what_takes_any_text_can_be_chosen(client: TestClient, visits: Path) -> None:
    visit = begun(client, visits)
    page = visit.part("many/found")
    assert re.findall(r'value="([\w-]+)" checked', page) == ["local-hashing"]
    free = re.findall(r'name="protocol" value="([\w-]+)"(?: checked)?>', page)
    assert sorted(free) == ["local-hashing", "prefix-extension"]
    assert visit.post("many/chosen", {"protocol": "hadamard"}).status_code == 400
    assert visit.post("many/chosen", {}).status_code == 400


def test_what_goes_out_is_what_was_taken_and_the_program_does_the_same(
    client: TestClient, visits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    visit = begun(client, visits, answers="typed", typed="\n".join(PAGES))
    visit.part("many/found")
    assert "stands for many answers" in visit.post("many/chosen", {"protocol": "hadamard"}).text
    assert "A column of many values" in visit.get("preview").text
    assert "--protocol hadamard" in html.unescape(visit.part("asked/found"))
    files = visit.papers(tmp_path, format="csv", keep=["sex"])
    receipt = dv.Receipt.read(files["receipt.json"])
    assert (receipt.mechanisms[0].name, receipt.mechanisms[0].protocol.size) == ("hadamard", 151)
    assert receipt.guarantees["ldp"] <= float(many.level("20"))
    assert files["table"].read_text().splitlines()[0].replace('"', "") == "url_perturbed,sex"
    copy = tmp_path / "out.csv"
    copy.write_bytes(files["table"].read_bytes())
    found = dv.estimate_frequencies(copy, receipt, values=["page 0"], confidence=1 - NEVER)
    assert found.lower[0] < visits.read_text().count(",page 0,") / 3000 < found.upper[0]
    assert found.lower[0] > 0.1
    (tmp_path / "visits.csv").write_bytes(visits.read_bytes())
    (tmp_path / "answers.json").write_bytes(files["answers.json"].read_bytes())
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(files["script"]))
    again = dv.Receipt.read(tmp_path / "url_perturbed.receipt.json")
    assert again.mechanisms[0] == receipt.mechanisms[0]


def test_several_rows_of_a_person_share_the_promise(client: TestClient, visits: Path, tmp_path: Path) -> None:
    visit = begun(client, visits, whose="some", person="wer", rows="2")
    assert "from all 2 reports of a person together" in words(visit.part("many/found"))
    visit.post("many/chosen", {"protocol": "local-hashing"})
    receipt = dv.Receipt.read(visit.papers(tmp_path)["receipt.json"])
    assert receipt.guarantees["ldp"] <= float(many.level("20"))
    assert receipt.mechanisms[0].protocol.ldp == pytest.approx(float(many.level("20")) / 2)
    once = begun(client, visits, whose="one", person="wer")
    assert "not where one draw stands" in once.part("many/found")


@pytest.mark.parametrize("wrong", [
    {"column": "sex"}, {"column": ""}, {"odds": "1"}, {"odds": "x"}, {"odds": "nan"}, {"odds": "1e9"}, {"whose": ""},
    {"whose": "some", "person": "url"}, {"whose": "some", "person": "wer", "rows": "x"}, {"whose": "one"},
    {"answers": "typed", "typed": "one"},
])  # fmt: skip
def test_what_cannot_be_is_refused_on_the_page(refusing: Visit, wrong: dict[str, str]) -> None:
    assert refusing.post("many", ASKED | wrong).status_code == 400
    assert refusing.get("many/found").status_code == 409


def test_a_table_without_such_a_column_has_no_such_page(client: TestClient, tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    visit = Visit(client)
    visit.upload(path)
    assert "many values" not in visit.part("columns")
    assert visit.get("many").status_code == 409
    assert visit.post("many/chosen", {"protocol": "hadamard"}).status_code == 409


def test_the_pages_are_german(client: TestClient, visits: Path) -> None:
    client.headers["accept-language"] = "de-DE,de;q=0.9"
    for more in ({}, {"answers": "typed", "typed": "\n".join(PAGES)}):
        visit = begun(client, visits, **more)
        german(
            re.sub(r"page \d+|<option.*?</option>|<textarea.*?</textarea>", "", visit.get("many").text, flags=re.DOTALL)
        )
        german(visit.part("many/found"))
        german(visit.post("many/chosen", {"protocol": "local-hashing"}).text)
