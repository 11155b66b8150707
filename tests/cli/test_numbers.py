"""Numbers that commands print: in bits all logarithms are scaled and nothing else, in text bounds err on the safe side.

The text of a line is held against its own JSON: a number of the text that is a rounding of a bound there is not below
it, or not above it where it is a lower bound.
"""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.model.shown import promised, reached

# Levels in braces are in nats, and typed in the unit of the line.
LINES: dict[str, str] = {
    "measure": "measure m.csv --prior p.csv",
    "measure, data": "measure --data t.csv --secret x --released y",
    "check": "check m.csv --guarantee pml={1} --guarantee ldp={1.5} --prior p.csv",
    "check, concentrated": "check m.csv --guarantee zcdp={0.4} --guarantee adp={0.5}:0.2 --guarantee rdp=2:{0.9}",
    "convert": "convert ldp={1} --to pml --to maximal-leakage --to adp=?:0.01 --to zcdp={0}:? --p-min 1/5",
    "design": "design --prior p.csv --guarantee ldp={1} --about y.csv",
    "design, table": "design --prior t.csv:x --guarantee pml={0.5}",
    "design, least": "design --prior p.csv --guarantee ldp --at-least {0.1}",
    "design, no logarithm": "design --prior p.csv --guarantee ldp={1} --utility total-variation",
    "design, frontier": "design --prior p.csv --guarantee ldp --frontier {0.5},{1}",
    "attack": "attack m.csv --prior p.csv",
    "attack, tries": "attack m.csv --prior p.csv --tries 2",
    "attack, any prior": "attack m.csv --gain g.csv --worst-prior",
    "compare": "compare m.csv n.csv --prior p.csv",
    "chain": "chain --transition k.csv --release m.csv --steps 3",
    "chain, worst": "chain --transition k.csv --release m.csv --steps 3 --secret 0,2",
    "chain, seen": "chain --transition k.csv --release m.csv --steps 3 --outputs a,b,c",
    "chain, calibrated": "chain --transition k.csv --release m.csv --steps 3 --calibrate {1}",
    "network": "network b.bif --release y",
    "network, worst": "network b.bif --release y --secret x",
    "network, seen": "network b.bif --release y --secret x --outputs y=a",
    "noise": "noise laplace --secret values(0:0.3,1:0.7) --scale 1",
    "noise, gaussian": "noise gaussian --secret values(0:0.3,1:0.7) --scale 1",
    "account": "account a.json --delta 1e-5",
    "calibrate": "calibrate laplace dp={1}",
    "account, delta": "account a.json --epsilon {1}",
    "release": "release t.csv --column x --guarantee ldp={2} -o r.csv --force",
    "release, known prior": "release t.csv --column x --guarantee pml={0.5} --prior p.csv -o s.csv --force --no-ledger",
    "release, preview": "release t.csv --column x --guarantee ldp={2} --preview",
    "publish": "publish t.csv --count x --values v.json --guarantee dp={1} -o q.csv --force --no-ledger",
    "publish, pml": "publish t.csv --count x --values v.json --guarantee pml={0.1} -o w.csv --force --no-ledger "
    "--record-prior lower=0.1",
    "publish, zcdp": "publish t.csv --count x --values v.json --guarantee zcdp={0.1} -o v.csv --force --no-ledger",
    "audit": "audit --data t.csv --secret x --released y --claim ldp={0.1}",
    "audit, mechanism": "audit --data t.csv --secret x --released y --claim ldp={4} --mechanism m.csv",
    "ledger": "ledger show",
    "report": "report m.csv --prior p.csv --guarantee ldp={1}",
    "report, data": "report --data t.csv --secret x --released y",
    "report, receipt": "report --receipt r.receipt.json --prior p.csv",
    "report, known prior": "report --receipt s.receipt.json",
    "report, counts": "report --receipt q.receipt.json",
    "report, Gaussian": "report --receipt v.receipt.json",
}

NEEDED = {"report, receipt": "release", "ledger": "release", "report, known prior": "release, known prior",
          "report, counts": "publish", "report, Gaussian": "publish, zcdp"}  # fmt: skip
"""What must have been done before."""

LOGARITHMS = frozenset(
    """alip bpl capacity claimed dp epsilon exact fpl ldp lip local log_leakage loss margin maximal_cost_leakage
    maximal_leakage maximal_realizable_cost mean_pmc mean_pml mean_pml_error measured min_entropy_leakage
    mutual_information mutual_information_error online pmc pml rho slack tpl xi zcdp""".split()
)
"""Keys under which every number is a logarithm, however deep, but for what `PLAIN` names."""
PLAIN = frozenset(("alpha", "delta", "ratio"))
ENDS = (("witness", "lower"), ("implied", "lower"), ("implied", "upper"), ("compared", "utility"))
AIM = frozenset(("bound", "gap", "level", "lower", "value"))
"""Keys of what a design is made for, which is a logarithm but in one line."""


