"""Several tabs and people at once, steps back, reloads, work that is stopped or outlived, visits that ended."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from divulge.app import work
from divulge.app.sessions import IDLE, MOST, Sessions

from .visits import Visit, running


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """The app, begun after the folder of the test: while it runs, all that is temporary goes to a folder of its own."""
    with running() as found:
        yield found


def table(folder: Path, name: str, answers: str, rows: int = 400) -> Path:
    rng = random.Random(name)
    path = folder / name
    path.write_text("answer,sex\n" + "".join(f"{rng.choice(answers)},{rng.choice('fm')}\n" for _ in range(rows)))
    return path


def test_ten_people_at_once_each_get_their_own(client: TestClient, tmp_path: Path) -> None:
    visits = [Visit(client) for _ in range(10)]
    for i, visit in enumerate(visits):
        with table(tmp_path, f"people{i}.csv", "abc"[: 2 + i % 2], 50 + i).open("rb") as stream:
            assert visit.post("upload", files={"file": (f"people{i}.csv", stream)}).status_code == 200
    for visit in visits:  # all are read at once, and each answer is the own one
        visit.get("columns")
    for i, visit in enumerate(visits):
        assert f"{50 + i} rows" in visit.part("columns")
        assert f"people{i}.csv" in visit.get("data").text
        assert not any(f"people{j}.csv" in visit.get("data").text for j in range(10) if j != i)


def test_two_tabs_of_one_visit_see_the_latest_choice(client: TestClient, tmp_path: Path) -> None:
    one = Visit(client)
    two = Visit(client)
    two.base = one.base
    one.upload(table(tmp_path, "t.csv", "abc"))
    one.aimed("answer", 20.0)
    two.aimed("answer", 40.0)
    assert "40 in 100" in one.get("how").text
    one.aimed("sex", 20.0)  # the other tab still shows what belonged to the other column
    page = two.get("preview")
    assert page.status_code == 409
    assert "Choose a way first" in page.text
    assert two.post("how", {"way": "statistics", "prior": "uniform"}).status_code == 200
    assert "sex" in two.part("preview/found")


def test_every_step_is_the_same_after_a_reload_and_after_going_back(client: TestClient, tmp_path: Path) -> None:
    visit = Visit(client)
    visit.upload(table(tmp_path, "t.csv", "abc"))
    visit.aimed("answer")
    visit.post("how", {"way": "record", "prior": "uniform"})
    for step in ("data", "aim", "how", "table", "preview", "release", "check"):
        first = visit.get(step)
        assert first.status_code == 200, step
        assert visit.get(step).text == first.text, step
    assert 'value="record" checked' in visit.get("how").text
    seen = visit.part("preview/found")
    assert visit.part("preview/found") == seen  # not drawn anew: repeated looks would average the noise away
    visit.aimed("answer", 30.0)  # back, and on with another promise
    assert visit.part("preview/found") != seen


def test_publishing_twice_publishes_once(client: TestClient, tmp_path: Path) -> None:
    visit = Visit(client)
    visit.upload(table(tmp_path, "t.csv", "abc"))
    visit.aimed("answer")
    visit.post("how", {"way": "statistics", "prior": "uniform"})
    came = visit.papers(tmp_path, format="csv")
    first = came["table"].read_bytes()
    assert visit.post("release", {"format": "csv"}).status_code == 200  # a second click, or a reload that sends again
    assert visit.papers(tmp_path, format="csv")["table"].read_bytes() == first
    visit.post("again")
    visit.post("release", {"format": "parquet"})
    assert "Files for the public" in visit.part("release/found")


def test_what_was_chosen_last_is_what_goes_out(client: TestClient, tmp_path: Path) -> None:
    """A tab changes the aim while another one has published: what was published stays, and is called by its name."""
    visit = Visit(client)
    visit.upload(table(tmp_path, "t.csv", "abc"))
    visit.aimed("answer", 20.0)
    visit.post("how", {"way": "statistics", "prior": "uniform"})
    first = visit.papers(tmp_path, format="csv")["receipt.json"].read_bytes()
    visit.aimed("answer", 60.0)
    done = visit.part("release/found")
    assert "Files for the public" in done
    assert visit.get("paper/receipt.json").content == first


def test_a_file_while_work_is_under_way_ends_it(client: TestClient, tmp_path: Path) -> None:
    visit = Visit(client)
    visit.upload(table(tmp_path, "first.csv", "abcdefgh", 3000))
    visit.aimed("answer")
    visit.get("ways/found")
    visit.upload(table(tmp_path, "second.csv", "ab", 60))
    assert "60 rows" in visit.part("columns")
    assert visit.get("ways/found").status_code == 409
    assert visit.get("how").status_code == 409


def test_work_can_be_stopped_and_asked_for_again(client: TestClient, tmp_path: Path) -> None:
    visit = Visit(client)
    visit.upload(table(tmp_path, "t.csv", "abcdefgh", 3000))
    visit.aimed("answer")
    visit.get("ways/found")
    page = visit.post("stop/ways")
    assert page.status_code == 200
    assert "Stopped" in page.text or "rows that stay true" in visit.part("ways/found")
    visit.aimed("answer", 25.0)
    assert "rows that stay true" in visit.part("ways/found")
    assert visit.post("stop/nothing").status_code == 200


def test_starting_over_forgets_and_says_so(client: TestClient, tmp_path: Path) -> None:
    visit = Visit(client)
    visit.upload(table(tmp_path, "t.csv", "abc"))
    visit.post("over")
    for path in ("data", "columns", "map", "paper/table"):
        page = visit.get(path)
        assert page.status_code == 404
        assert "ended" in page.text
    for path in ("secret", "aim", "how", "table/add", "release", "again", "over", "stop/data"):
        page = visit.post(path, follow_redirects=False)
        assert page.status_code in (303, 404), path


def test_a_visit_that_was_left_alone_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("divulge.app.sessions.time.monotonic", lambda: now[0])
    sessions = Sessions()
    left, kept = sessions.new(), sessions.new()
    now[0] = IDLE / 2
    assert sessions.get(kept.key) is kept
    now[0] = IDLE + 1
    sessions.new()
    assert sessions.get(left.key) is None
    assert not left.folder.exists()
    assert sessions.get(kept.key) is kept
    assert MOST >= 10
    sessions.close()


NAMES = ("../../etc/passwd.csv", "a\\b\\c.csv", ".hidden.csv", "x" * 300 + ".csv", "ä\u202e.csv", "<b>.csv", "con.csv",
         "a'\"b.csv")  # fmt: skip


def test_names_of_files_stay_in_their_folder(client: TestClient, tmp_path: Path) -> None:
    visit = Visit(client)
    content = table(tmp_path, "t.csv", "ab").read_bytes()
    for name in NAMES:
        assert visit.post("upload", files={"file": (name, content)}).status_code == 200
        page = visit.get("data").text
        assert "<b>" not in page, name
        assert not re.search(r"\.\./|\u202e", page), name
    assert "400 rows" in visit.part("columns")
    for name in (NAMES[3], "😀" * 120 + ".csv"):
        assert visit.post("upload", files={"file": (name, content)}).status_code == 200
        assert "400 rows" in visit.part("columns")


def test_what_goes_out_is_what_the_page_said(client: TestClient, tmp_path: Path) -> None:
    """Another tab chooses another column; the page that still shows the first one publishes neither."""
    visit = Visit(client)
    visit.upload(table(tmp_path, "t.csv", "abc"))
    visit.aimed("answer")
    visit.post("how", {"way": "statistics", "prior": "uniform"})
    (shown,) = re.findall(r'name="shown" value="(\w+)"', visit.get("release").text)
    visit.aimed("sex")
    visit.post("how", {"way": "statistics", "prior": "uniform"})
    page = visit.post("release", {"format": "csv", "shown": shown})
    assert page.status_code == 409
    assert "Nothing was published" in page.text
    (shown,) = re.findall(r'name="shown" value="(\w+)"', visit.get("release").text)
    assert "sex" in visit.papers(tmp_path, format="csv", shown=shown)["table"].read_text()


def test_a_column_of_any_name_is_published(client: TestClient, tmp_path: Path) -> None:
    for i, name in enumerate(("a" * 300, "../x", "ä" * 100, "=1+1")):
        visit = Visit(client)
        path = tmp_path / f"odd{i}.csv"
        path.write_text(f"{name},k\n" + "yes,1\nno,2\n" * 50)
        visit.upload(path)
        visit.aimed(name)
        visit.post("how", {"way": "statistics", "prior": "uniform"})
        assert "_perturbed" in visit.papers(tmp_path, format="csv")["table"].read_text()


FORMS = [
    ("secret", {"secret": "nobody"}), ("secret", {}), ("aim", {"before": "x"}), ("aim", {"before": "nan"}),
    ("aim", {"after": "1e9"}), ("aim", {"attacker": "me"}), ("aim", {"value": "<script>"}), ("how", {"way": "magic"}),
    ("how", {"way": "record", "prior": "x"}), ("level", {"off": "x"}), ("level", {"after": "nan"}),
    ("release", {"format": "exe"}), ("table/level", {"after": "inf"}), ("table/level", {"after": "x"}),
]  # fmt: skip


def test_forms_that_no_page_sends_get_a_message(client: TestClient, tmp_path: Path) -> None:
    visit = Visit(client)
    visit.upload(table(tmp_path, "t.csv", "abc"))
    visit.aimed("answer")
    visit.post("how", {"way": "statistics", "prior": "uniform"})
    for path, form in FORMS:
        page = visit.post(path, form)
        assert page.status_code in (400, 409), (path, form)
        assert 'role="alert"' in page.text
        assert "<script>" not in page.text.partition("<main")[2]


def test_wide_tables_go_through(client: TestClient, tmp_path: Path) -> None:
    """A page has a box for each column; of many columns each is looked at alone."""
    visit = Visit(client)
    visit.upload(table(tmp_path, "t.csv", "abc"))
    boxes = [f"c{i}" for i in range(2000)]
    assert visit.post("secret", {"secret": "answer", "public": ["sex", *boxes]}).status_code == 200
    assert "sex" in visit.part("map")
    wide = tmp_path / "wide.csv"
    rows = [boxes[:70], *(["ab"[i * j % 2] for i in range(70)] for j in (1, 2))]
    wide.write_text("".join(",".join(row) + "\n" for row in rows))
    found = work.expose(lambda *_: None, str(wide), "c1", boxes[2:70], None)
    assert len(found.columns) == 68
    assert all(len(one.columns) == 1 for one in found.columns)
