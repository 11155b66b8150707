"""What step 2 promises holds of what goes out, by Bayes' rule, whichever choices step 3 offers are taken."""

import re
import warnings
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from itertools import product
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from support import NEVER, THOROUGH

import divulge as dv
from divulge.app import work
from divulge.app.sessions import Session
from divulge.app.steps import aim, how, table
from divulge.releasing.planning import assumed

from .visits import Visit, running

TABLES = {
    "skewed": {"A": 300, "B": 300, "C": 290, "D": 100, "R": 10},
    "two": {"no": 950, "yes": 50},
    "gaps": {"A": 300, "B": 140, "missing": 60},
}
FIVE = 5
"""So many rows for each row of `TABLES`: the noise of estimates is small beside them."""


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with running(ledger=str(tmp_path / "ledger.sqlite")) as found:
        yield found


def written(folder: Path, counts: dict[str, int]) -> Path:
    path = folder / "table.csv"
    cells = {value: "" if value == "missing" else value for value in counts}
    path.write_text("v,k\n" + "".join(f"{cells[value]},k\n" * FIVE * count for value, count in counts.items()))
    return path


def session(folder: Path, counts: dict[str, int], **form: str) -> Session:
    """Return a visit at step 3, without its pages."""
    listed = sorted(((x, FIVE * count) for x, count in counts.items()), key=lambda pair: -pair[1])
    missing = FIVE * counts.get("missing", 0)
    listed = [pair for pair in listed if pair[0] != "missing"]
    column = {"name": "v", "values": len(listed), "missing": missing, "listed": listed}
    data = {"path": str(written(folder, counts)), "rows": FIVE * sum(counts.values()), "columns": [column]}
    made = Session("visit", folder, 0.0, {"data": data, "secret": "v"})
    made.choices["aim"] = aim.read(form, made)
    return made


def begun(client: TestClient, folder: Path, counts: dict[str, int]) -> Visit:
    visit = Visit(client)
    visit.upload(written(folder, counts))
    assert visit.post("secret", {"secret": "v"}).status_code == 200
    return visit


def posteriors(channel: dv.Channel, belief: dict[str, Fraction]) -> Iterator[tuple[str, Fraction]]:
    """Give what is held of every secret after every answer, by Bayes' rule in fractions."""
    rows = {str(x): [Fraction(p) for p in row] for x, row in zip(channel.secrets, channel.matrix, strict=True)}
    for y in range(len(channel.matrix[0])):
        joint = {x: belief[x] * rows[x][y] for x in belief}
        total = sum(joint.values())
        if total:
            yield from ((x, p / total) for x, p in joint.items())


@lru_cache
def meant(promise: str, chance: Fraction) -> tuple[float, float]:
    """Return what a promise allows to be held after, of a chance before."""
    bounds = dv.guarantees.posterior_bounds(dv.guarantees.parse(promise), chance)
    return bounds.lower - 1e-9, bounds.upper + 1e-9


def beliefs(attacker: str, counts: dict[str, int], before: Fraction) -> list[dict[str, Fraction]]:
    """Return what an attacker may believe: the shares, all alike, or any that gives one value the chance."""
    rows = sum(counts.values())
    rare = min(counts, key=lambda value: counts[value])
    if attacker == "nothing":
        return [{x: Fraction(1, len(counts)) for x in counts}]
    if attacker == "frequencies":
        return [{x: Fraction(count, rows) for x, count in counts.items()}]
    return [
        {z: before if z == rare else 1 - before if z == other else Fraction(0) for z in counts}
        for other in counts
        if other != rare
    ]


def released(visit: Session, way: str, prior: str) -> dv.Channel:
    """Return the mechanism that a choice of step 3 makes."""
    choice = how.options(visit, way, visit.choices["aim"], prior)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        receipt = dv.release(visit.choices["data"]["path"], keep=(), ledger=None, **choice)
    return receipt.mechanisms[0].channel.exact