def is_logarithm(line: str, path: tuple[str, ...]) -> bool:
    """Say by the names of a number alone whether it is a logarithm."""
    names = tuple(name for name in path if not name.isdigit())
    if line.startswith("design") and (names[-1] in AIM or names[0] == "named"):
        return line != "design, no logarithm"
    if (line, names) == ("calibrate", ("level",)):  # of the goal, which is dp there; elsewhere a confidence
        return True
    return names[-1] not in PLAIN and (names[-2:] in ENDS or not LOGARITHMS.isdisjoint(names))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with mechanisms, a prior, a table, and the receipts that are reported on."""
    folder = tmp_path_factory.mktemp("units")
    texts = {
        "m.csv": ",a,b,c\na,0.6,0.2,0.2\nb,0.2,0.6,0.2\nc,0.25,0.15,0.6\n",
        "n.csv": ",u,v\na,0.7,0.3\nb,0.4,0.6\nc,0.5,0.5\n",
        "y.csv": ",u,v\na,0.9,0.1\nb,0.2,0.8\nc,0.5,0.5\n",
        "k.csv": ",a,b,c\na,0.6,0.2,0.2\nb,0.2,0.6,0.2\nc,0.25,0.15,0.6\n",
        "b.bif": "network coin {} variable x { type discrete [ 2 ] { a, b }; }"
        " variable y { type discrete [ 2 ] { a, b }; }"
        " probability ( x ) { table 0.5, 0.5; } probability ( y | x ) { (a) 0.9, 0.1; (b) 0.2, 0.8; }",
        "p.csv": "secret,probability\na,0.5\nb,0.3\nc,0.2\n",
        "g.csv": "guess,a,b,c\na,1,0,0\nb,0,2,1\n",
        "v.json": '{"x": ["a", "b", "c"]}',
        "a.json": '[{"mechanism": "gaussian", "sigma": 2, "sensitivity": 1, "count": 3},'
        ' {"mechanism": "laplace", "scale": 3, "sensitivity": 1}]',
    }
    pairs = [("aaabbc"[i % 6], "aaabbc"[i % 6] if i % 7 else "abc"[i % 3]) for i in range(300)]
    texts["t.csv"] = "x,y\n" + "".join(f"{x},{y}\n" for x, y in pairs)
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def numbers(found: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield each number of plain data with its place."""
    if isinstance(found, dict):
        for key, value in found.items():
            yield from numbers(value, (*path, key))
    elif isinstance(found, list):
        for i, value in enumerate(found):
            yield from numbers(value, (*path, str(i)))
    elif isinstance(found, (int, float)) and not isinstance(found, bool):
        yield path, float(found)


def answered(line: str, unit: str) -> dict[tuple[str, ...], float]:
    """Return the numbers of what a line prints when its levels are typed in a unit."""
    per = math.log(2) if unit == "bits" else 1.0
    typed = re.sub(r"{([0-9.]+)}", lambda level: repr(float(level[1]) / per), LINES[line]).split()
    done = CliRunner().invoke(app, [*typed, "--unit", unit, "--json"])
    assert done.exit_code in (0, 1), (line, done.output)
    return dict(numbers(json.loads(done.stdout)))


