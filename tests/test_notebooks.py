"""The notebooks: each runs from its first cell to its last and prints what is kept with it."""

import importlib.util
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

SOURCE = Path(__file__).parents[1] / "docs" / "_notebooks.py"
spec = importlib.util.spec_from_file_location("_notebooks", SOURCE)
assert spec is not None
assert spec.loader is not None
notebooks: Any = importlib.util.module_from_spec(spec)
sys.modules["_notebooks"] = notebooks
spec.loader.exec_module(notebooks)
NAMES = {
    "survey-to-publication", "choosing-epsilon", "auditing-a-mechanism", "figure-1-quantifying-privacy",
    "an-anonymized-table-checked", "what-a-week-of-locations-tells",
    "a-taxi-trip-within-a-kilometer", "a-model-with-and-without-noise",
    "from-opendp", "from-dp-accounting", "from-pure-ldp", "from-qif",
}  # fmt: skip
CHANGES = [path for path in notebooks.NOTEBOOKS if path.stem.startswith("from-")]


def test_all_notebooks_are_there() -> None:
    assert {path.stem for path in notebooks.NOTEBOOKS} == NAMES


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    """One Python for all notebooks, which forgets all names between two."""
    with warnings.catch_warnings(), notebooks.kernel() as running:
        yield running


@pytest.mark.thin
@pytest.mark.filterwarnings("default")  # of Jupyter's own machinery
@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_it_says(path: Path, kernel: Any) -> None:
    kept = notebooks.printed(nbformat.read(path, 4))
    found = notebooks.printed(notebooks.executed(path, kernel))
    assert found == kept, "python docs/_notebooks.py NAME writes the outputs anew"
    assert not any(text.startswith("stderr") for text in found)


@pytest.mark.parametrize("path", CHANGES, ids=lambda path: path.stem)
def test_who_comes_from_another_library_finds_a_decision_that_changes_by_a_number(path: Path) -> None:
    cells = nbformat.read(path, 4).cells
    place = next(i for i, cell in enumerate(cells) if "## The decision that changes" in cell.source)
    outputs = notebooks.printed(nbformat.from_dict({"cells": cells[place:]}))
    assert any(character.isdigit() for character in "".join(outputs))


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_becomes_a_page_with_its_outputs(path: Path) -> None:
    page = notebooks.page(path)
    notebook = nbformat.read(path, 4)
    assert page.startswith("# ")
    assert f"({path.name})" in page
    pictures = sum("image/png" in o.get("data", {}) for c in notebook.cells for o in c.get("outputs", []))
    assert page.count("data:image/png;base64,") == pictures
    streams = [o.text for c in notebook.cells for o in c.get("outputs", []) if o.output_type == "stream"]
    assert all(line in page for text in streams for line in text.splitlines())
