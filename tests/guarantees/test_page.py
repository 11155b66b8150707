"""The page on guarantees is made from the tables."""

import importlib.util
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from divulge.guarantees.catalog import KINDS
from divulge.guarantees.theorems import THEOREMS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("_guarantees", DOCS / "_guarantees.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_row_and_kind_is_on_the_page(hook: ModuleType) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    source = (DOCS / "guarantees.md").read_text()
    assert all(f"<!-- {name} -->" in source for name in hook.PARTS)
    page = SimpleNamespace(file=SimpleNamespace(src_path="guarantees.md"))
    text = hook.on_page_markdown(source, page)
    assert "<!--" not in text
    assert all(f"`{name}=" in text for name in KINDS)
    assert all(row.name in text for row in THEOREMS)
    assert text.count("data:image/svg+xml") == 3
    other = SimpleNamespace(file=SimpleNamespace(src_path="index.md"))
    assert hook.on_page_markdown("<!-- kinds -->", other) == "<!-- kinds -->"
