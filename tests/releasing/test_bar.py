"""The bar in a notebook: there from the start, moved by rows, and gone at the end."""

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv

import divulge as dv
from divulge.releasing.output.bar import in_notebook

TABLE = pa.table({"x": ["a", "b"] * 500})


class Shown:
    """What a notebook shows, one drawing after the other."""

    def __init__(self) -> None:
        self.drawn: list[str] = []

    def display(self, content: dict[str, str], raw: bool, display_id: bool) -> "Shown":
        assert display_id
        self.update(content, raw)
        return self

    def update(self, content: dict[str, str], raw: bool) -> None:
        assert raw
        assert set(content) == {"text/html"}  # nothing that stays in the text of a notebook
        self.drawn.append(content["text/html"])


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    shown = Shown()
    kernel: Any = ModuleType("IPython")
    kernel.get_ipython = lambda: SimpleNamespace(kernel=object())
    kernel.display = SimpleNamespace(display=shown.display)
    monkeypatch.setitem(sys.modules, "IPython", kernel)
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    return shown


def test_a_bar_is_there_from_the_start_and_gone_at_the_end(notebook: Shown) -> None:
    assert in_notebook()
    dv.release(TABLE, column="x", guarantee="ldp=1")
    assert notebook.drawn[0] == "<progress></progress> choosing the mechanism"
    assert any(re.search(r'value="1000" max="1000"></progress> 1,000 rows', drawn) for drawn in notebook.drawn)
    assert notebook.drawn[-1] == ""


def test_the_bar_goes_when_a_release_is_refused(notebook: Shown) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.release(TABLE, column="x", guarantee="ldp=1", purpose="nothing")
    with pytest.raises(dv.DivulgeError):
        dv.release(TABLE, column="y", guarantee="ldp=1")
    assert not notebook.drawn or notebook.drawn[-1] == ""


def test_there_is_none_where_it_is_not_wanted(notebook: Shown) -> None:
    seen: list[tuple[int, int | None]] = []
    dv.release(TABLE, column="x", guarantee="ldp=1", progress=False)
    dv.release(TABLE, column="x", guarantee="ldp=1", progress=lambda done, total: seen.append((done, total)))
    assert notebook.drawn == []
    assert seen[-1] == (1000, 1000)


def test_a_publication_tells_in_each_pass_how_far_it_is(notebook: Shown, tmp_path: Path) -> None:
    many = pa.table({"x": ["a", "b"] * 80_000, "age": list(range(100)) * 1_600})
    asked: Any = {"guarantee": "dp=1", "values": {"x": ["a", "b"]}}
    dv.publish(many, [dv.Count("x"), dv.Mean("age", (0, 100))], **asked)
    assert notebook.drawn[0] == "<progress></progress> reading"
    assert any(re.search(r'value="\d+" max="160000"></progress> [\d,]+ rows', drawn) for drawn in notebook.drawn)
    assert notebook.drawn[-1] == ""
    notebook.drawn.clear()
    passes: dict[int, list[int]] = {0: []}

    def told(done: int, total: int | None) -> None:
        if done < (passes[max(passes)] or [0])[-1]:
            passes[max(passes) + 1] = []
        passes[max(passes)].append(done)
        assert total in (None, 160_000)

    csv.write_csv(many, tmp_path / "many.csv")
    dv.publish(tmp_path / "many.csv", dv.Count("x"), progress=told, ledger=tmp_path / "ledger.db", **asked)
    assert max(map(max, passes.values())) == 160_000
    assert len(passes) <= 4  # fingerprint, its first batch, persons, counts
    dv.publish(many, dv.Count("x"), progress=False, **asked)
    assert notebook.drawn == []
    with pytest.raises(dv.DivulgeError, match=r"`progress` must be a function; it is a str"):
        dv.publish(many, dv.Count("x"), progress="yes", **asked)  # pyright: ignore[reportArgumentType]


def test_a_script_is_no_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert not in_notebook()
