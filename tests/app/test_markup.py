"""Names of columns, answers, files and papers that are markup: every page shows them, none takes them for its own."""

import html
import json
import random
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from .visits import Visit, running

HOSTILE = "\"'></script></textarea></title><planted onplant=plant()>{{ 6 * 777777777777 }}"
"""Ends what it may stand in (an attribute, a script, a field, a title), and begins what no page has."""
SECRET, BESIDE, NUMBER = f"secret{HOSTILE}", f"beside{HOSTILE}", f"number{HOSTILE}"
ANSWERS = [f"{name}{HOSTILE}" for name in ("often", "seldom", "javascript:plant()")]


class Reader(HTMLParser):
    """What a browser takes for markup of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self.figures: list[Any] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "planted" or any(name.startswith("on") for name in given):
            self.wrong.append(self.get_starttag_text() or tag)
        self.wrong += [value for name in ("href", "src", "action") if (value := given.get(name, "")).startswith("java")]
        if tag == "script" and not given.get("src", "").startswith("/static/"):
            self.wrong.append("a script in the page")
        if "data-figure" in given:
            self.figures.append(json.loads(given["data-figure"]))


def strings(data: Any) -> list[str]:
    """Return all text in what a figure draws: Plotly reads tags in it."""
    if isinstance(data, str):
        return [data]
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else []
    return [text for each in inside for text in strings(each)]


def held(where: str, page: str, policy: str) -> None:
    """Assert that nothing of what was planted became markup, a figure's tag or a template's expression."""
    reader = Reader(page)
    assert not reader.wrong, (where, reader.wrong)
    assert not [text for figure in reader.figures for text in strings(figure) if "<planted" in text], where
    assert "4666666666662" not in page, f"{where}: an expression was evaluated"
    assert "default-src 'none'" in policy, where
    assert "unsafe-eval" not in policy, where
    assert ("script-src 'self';" in policy and "unsafe" not in policy) or policy.endswith("sandbox"), where


class Watched(Visit):
    """A visit of which each answer is read, and that knows where a planted name was shown."""

    def __init__(self, client: Any) -> None:
        self.shown: set[str] = set()
        super().__init__(client)

    def _read(self, path: str, answer: Any) -> Any:
        if answer.headers.get("content-type", "").startswith("text/html") and "attachment" not in answer.headers.get(
            "content-disposition", ""
        ):
            held(path, answer.text, answer.headers["content-security-policy"])
            if "planted onplant" in html.unescape(html.unescape(answer.text)):
                self.shown.add(path)
        return answer

    def get(self, path: str, **more: Any) -> Any:
        return self._read(path, super().get(path, **more))

    def post(self, path: str, data: Any = None, **more: Any) -> Any:
        return self._read(path, super().post(path, data, **more))


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = random.Random(4)
    quoted = [f'"{text}"' for text in (name.replace('"', '""') for name in (SECRET, BESIDE, NUMBER))]
    lines = [",".join(quoted)]
    for _ in range(300):
        one, other = (rng.choice(ANSWERS).replace('"', '""') for _ in range(2))
        lines.append(f'"{one}","{other}",{rng.randint(18, 90)}')
    path = tmp_path_factory.mktemp("planted") / "table.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def uploaded(visit: Visit, path: Path) -> None:
    assert visit.post("upload", files={"file": (f"{HOSTILE}.csv", path.read_bytes())}).status_code == 200
    assert "rows," in visit.part("columns")
    assert visit.post("secret", {"secret": SECRET, "public": [BESIDE], "whose": "row"}).status_code == 200
    assert visit.post("aim", {"attacker": "everything", "before": "1", "after": "20"}).status_code == 200


def test_a_released_column_of_any_name_stays_text(planted: Path, tmp_path: Path) -> None:
    with running() as client:
        visit = Watched(client)
        uploaded(visit, planted)
        visit.get("data"), visit.part("map"), visit.get("aim"), visit.get("meaning?before=1&after=20")
        visit.get("how"), visit.part("ways/found"), visit.part("cost/found")
        assert visit.post("how", {"way": "statistics", "prior": "uniform"}).status_code == 200
        visit.get("preview"), visit.part("preview/found"), visit.get("release")
        visit.post("asked", {"format": "csv", "keep": [BESIDE]})
        visit.part("asked/found")
        papers = visit.papers(tmp_path, format="csv", keep=[BESIDE])
        for kind in papers:
            visit.get(f"paper/{kind}?show")
        visit.get("check")
        receipt = {"file": (f"{HOSTILE}.json", papers["receipt.json"].read_bytes())}
        visit.post("check/receipt", files=receipt)
        assert "The report is ready" in visit.part("check/found")
        visit.get("paper/checked?show")
        pairs = {"file": (f"{HOSTILE}.csv", planted.read_bytes())}
        visit.post("check/audit", {"secret": SECRET, "released": BESIDE, "claim": "ldp=9"}, files=pairs)
        visit.part("check/found")
        coin = {"secrets": ANSWERS[:2], "outcomes": ANSWERS[:2], "matrix": [["3/4", "1/4"], ["1/4", "3/4"]]}
        other = coin | {"matrix": [["1/2", "1/2"], ["1/8", "7/8"]]}
        first, second = ((f"{HOSTILE}.json", json.dumps(one).encode()) for one in (coin, other))
        visit.post("check/compare", files={"first": first, "second": second})
        assert "adversaries" in visit.part("check/found")
        for path, form in (("secret", {"secret": HOSTILE}), ("aim", {"value": HOSTILE}), ("level", {"off": HOSTILE})):
            visit.post(path, form), visit.post(path, form, headers={"hx-request": "true"})
        visit.get(HOSTILE), visit.get(f"paper/{HOSTILE}")
        assert visit.shown >= {
            "data", "columns", "map", "how", "preview/found", "release", "asked/found", "release/found",
            "paper/statement.html?show", "paper/checked?show",
        }  # fmt: skip


def test_a_coarser_table_with_columns_of_any_name_stays_text(planted: Path, tmp_path: Path) -> None:
    with running() as client:
        visit = Watched(client)
        uploaded(visit, planted)
        visit.get("coarse"), visit.part("coarse/found")
        visit.post("coarse/levels", {f"level:{BESIDE}": "0"})
        visit.part("coarse/found")
        visit.post("coarse", {"k": HOSTILE}), visit.post("coarse", {"k": "5"}, headers={"hx-request": "true"})
        visit.part("coarse/found"), visit.post("coarse/chosen"), visit.part("asked/found")
        for kind in visit.papers(tmp_path, format="csv"):
            visit.get(f"paper/{kind}?show")
        assert visit.shown >= {"coarse", "coarse/found", "coarse/chosen", "asked/found", "release/found"}


def test_statistics_of_columns_of_any_name_stay_text(planted: Path, tmp_path: Path) -> None:
    with running() as client:
        visit = Watched(client)
        uploaded(visit, planted)
        for one in (
            {"kind": "count", "of": [SECRET, BESIDE]},
            {"kind": "mean", "column": NUMBER, "low": "18", "high": "90"},
            {"kind": "share", "column": SECRET, "value": ANSWERS[0]},
        ):
            assert visit.post("table/add", one).status_code == 200
        visit.post("table/add", {"kind": "mean", "column": HOSTILE, "low": HOSTILE})
        visit.get("table"), visit.part("tablecost/found")
        assert visit.post("table", {"by": [BESIDE]}).status_code == 200
        visit.part("preview/found"), visit.get("release"), visit.part("asked/found")
        for kind in visit.papers(tmp_path, format="csv"):
            visit.get(f"paper/{kind}?show")
        assert visit.shown >= {"table", "preview/found", "release/found", "paper/statement.html?show"}


def test_sheets_of_any_name_stay_text(tmp_path: Path) -> None:
    from xlsxwriter import Workbook

    with Workbook(tmp_path / "book.xlsx") as book:
        for name in ('"><planted onplan=', "<planted>"):  # a sheet has 31 characters at most
            book.add_worksheet(name).write_column(0, 0, [name, "a", "b"])
    with running() as client:
        visit = Watched(client)
        visit.post("upload", files={"file": ("book.xlsx", (tmp_path / "book.xlsx").read_bytes())})
        assert "planted" in visit.part("columns") + visit.get("data").text


@pytest.mark.parametrize(
    "page",
    ['<a href="x"><planted></a>', "<p onplant=x>", "<script>1</script>", "<a href=javascript:x>", "4666666666662"],
)
def test_a_page_that_takes_a_name_for_markup_is_seen(page: str) -> None:
    with pytest.raises(AssertionError):
        held("page", page, "default-src 'none'; script-src 'self'; style-src 'self'")


def test_a_figure_with_a_tag_is_seen() -> None:
    figure = html.escape(json.dumps({"layout": {"title": "<planted>"}}))
    with pytest.raises(AssertionError):
        held("page", f'<div data-figure="{figure}">', "default-src 'none'; script-src 'self'; style-src 'self'")
