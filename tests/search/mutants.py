"""`PYTHONPATH=src:tests python -m search.mutants tests/noise --only divulge/noise --count 60`: which tests protect.

Tests run once, to see what each costs and which functions it enters. Then one place of a random function of those is
changed in a copy of the tree: an operator, a number, a condition, a call. Light tests that enter it run, the cheapest
first; what none of them notices goes to all heavy ones. In the end: heavy tests that alone protect something, and the
others. A test that starts processes enters few functions here, and must be judged by reading.
"""

import argparse
import ast
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).parents[2]
TURNED: dict[type[ast.AST], type[Any]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
}
_PAIRS = {"min": "max", "any": "all", "minimum": "maximum", "ceil": "floor", "exp": "expm1", "log": "log1p"}
SWAPPED = _PAIRS | {new: name for name, new in _PAIRS.items()}
PATIENCE = 60.0
"""Seconds of processor for the light tests of a change, and for the heavy ones: longer counts as unnoticed."""


class Test(NamedTuple):
    name: str
    seconds: float
    entered: set[tuple[str, str]]
    """File below src and qualified name of each function."""


def changed(node: ast.AST) -> ast.AST | None:
    """Return what a node is changed into, or None where it stays.

    >>> ast.unparse(changed(ast.parse("a < b", mode="eval").body))
    'a <= b'
    """
    match node:
        case ast.Compare(left, [op, *ops], others) if type(op) in TURNED:
            return ast.Compare(left, [TURNED[type(op)](), *ops], others)
        case ast.BinOp(left, op, right) if type(op) in TURNED:
            return ast.BinOp(left, TURNED[type(op)](), right)
        case ast.BoolOp(op, values):
            return ast.BoolOp(TURNED[type(op)](), values)
        case ast.If() | ast.IfExp():
            new = copy.copy(node)
            new.test = ast.UnaryOp(ast.Not(), node.test)
            return new
        case ast.Constant(bool(value)):
            return ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            return ast.Constant(value + 1)
        case ast.UnaryOp(ast.USub() | ast.Not(), operand):
            return operand
        case ast.Call(ast.Name(name, context), arguments, named) if name in SWAPPED:
            return ast.Call(ast.Name(SWAPPED[name], context), arguments, named)
        case ast.Call(ast.Attribute(value, name, context), arguments, named) if name in SWAPPED:
            return ast.Call(ast.Attribute(value, SWAPPED[name], context), arguments, named)
        case ast.Expr(ast.Call()) | ast.Raise():
            return ast.Pass()
        case _:
            return None


class Change(ast.NodeTransformer):
    """The places in functions of a module that can be changed, of which the one with the number `at` is."""

    def __init__(self, at: int = -1) -> None:
        self.at = at
        self.places: list[tuple[str, ast.AST]] = []
        self._around: list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] = []

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: no law
            return node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._around.append(node)
            node.body = [self.visit(line) for line in node.body]  # pyright: ignore[reportAttributeAccessIssue]
            self._around.pop()
            return node
        if self._around and not isinstance(self._around[-1], ast.ClassDef) and (new := changed(node)):
            self.places.append((".".join(around.name for around in self._around), node))
            if len(self.places) == self.at + 1:
                return ast.copy_location(new, node)
        return self.generic_visit(node)


class Watch:
    """A plugin of pytest that keeps what each test costs and enters."""

    def __init__(self) -> None:
        self.tests: list[tuple[str, float, list[tuple[str, str]]]] = []

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        codes, src = set[Any](), f"{Path('src').resolve()}/"

        def note(frame: FrameType, event: str, _: object) -> None:
            if event == "call":
                codes.add(frame.f_code)

        sys.setprofile(note)
        threading.setprofile(note)
        began = _spent()
        yield
        sys.setprofile(None)
        threading.setprofile(None)
        ours = [code for code in codes if code.co_filename.startswith(src)]
        names = [(code.co_filename.removeprefix(src), code.co_qualname.replace(".<locals>", "")) for code in ours]
        self.tests.append((item.nodeid, _spent() - began, names))


class Attack:
    """A plugin of pytest that runs tests in an order, until one fails or patience ends, and keeps what failed."""

    def __init__(self, order: list[str], first: bool) -> None:
        self.rank, self.first, self.failed = {name: i for i, name in enumerate(order)}, first, list[str]()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.rank), key=lambda item: self.rank[item.nodeid])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._look(report)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._look(report)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        yield
        if (self.first and self.failed) or _spent() > PATIENCE:
            item.session.shouldstop = "seen enough"

    def _look(self, report: pytest.CollectReport | pytest.TestReport) -> None:
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)


