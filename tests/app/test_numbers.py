"""Every number on the pages: counted again from the file, by the library's public functions, or by definition."""

import html
import json
import math
import random
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient
from support import some

import divulge as dv

from .visits import Visit, running

COLUMNS = ("answer", "sex", "town")
WAYS = (
    {"purpose": "statistics"},
    {"purpose": "record"},
    {"purpose": "information"},
    {"mechanism": "randomized-response"},
)


@pytest.fixture(scope="module")
def people() -> list[tuple[str, str, str]]:
    """Rows with a rare answer, a small town, and sexes that nobody gave."""
    rng = random.Random(5)
    towns = {"u": [50, 30, 15, 5], "v": [80, 15, 4, 1], "w": [10, 10, 40, 40], "x": [0, 0, 5, 95]}
    drawn = rng.choices(list(towns), [50, 40, 8, 2], k=900)
    return [(rng.choices("abcd", towns[town])[0], rng.choices(["f", "m", ""], [5, 5, 1])[0], town) for town in drawn]


@pytest.fixture(scope="module")
def file(people: list[tuple[str, str, str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people") / "people.csv"
    path.write_text("".join(",".join(row) + "\n" for row in [COLUMNS, *people]))
    return path


@pytest.fixture
def ledger(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.sqlite")


@pytest.fixture
def client(ledger: str) -> Iterator[TestClient]:
    with running(ledger=ledger) as found:
        yield found


def begun(client: TestClient, file: Path) -> Visit:
    visit = Visit(client)
    visit.upload(file)
    assert visit.post("secret", {"secret": "answer", "public": ["sex", "town"]}).status_code == 200
    return visit


def cells(page: str) -> list[list[str]]:
    """Return the text of the cells of every row in the bodies of tables."""
    rows = re.findall(r"<tr>(.*?)</tr>", "".join(re.findall(r"<tbody>(.*?)</tbody>", page, re.DOTALL)), re.DOTALL)
    return [[words(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)] for row in rows]


def words(page: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def drawn(page: str) -> list[dict[str, Any]]:
    """Return the traces of the picture of a page."""
    (found,) = re.findall(r'data-figure="(.*?)"', page, re.DOTALL)
    return json.loads(html.unescape(found))["data"]


def unit(value: float, digits: int) -> float:
    """Return one in the last of so many significant digits."""
    return 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1) if value else 0.0


def read(text: str) -> float:
    (found,) = re.findall(r"-?[\d,]*\.?\d+(?:e-?\d+)?", text, re.IGNORECASE)
    return float(found.replace(",", ""))


def is_near(text: str, value: float, digits: int) -> bool:
    """Whether a text is a number rounded to so many digits."""
    return abs(read(text) - value) <= unit(value, digits) / 2 + 1e-9 * abs(value)


def is_share(text: str, share: float) -> bool:
    """Whether a text is a share in 100: with two digits below ten, with three from there on."""
    assert share == 0 or share >= 0.001
    return text.endswith(" in 100") and is_near(text.removesuffix(" in 100"), 100 * share, 2 if share < 0.1 else 3)


def is_above(text: str, value: float, digits: int = 3) -> bool:
    """Whether a text is a number rounded up."""
    return -1e-11 * value <= read(text) - value < unit(value, digits) or read(text) == value


def is_below(text: str, value: float, digits: int = 3) -> bool:
    """Whether a text is a number rounded down."""
    return -1e-11 * value <= value - read(text) < unit(value, digits) or read(text) == value


def test_columns_of_the_file(client: TestClient, file: Path, people: list[tuple[str, str, str]]) -> None:
    page = begun(client, file).part("columns")
    assert f"{len(people)} rows, {len(COLUMNS)} columns." in page
    wanted = [
        [name, "text", str(len(set(column) - {""})), str(column.count(""))]
        for name, column in zip(COLUMNS, zip(*people, strict=True), strict=True)
    ]
    assert [[row[0], *row[3:6]] for row in cells(page)] == wanted


def test_every_cell_of_every_map(client: TestClient, file: Path, people: list[tuple[str, str, str]]) -> None:
    visit = begun(client, file)
    found = dv.assess(file, ["sex", "town"], "answer")
    at = {risk.columns: risk for risk in found.columns}
    assert set(at) == {("sex",), ("town",), ("sex", "town")}
    answers = Counter(row[0] for row in people)
    few = 0
    for columns, risk in at.items():
        of = " and ".join(columns)
        page = visit.part(f"map?{urlencode({'of': of})}")
        assert f"all {len(people)} rows" in words(page)
        assert "confidence 95 in 100" in words(page)
        (choice,) = re.findall(rf'<option selected value="{of}">(.*?)</option>', page)
        assert (
            is_below(choice.partition("× ")[2].partition(";")[0], risk.rise)
            if risk.rise > 1.005
            else "nothing sure" in choice
        )
        assert ("tell their answer" in choice or "tells its answer" in choice) == (risk.certain > 0)
        groups = Counter(tuple(row[COLUMNS.index(name)] for name in columns) for row in people)
        both = Counter((row[0], *(row[COLUMNS.index(name)] for name in columns)) for row in people)
        rows = cells(page)
        assert [row[0] for row in rows] == sorted(answers, key=lambda answer: answers[answer])
        before, after = drawn(page)
        assert before["y"] == after["y"] == [row[0] for row in rows]
        for i, (row, shift) in enumerate(zip(rows, risk.disclosures, strict=True)):
            group = tuple("" if name == "missing" else name for name in row[2].split(", "))
            assert is_share(row[1], answers[row[0]] / len(people))
            share = both[row[0], *group] / groups[group]
            assert is_share(row[3], share)
            low, high = row[4].split(" and ")
            assert is_below(low, 100 * shift.low)
            assert is_above(high, 100 * shift.high)
            assert row[5] == f"{groups[group]}{' few' if groups[group] < 30 else ''}"
            few += groups[group] < 30
            assert before["x"][i] == pytest.approx(100 * answers[row[0]] / len(people))
            assert after["x"][i] == pytest.approx(100 * share)
            assert after["x"][i] + after["error_x"]["array"][i] == pytest.approx(100 * shift.high)
            assert after["x"][i] - after["error_x"]["arrayminus"][i] == pytest.approx(100 * shift.low)
            assert f"({groups[group]} row" in after["text"][i]
    assert few, "one group at least is small"


def odds(chance: float, factor: float) -> float:
    """Return a chance whose odds are multiplied."""
    return chance * factor / (1 - chance + chance * factor)


def believed(attacker: str, before: float, after: float, chance: float) -> tuple[float, float]:
    """Return the least and the largest chance afterwards by Bayes' rule, under the promise of before and after."""
    if attacker == "everything":
        factor = after * (1 - before) / (before * (1 - after))
        return odds(chance, 1 / factor), odds(chance, factor)
    rise = after / before  # likelihoods are within this factor of their mean, both ways
    return (
        max(chance / rise, 1 - rise * (1 - chance), odds(chance, rise**-2)),
        min(chance * rise, 1 - (1 - chance) / rise, odds(chance, rise**2)),
    )


def test_what_a_promise_means(client: TestClient, file: Path) -> None:
    visit = begun(client, file)
    beliefs = ((1, 5), (0.3, 20), (12.5, 40), (50, 99))
    for attacker, (before, after) in some([*product(("everything", "frequencies", "nothing"), beliefs)]):
        means(visit, attacker, before, after)


def means(visit: Visit, attacker: str, before: float, after: float) -> None:
    """Say what must not happen, and compare all that the pages say of it."""
    if attacker == "nothing":
        before = 100 / 4  # of the four answers any
        after = max(after, 40)
    assert visit.post("aim", {"attacker": attacker, "before": str(before), "after": str(after)}).status_code == 200
    _, high = believed(attacker, before / 100, after / 100, before / 100)
    assert high <= after / 100 + 1e-12, "what must not happen does not"
    most = 100 * high
    page = visit.get("aim").text
    lead = words(re.findall(r'<p class="lead">(.*?)</p>', page, re.DOTALL)[0])
    shown = re.findall(r"is ([\d.]+) in 100 may be taken for it with at most ([\d.]+) in 100", lead)
    assert is_near(shown[0][0], before, 3)
    assert is_above(shown[0][1], most)
    told = re.findall(r"from ([\d.]+) to at most ([\d.]+) in 100", words(visit.get("how").text))
    assert told == shown
    pictures = re.findall(r'<svg class="people".*?aria-label="(.*?)">(.*?)</svg>', page, re.DOTALL)
    for (label, people), count in zip(pictures, (math.floor(before + 0.5), math.ceil(round(most, 6))), strict=True):
        assert f" {count} of 100 people" in label
        assert people.count('class="one"') == count
        assert people.count("<circle") == 100
    table = cells(page)
    chances = sorted({0.001, 0.01, 0.1, 0.5, before / 100})
    assert len(table) == len(chances)
    for row, chance in zip(table, chances, strict=True):
        low, high = believed(attacker, before / 100, after / 100, chance)
        assert is_share(row[0], chance)
        assert is_above(row[1].removesuffix(" in 100"), 100 * high)
        assert is_below(row[2].removesuffix(" in 100"), 100 * low)
    (promise,) = re.findall(r"<code>(.*?)</code>", page)
    found = dv.guarantees.posterior_bounds(dv.guarantees.parse(promise), before / 100)
    assert found.upper == pytest.approx(most / 100)


def test_ways_and_the_cost_of_protection(client: TestClient, file: Path, people: list[tuple[str, str, str]]) -> None:
    visit = begun(client, file)
    visit.post("aim", {"attacker": "everything", "before": "1", "after": "20"})
    counts = Counter(row[0] for row in people)

    def looked(after: float, way: dict[str, str]) -> Any:
        epsilon = dv.guarantees.guarantee_for_posterior("ldp", "1/100", after / 100).epsilon
        promised = {"epsilon": float(epsilon)} if "mechanism" in way else {"guarantee": f"ldp={epsilon!r}"}
        found: Any = dv.preview(file, column="answer", prior="uniform", levels=(1.0,), **way, **promised)
        return found.levels[0]

    table = cells(visit.part("ways/found"))
    for row, way in zip(table, WAYS, strict=True):
        level = looked(20.0, way)
        small = min(level.values, key=lambda value: value.count)
        assert is_share(row[1], level.stays)
        assert is_above(row[2], 100 * max(value.half_width for value in level.values))
        smallest = re.fullmatch(r"d, (.*? in 100): (.*?), ± (.*) points", row[3])
        assert smallest
        share, said, off = smallest.groups()
        assert is_share(share, counts["d"] / len(people))
        assert said == ("can be counted" if small.half_width < small.share else "too small to be counted")
        assert is_above(off, 100 * small.half_width)
    response = 0.2 * 0.99 / (0.01 * 0.8)  # e^epsilon
    assert is_share(table[-1][1], response / (response + 3))
    page = visit.part("cost/found")
    points = re.findall(r'<option value="([\d.]+)"[^>]*>at most ([\d.]+) in 100: ± ([\d.,]+) points', page)
    (line,) = drawn(page)
    assert line["x"] == [float(after) for after, _, _ in points]
    for (after, shown, off), y in zip(points, line["y"], strict=True):
        wanted = 100 * max(value.half_width for value in looked(float(after), WAYS[0]).values)
        assert is_above(shown, float(after))
        assert is_above(off, wanted)
        assert y == pytest.approx(wanted)


def test_preview_and_its_picture(client: TestClient, file: Path, people: list[tuple[str, str, str]]) -> None:
    visit = begun(client, file)
    visit.post("aim", {"attacker": "everything", "before": "1", "after": "20"})
    visit.post("how", {"way": "randomized-response", "prior": "uniform"})
    page = visit.part("preview/found")
    response = 0.2 * 0.99 / (0.01 * 0.8)
    stays = response / (response + 3)
    assert is_share(re.findall(r"is true for (.*? in 100) rows", page)[0], stays)
    counts = Counter(row[0] for row in people)
    truth, guess = drawn(page)
    table = cells(page)
    assert [row[0] for row in table] == sorted(counts, key=lambda answer: counts[answer])
    for row in table:
        share = counts[row[0]] / len(people)
        assert is_share(row[1], share)
        assert is_share(row[4], stays)
        assert truth["x"][truth["y"].index(row[0])] == pytest.approx(100 * share)
        place = guess["y"].index(row[0])
        middle, bars = guess["x"][place], guess["error_x"]
        assert is_near(row[2], middle, 3)
        low, high = row[3].split(" and ")
        assert is_below(low, middle - bars["arrayminus"][place]) or read(low) == 0
        assert is_above(high, middle + bars["array"][place])


def columns_of(receipt: dv.Receipt) -> list[list[Fraction]]:
    """Return the probabilities of a receipt's mechanism, by secret in order of their names."""
    found = receipt.mechanisms[0].channel.exact
    place = sorted(range(len(found.secrets)), key=lambda i: str(found.secrets[i]))
    return [[Fraction(p) for p in found.matrix[i]] for i in place]


def summed(channels: list[list[list[Fraction]]]) -> float:
    """Return the ldp of independent releases of one column, by definition: the worst pair of secrets."""
    pairs = [pair for x, y in combinations(range(len(channels[0])), 2) for pair in ((x, y), (y, x))]
    return max(
        sum(math.log(max(p / q for p, q in zip(channel[x], channel[y], strict=True))) for channel in channels)
        for x, y in pairs
    )


def test_what_the_ledger_adds_up_to(client: TestClient, file: Path, ledger: str, tmp_path: Path) -> None:
    visit = begun(client, file)
    channels: list[list[list[Fraction]]] = []
    for number, (after, way) in enumerate(((7, "record"), (5, "statistics"), (9, "information")), start=1):
        visit.post("aim", {"attacker": "everything", "before": "1", "after": str(after)})
        visit.post("how", {"way": way, "prior": "uniform"})
        papers = visit.papers(tmp_path, format="csv")
        channels.append(columns_of(dv.Receipt.read(papers["receipt.json"])))
        said = words(re.findall(r'<p class="lead">(.*?)</p>', visit.part("release/found"), re.DOTALL)[0])
        visit.post("again")
        if number == 1:
            assert said == "Done: “answer” of people.csv, perturbed, and no other column."
            continue
        assert f"{number} releases in all: before 1 in 100," in said
        factor = math.exp(summed(channels))
        low, high = re.findall(r"at most ([\d.]+) and at least ([\d.]+) in 100", said)[0][::-1]
        assert is_above(high, 100 * odds(0.01, factor))
        assert is_below(low, 100 * odds(0.01, 1 / factor))
    visit.post("aim", {"attacker": "everything", "before": "1", "after": "7"})
    loss = float(dv.guarantees.guarantee_for_posterior("ldp", "1/100", "7/100").epsilon)
    visit.post("table", {})
    assert is_above(re.findall(r"with noise \(epsilon ([\d.]+)\)", visit.get("release").text)[0], loss)
    visit.papers(tmp_path, format="csv")
    said = words(re.findall(r'<p class="lead">(.*?)</p>', visit.part("release/found"), re.DOTALL)[0])
    assert "The ledger has 4 releases" in said
    told = dict(re.findall(r"(ldp|pml|pmc) ([\d.]+)", said))
    assert is_above(told["ldp"], summed(channels) + loss, 6)
    spent = dv.Ledger(ledger).spent(file.name, ["answer"])
    assert set(told) == set(spent)
    for kind, value in spent.items():
        assert is_above(told[kind], value, 6)


FIRST = [["0.5", "0.3", "0.2"], ["0.2", "0.5", "0.3"], ["0.3", "0.2", "0.5"]]
SECOND = [["0.8", "0.2"], ["0.3", "0.7"], ["0.3", "0.7"]]


def vulnerability(channel: list[list[float]], gain: list[list[float]], worst: bool) -> float:
    """Return what somebody expects who holds all secrets for equally likely: on average, or after the worst outcome."""
    joint = [[p / len(channel) for p in row] for row in channel]
    best = [
        max(sum(g * row[y] for g, row in zip(action, joint, strict=True)) for action in gain)
        for y in range(len(joint[0]))
    ]
    if not worst:
        return sum(best)
    return max(value / sum(row[y] for row in joint) for y, value in enumerate(best))


def test_two_mechanisms_compared(client: TestClient, tmp_path: Path) -> None:
    made: list[list[list[float]]] = []
    files: dict[str, tuple[str, bytes]] = {}
    for name, matrix in (("first", FIRST), ("second", SECOND)):
        lines = [",".join(["", *"xyz"[: len(matrix[0])]])]
        lines += [",".join([secret, *row]) for secret, row in zip("abc", matrix, strict=True)]
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        files[name] = (f"{name}.csv", (tmp_path / f"{name}.csv").read_bytes())
        made.append([[float(p) for p in row] for row in matrix])
    visit = Visit(client)
    visit.post("check/compare", files=files)
    page = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", visit.part("check/found"), re.DOTALL)[0])
    measures = {row[0]: row[1:] for row in map(str.split, page.partition("smaller is safer):")[2].split("\n")[2:])}
    for place, channel in enumerate(made):
        by_outcome = list(zip(*channel, strict=True))
        ratio = max(max(column) / min(column) for column in by_outcome)
        wanted = {
            "ldp": math.log(ratio),
            "lift_capacity": ratio,
            "bayes_capacity": sum(map(max, by_outcome)),
            "maximal_cost_leakage": -math.log(sum(map(min, by_outcome))),
        }
        assert set(measures) == set(wanted)
        for name, value in wanted.items():
            assert is_above(measures[name][place], value, 6), name
    average, most = page.partition("measures")[0].split("max-case adversaries")
    for worst, part in ((False, average), (True, most)):
        assert "neither is safer" in part
        sentences = re.findall(
            r"([AB]) leaks more .* expect ([\d.]+) after ([AB]), ([\d.]+) after [AB]\n((?: {4}.*\n)+)", part
        )
        assert {sentence[0] for sentence in sentences} == {"A", "B"}
        for more, low, less, high, table in sentences:
            gain = [[float(cell) for cell in line.split()[-3:]] for line in table.splitlines()[1:]]
            for name, shown in ((less, low), (more, high)):
                value = vulnerability(made["AB".index(name)], gain, worst)
                assert float(shown) == pytest.approx(value, rel=1e-5)
            assert float(low) < float(high)


def test_a_report_is_the_one_of_the_library(client: TestClient, file: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"mechanism": "randomized-response", "epsilon": 1, "prior": "uniform"}
    receipt = dv.release(file, tmp_path / "out.csv", column="answer", **options)
    visit = Visit(client)
    path = receipt.papers["receipt.json"]
    visit.post("check/receipt", files={"file": (Path(path).name, Path(path).read_bytes())})
    assert "The report is ready" in visit.part("check/found")
    dv.report(dv.Receipt.read(path)).save(tmp_path / "report.html")
    assert visit.get("paper/checked?show").text == (tmp_path / "report.html").read_text(encoding="utf-8")
