"""Ways side by side: each is shown as soon as it is there, can be stopped, and is not waited for."""

import re
import time
from pathlib import Path
from typing import Any

import pytest

from divulge.app import work
from divulge.app.steps import how

from .visits import Visit, running


def slowly(progress: Any, path: str, options: Any) -> Any:
    """Look at the known classic as it is looked at, and never come back from any other."""
    while "mechanism" not in options[0]:
        time.sleep(0.05)
    return work.preview(progress, path, options)


def begun(visit: Visit, folder: Path, values: int) -> None:
    path = folder / "t.csv"
    path.write_text("v,w\n" + "".join(f"v{i % values},{i % 2}\n" for i in range(4 * values)))
    visit.upload(path)
    visit.post("secret", {"secret": "v", "whose": "row"})
    assert visit.post("aim", {"attacker": "everything", "before": "1", "after": "5"}).status_code == 200


def test_ways_are_shown_as_they_are_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(how.work, "preview", slowly)
    monkeypatch.setattr(how, "PATIENCE", 0.05)
    with running() as client:
        visit = Visit(client)
        begun(visit, tmp_path, 3)
        page = ""
        for _ in range(3000):
            page = visit.get("ways/found").text
            if "1 of 4 ways are there" in page:
                break
            time.sleep(0.05)
        assert page.count('<td colspan="3">…</td>') == 3
        assert 'hx-get="' in page
        assert visit.post("how", {"way": "randomized-response", "prior": "uniform"}).status_code == 200
        assert 'class="figure"' in visit.part("preview/found")  # which waits for no other way
        assert "1 of 4 ways are there" in visit.get("ways/found").text
        assert "Stopped. Nothing was published" in visit.post("stop/ways").text
        page = visit.get("ways/found").text
        assert page.count("Stopped. Nothing was published") == 3
        assert 'hx-get="' not in page


def test_levels_of_many_values_are_compared_when_asked_for(tmp_path: Path) -> None:
    with running() as client:
        visit = Visit(client)
        begun(visit, tmp_path, 120)
        page = visit.get("how").text
        assert re.search(r'<button class="plain" hx-get="[^"]*/cost/found"', page)
        assert "this takes some minutes" in page