@pytest.mark.parametrize("shape", TABLES)
@pytest.mark.parametrize("attacker", aim.ATTACKERS)
@pytest.mark.thin
def test_every_choice_keeps_the_promise(
    tmp_path: Path, shape: str, attacker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every choice against every attacker on one of the tables; on both in `make search`."""
    monkeypatch.setattr(assumed, "CONFIDENCE", 1 - NEVER)  # that shares with noise are as near as is said
    counts = TABLES[shape]
    rare = min(counts, key=lambda value: counts[value])
    before = 100 * counts[rare] / sum(counts.values())
    after = 4 * before if attacker != "nothing" else 80.0
    visit = session(tmp_path, counts, attacker=attacker, value=rare, before=str(before), after=str(after))
    wanted = visit.choices["aim"]
    promise = aim.meaning(visit, wanted)["promise"]
    choices = list(product(how.WAYS, how.PRIORS))
    for way, prior in choices if THOROUGH else choices[list(TABLES).index(shape) :: len(TABLES)]:
        channel = released(visit, way, prior)
        for belief in beliefs(attacker, counts, Fraction(wanted["before"]) / 100):
            for value, held in posteriors(channel, belief):
                if 0 < belief[value] < 1:
                    low, high = meant(promise, belief[value])
                    assert low <= held <= high, (way, prior, value)


def test_what_is_believed_already_is_no_target(client: TestClient, tmp_path: Path) -> None:
    """Two in 100 of somebody who begins with one in two: it is refused, and no other number takes its place."""
    visit = begun(client, tmp_path, TABLES["skewed"])
    visit.post("aim", {"attacker": "everything", "before": "1", "after": "5"})
    for page in (visit.post("aim", {"attacker": "everything", "before": "50", "after": "2"}),
                 visit.get("meaning?attacker=nothing&after=2")):  # fmt: skip
        assert page.status_code == 400
        assert "in 100 already" in page.text
    assert "Before anything goes out it is 50 in 100 already" in visit.post(
        "aim", {"attacker": "everything", "before": "50", "after": "50.4"}
    ).text  # fmt: skip
    assert "at most <strong>5 in 100" in visit.get("aim").text


def test_ways_with_equal_numbers_are_said_to_be_one(client: TestClient, tmp_path: Path) -> None:
    """Of two answers that are alike, every way is randomized response with the same odds."""
    visit = begun(client, tmp_path, TABLES["two"])
    visit.post("aim", {"attacker": "everything", "before": "1", "after": "5"})
    told = visit.part("ways/found")
    assert "These ways come to the same here" in told


def test_the_case_of_a_rare_value(client: TestClient, tmp_path: Path) -> None:
    """1 in 100 have R; whoever knows that may hold nobody for it with more than 4 in 100."""
    visit = begun(client, tmp_path, TABLES["skewed"])
    visit.post("aim", {"attacker": "frequencies", "value": "R", "before": "1", "after": "4"})
    page = " ".join(re.sub(r"<[^>]+>", "", visit.get("aim").text).split())
    assert (
        "In this table 1 in 100 rows are “R”: somebody who knows that may take a person for it with at most 4 in"
        in page
    )
    visit.post("how", {"way": "record", "prior": "uniform"})
    assert "whatever is believed" in visit.get("how").text
    papers = visit.papers(tmp_path, format="csv")
    channel = dv.Receipt.read(papers["receipt.json"]).mechanisms[0].channel.exact
    (belief,) = beliefs("frequencies", TABLES["skewed"], Fraction(1))
    assert max(held for value, held in posteriors(channel, belief) if value == "R") <= Fraction(4, 100)
    said = " ".join(papers["statement.txt"].read_text(encoding="utf-8").split())
    assert "changes nobody’s odds about that person’s true answer by more than 4 times" in said


@pytest.mark.thin
@pytest.mark.parametrize("attacker", aim.ATTACKERS)
@pytest.mark.parametrize("neighbors", ["replaced", "added"])
def test_a_table_of_statistics_keeps_it_too(tmp_path: Path, attacker: str, neighbors: str) -> None:
    """One record replaced changes no odds by more than the promise allows, of any chance; two steps where added."""
    visit = session(tmp_path, TABLES["skewed"], attacker=attacker, value="R", before="1", after="40")
    promise = dv.guarantees.parse(aim.meaning(visit, visit.choices["aim"])["promise"])
    table.current(visit)["neighbors"] = neighbors
    asked = table.arguments(visit)
    statistics = [dv.Count(*one["by"]) for one in asked["asked"]]
    found = dv.publish(visit.choices["data"]["path"], statistics, ledger=None, **asked["options"])
    loss = dv.LDP({"replaced": 1, "added": 2}[neighbors] * found.guarantees["dp"])
    for chance in (0.001, 0.01, 0.1, 0.2, 0.5):
        kept, most = (dv.guarantees.posterior_bounds(one, chance) for one in (loss, promise))
        assert most.lower - 1e-9 <= kept.lower
        assert kept.upper <= most.upper + 1e-9


@pytest.mark.parametrize("attacker", aim.ATTACKERS)
def test_a_preview_shows_what_a_release_keeps(tmp_path: Path, attacker: str) -> None:
    """The share of rows that stay as they are, of the preview and of the mechanism that is released.

    Each attacker with one of the priors; with all in `make search`.
    """
    counts = TABLES["skewed"]
    visit = session(tmp_path, counts, attacker=attacker, value="R", before="1", after="40")
    priors = [*how.PRIORS]
    for prior in priors if THOROUGH else priors[list(aim.ATTACKERS).index(attacker) :: len(aim.ATTACKERS)]:
        choice = how.options(visit, "statistics", visit.choices["aim"], prior)
        (seen,) = work.preview(lambda *_: None, visit.choices["data"]["path"], [choice])
        channel = released(visit, "statistics", prior)
        place = {str(x): i for i, x in enumerate(channel.secrets)}
        stays = sum(count * float(channel.matrix[place[x]][place[x]]) for x, count in counts.items()) / 1000
        assert seen["levels"][0]["stays"] == pytest.approx(stays, abs=0.05 if prior.startswith("noisy") else 1e-6)