@pytest.mark.parametrize("line", LINES)
@pytest.mark.thin
def test_bits_are_nats_over_log_2_wherever_they_stand(line: str, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(files)
    monkeypatch.setenv("DIVULGE_LEDGER", str(files / "ledger.sqlite"))
    needed = NEEDED.get(line)
    found = {}
    for unit in ("nats", "bits"):
        if "release" in (line, needed):  # what a release and the one before it add up to
            Path("ledger.sqlite").unlink(missing_ok=True)
            answered("release", "nats")
        if needed:
            answered(needed, "nats")
        found[unit] = answered(line, unit)
    nats, bits = found["nats"], found["bits"]
    assert nats.keys() == bits.keys()
    seen = set()
    for path, value in nats.items():
        if "statistics" in path or abs(value) < 1e-7:  # drawn anew, or a gap that rounding leaves
            continue
        logarithm = is_logarithm(line, path)
        seen.add(logarithm)
        assert bits[path] * (math.log(2) if logarithm else 1) == pytest.approx(value, rel=1e-6), path
    assert seen


ABOVE = LOGARITHMS | {"lift", "lift_capacity", "bayes_capacity", "leakage", "upper", "high", "delta"}
BELOW = frozenset(("lower", "low", "before"))
FREE = frozenset(
    (
        "mean_pml",
        "mutual_information",
        "estimate",
        "probability",
        "share",
        "p_value",
        "prior",
        "probabilities",
        "matrix",
        "scale",
        "gap",
    )
)
"""What the text rounds to the nearest: estimates, and what stands beside its error."""
TOKEN = re.compile(r"(?<![\w.])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]*\w)")
ESTIMATED = ("measure, data", "report, data")


def direction(path: tuple[str, ...]) -> int:
    """Return 1 for what is rounded up, -1 for what is rounded down, 0 for what is rounded to the nearest."""
    names = [name for name in path if not name.isdigit()]
    if not FREE.isdisjoint(names):
        return 0
    return -1 if names[-1] in BELOW else int(not ABOVE.isdisjoint(names))


def unit_in_the_last_place(token: str) -> float:
    number, _, exponent = token.partition("e")
    return 10.0 ** (int(exponent or 0) - len(number.partition(".")[2]))


@pytest.mark.parametrize("line", [line for line in LINES if line not in ESTIMATED])
@pytest.mark.thin
def test_bounds_are_rounded_to_the_safe_side_in_text(line: str, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All texts of commands, beside the numbers that the same commands give as JSON."""
    monkeypatch.chdir(files)
    monkeypatch.setenv("DIVULGE_LEDGER", str(files / "ledger.sqlite"))
    needed = NEEDED.get(line)
    if needed:
        answered(needed, "nats")
    found = [(direction(path), value) for path, value in answered(line, "nats").items()]
    typed = re.sub(r"{([0-9.]+)}", r"\1", LINES[line]).split()
    done = CliRunner(env={"COLUMNS": "300"}).invoke(app, typed)
    assert not unsafe(done.output, found)


def unsafe(text: str, found: list[tuple[int, float]]) -> list[str]:
    """Return the numbers of a text that are roundings of given ones, none of them to its safe side."""
    wrong: list[str] = []
    for token in TOKEN.findall(text):
        plain = token.replace(",", "")
        if len(re.sub(r"e.*|[-.]", "", plain).lstrip("0")) < 4:  # so short is what was typed, or what could be another
            continue
        number, step = float(plain), unit_in_the_last_place(plain)
        near = [(side, value) for side, value in found if abs(number - value) < step * (1 - 1e-9)]
        if near and not any(side * (number - value) >= -1e-9 * abs(value) for side, value in near):
            wrong.append(token)
    return wrong


def _audited() -> tuple[str, list[tuple[int, float]]]:
    rows = pa.table({"x": ["a", "b", "c"] * 70, "y": ["a", "b", "c", "a", "b", "c", "b"] * 30})
    found = dv.audit(rows, secret="x", released="y")
    bounds = found.measures.values()
    return repr(found) + str(found._repr_html_()), [*((-1, b.lower) for b in bounds), *((1, b.upper) for b in bounds)]


def _profiled() -> tuple[str, list[tuple[int, float]]]:
    found = dv.profile(([0.29, 0.71], [[0.6, 0.4], [0.17, 0.83]]))
    return repr(found) + found.to_latex(), [(1, value) for _, value in numbers(found.to_dict())]


def _worst() -> tuple[str, list[tuple[int, float]]]:
    channel = dv.Channel([[0.61, 0.39], [0.17, 0.83]])
    found = dv.adversaries.worst_prior(channel, dv.Gain([[1, 0.3], [0.2, 1.73]]))
    return repr(found).partition("at most")[2].partition("\n")[0], [(1, found.upper)]


def _by_outcome() -> tuple[str, list[tuple[int, float]]]:
    found = dv.pml(([0.29, 0.71], [[0.6, 0.4], [0.17, 0.83]]))
    return repr(found), [(1, value) for value in found]


TEXTS = {
    "audit": _audited, "profile": _profiled, "worst prior": _worst, "by outcome": _by_outcome,
    "meaning": lambda: (dv.PML(0.12345614).meaning, [(1, 0.12345614)]),
    "region": lambda: (
        repr(dv.guarantees.privacy_region(dv.PML("0.3"), ["1/2", "1/4", "1/4"])),
        [(1, math.log(4 / 3)), (-1, math.log(2))],
    ),
    "brackets": lambda: (
        f"{promised(0.12345614)} {reached(0.7654329)} {promised(0.12341, 4)} {reached(7.6599, 4)}",
        [(1, 0.12345614), (-1, 0.7654329), (1, 0.12341), (-1, 7.6599)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", TEXTS)
def test_texts_of_the_library_are_rounded_to_the_safe_side(what: str) -> None:
    text, found = TEXTS[what]()
    assert any(unsafe(f"{value:.{digits}g}", found) for _, value in found for digits in (4, 6)), "none could be unsafe"
    assert not unsafe(text, found)