def _spent() -> float:
    """Return the seconds of processor of this process and its children."""
    return sum(os.times()[:4])


def watch(paths: list[str], to: str) -> None:
    """Run tests in the working folder, and write what each costs and enters."""
    pytest.main(["-n", "0", "-q", *paths], plugins=[plugin := Watch()])
    Path(to).write_text(json.dumps(plugin.tests))


def attack(order: list[str], first: bool, to: str) -> None:
    """Run tests in this order, and write which failed."""
    if not order:
        return
    files = sorted({name.partition("::")[0] for name in order})
    pytest.main(["-n", "0", "-q", "-p", "no:cacheprovider", *files], plugins=[plugin := Attack(order, first)])
    Path(to).write_text(json.dumps(plugin.failed))


def inside(tree: Path, function: str, *arguments: object) -> Any:
    """Return what a function of this module writes in a process of its own, whose working folder is the tree."""
    to = tree / "written.json"
    to.write_text('["the process"]' if function != "attack" or arguments[0] else "[]")  # what an end by force leaves
    call = f"from search import mutants; mutants.{function}(*{arguments!r}, {str(to)!r})"
    surroundings = {**os.environ, "PYTHONPATH": f"{tree}/src:{tree}/tests", "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run([sys.executable, "-c", call], cwd=tree, env=surroundings, stdout=subprocess.DEVNULL)
    return json.loads(to.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(prog="search.mutants", description=__doc__)
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--only", default="divulge", help="files of src whose path begins so")
    parser.add_argument("--count", type=int, default=40, help="changes")
    parser.add_argument("--heavy", type=float, default=0.3, help="seconds of processor from which a test is heavy")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", "site"))
        written = inside(tree, "watch", asked.tests)
        tests = sorted((Test(n, s, set(map(tuple, e))) for n, s, e in written), key=lambda test: test.seconds)
        heavy = [test for test in tests if test.seconds >= asked.heavy]
        print(f"{len(tests)} tests of {_sum(tests):.0f} s, {len(heavy)} heavy ones of {_sum(heavy):.0f} s", flush=True)
        noticed = list(_changes(tree, tests, heavy, asked.only, asked.count, random.Random(asked.seed)))
    _sum_up(heavy, noticed)


def _changes(
    tree: Path, tests: list[Test], heavy: list[Test], only: str, count: int, draw: random.Random
) -> Iterator[tuple[str, set[str]]]:
    """Give for each change by whom it was noticed: "light", "heavy" or "nobody", and the tests that failed."""
    entered = sorted({place for test in heavy for place in test.entered if place[0].startswith(only)})
    while entered and count:
        file, name = place = draw.choice(entered)
        path = tree / "src" / file
        text = path.read_text()
        (change := Change()).visit(ast.parse(text))
        numbers = [i for i, (function, _) in enumerate(change.places) if function == name]
        if not numbers:
            entered.remove(place)
            continue
        _, node = change.places[at := draw.choice(numbers)]
        mine = [test for test in tests if place in test.entered]
        light, costly = ([test.name for test in mine if (test in heavy) is wanted] for wanted in (False, True))
        path.write_text(ast.unparse(ast.fix_missing_locations(Change(at).visit(ast.parse(text)))))
        by, failed = "light", inside(tree, "attack", light, True)
        if not failed:
            by, failed = "heavy", inside(tree, "attack", costly, False)
        path.write_text(text)
        by, count = by if failed else "nobody", count - 1
        print(
            f"{by:6} {file}:{getattr(node, 'lineno', 0)} {name}: {ast.unparse(node)[:60]!r} {' '.join(failed[:2])}",
            flush=True,
        )
        yield by, set(failed)


def _sum(tests: list[Test]) -> float:
    return sum(test.seconds for test in tests)


def _sum_up(heavy: list[Test], noticed: list[tuple[str, set[str]]]) -> None:
    """Print by whom changes were noticed, then heavy tests; few of them that notice all are marked as kept."""
    print(", ".join(f"{times} noticed by {by}" for by, times in Counter(by for by, _ in noticed).items()))
    seconds, kept = {test.name: test.seconds for test in heavy}, set[str]()
    while left := [failed for by, failed in noticed if by == "heavy" and not failed & kept]:
        votes = Counter(name for failed in left for name in failed)
        kept.add(max(votes, key=lambda name: votes[name] / seconds.get(name, 1)))
    for test in reversed(heavy):
        print(f"{'kept' if test.name in kept else '    '} {test.seconds:7.2f} s {test.name}")


if __name__ == "__main__":
    main()
