"""Data flows one way: a room imports only from those before it, and no modules import each other in a circle."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import divulge as dv

SOURCE = Path(dv.__file__).parent

LAYERS = (
    (
        "errors",
        "units",
        "extras",
        "late",
        "exact",
        "roots",
        "gradients",
        "programs",
        "ties",
        "clock",
        "panels",
        "kernels",
        "stopping",
        "children",
        "staging",
    ),
    ("datasets",),
    ("model",),
    ("files",),
    ("measures",),
    ("networks",),
    ("protocols",),
    ("noise",),
    ("dp",),
    ("adversaries",),
    ("guarantees",),
    ("designing",),
    ("releasing",),
    ("tables",),
    ("publishing",),
    ("auditing",),
    ("reporting",),
    ("app",),
    ("cli",),
    ("results", "glossary", "", "__main__"),
)
"""The rooms in the order in which data flows; those of the ground, and the faces of the package, stand side by side."""

HEIGHT = {room: i for i, layer in enumerate(LAYERS) for room in layer}


def module_of(path: Path) -> str:
    parts = ("divulge", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for path in SOURCE.rglob("*.py")}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


_IMPORT = re.compile(r"^ *from (divulge[\w.]*) import (\([^)]*\)|[^\n]*)|^ *import (divulge[^\n]*)", re.MULTILINE)
"""At the head of a module or inside a function, one a line as the linter asks: to parse all modules takes seconds."""


def imported(module: str) -> Iterator[str]:
    """Yield every module of the package that a module imports, at its head or inside a function."""
    for home, names, whole in _IMPORT.findall(FILES[module].read_text()):
        yield from (name for name in re.findall(r"divulge[\w.]*", whole) if name in FILES)
        for name in re.findall(r"(\w+)(?: as \w+)?", re.sub(r"#[^\n]*", "", names)):
            inner = f"{home}.{name}"
            yield inner if inner in FILES else home


@cache
def graph() -> dict[str, set[str]]:
    """Return for each module those of the package that it imports."""
    return {module: set(imported(module)) - {module} for module in sorted(FILES)}


def circles() -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(graph()[module]):
            if other not in index:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == index[module]:
            here = stack.index(module)
            component = stack[here:]
            del stack[here:]
            if len(component) > 1:
                found.append(sorted(component))

    for module in graph():
        if module not in index:
            visit(module)
    return found


def test_every_room_has_its_place() -> None:
    assert {room(module) for module in FILES} <= set(HEIGHT)


def test_a_room_imports_only_from_those_before_it() -> None:
    for module, needed in graph().items():
        above = {other for other in needed if HEIGHT[room(other)] > HEIGHT[room(module)] and room(other)}
        assert not above, f"{module} imports {sorted(above)}, which stand above it"


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert not circles()


def test_what_is_named_before_it_is_written_exists() -> None:
    """The paths by which methods look up functions that stand above them."""
    asked = {path for file in FILES.values() for path in re.findall(r'late\("([\w.:]+)"\)', file.read_text())}
    assert asked
    for path in asked:
        name, _, function = path.partition(":")
        assert callable(getattr(import_module(name), function)), path


def test_the_map_shows_every_room_and_nothing_that_is_not_there() -> None:
    text = (SOURCE / "README.md").read_text()
    for name in HEIGHT.keys() - {"", "__main__"}:
        assert re.search(rf"`{name}(/|\.py)`", text), f"{name} is not on the map in src/divulge/README.md"
    for path in re.findall(r"`((?!tests/)[a-z_]+/[a-z_/]+(?:\.py)?)`", text):
        assert (SOURCE / path).exists(), f"the map shows {path}, which does not exist"


@pytest.mark.parametrize("module", ["measures", "adversaries", "dp", "guarantees", "networks", "noise"])
def test_the_map_shows_the_home_of_every_public_formula(module: str) -> None:
    text = (SOURCE / "README.md").read_text().partition("## Where a formula lives")[2]
    homes = set(re.findall(r"`([a-z_]+/[a-z_/]+(?:\.py)?)`", text))
    public = getattr(dv, module)
    for name in public.__all__:
        home = getattr(public, name).__module__.removeprefix("divulge.").replace(".", "/")
        if home.startswith(module):
            assert homes & {f"{home}.py", f"{home.rpartition('/')[0]}/"}, f"{name} lives in {home}.py"


def test_no_folder_has_more_than_about_a_dozen_modules() -> None:
    for folder in {path.parent for path in FILES.values()} - {SOURCE}:
        inside = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
        assert len(inside) <= 14, f"{folder.relative_to(SOURCE)} has {len(inside)} modules"
