"""A column of answers released under a rate about their distances: levels, law, papers, people and refusals."""

import json
import math
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import optimize
from support import plausible
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.errors import DivulgeError
from divulge.releasing.planning.spacing import exponential_rate
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.statements import codebook
from divulge.reporting.statements.voice import Voice

WORDS = ("bus", "car", "cab", "bike")
FAR = ((0, 2, 2, 3), (2, 0, 1, 4), (2, 1, 0, 4), (3, 4, 4, 0))
ASKED: dict[str, Any] = {"column": "word", "guarantee": "metric=0.7/step"}


def trips(rows: int = 60) -> Any:
    """Return made-up answers, three rows a person."""
    return pa.table({"word": [WORDS[i % 7 % 4] for i in range(rows)], "who": [i // 3 for i in range(rows)]})


@pytest.fixture
def words(tmp_path: Path) -> Path:
    lines = ["," + ",".join(WORDS), *(f"{x}," + ",".join(map(str, row)) for x, row in zip(WORDS, FAR, strict=True))]
    path = tmp_path / "words.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def level(mechanism: Any, far: Any = FAR) -> float:
    """Return the largest log ratio over the distance, from the whole numbers."""
    w = mechanism.channel.weights.tolist()
    most = {(a, b): max(zip(w[a], w[b], strict=True), key=lambda pair: pair[0] / pair[1])
            for a in range(len(w)) for b in range(len(w)) if a != b}  # fmt: skip
    return max(math.log(F(*pair)) / far[a][b] for (a, b), pair in most.items())


@pytest.mark.parametrize("purpose", ["statistics", "record", "information"])
@pytest.mark.parametrize("rate", ["0.05", "0.7", "3"])
def test_every_purpose_keeps_the_rate_and_spends_it(words: Path, purpose: str, rate: str) -> None:
    done = dv.release(trips(), per_row=True, purpose=purpose, distance=words,
                      **(ASKED | {"guarantee": f"metric={rate}/step"}))  # fmt: skip
    (made,) = done.mechanisms
    assert made.promise.epsilon == F(rate)
    assert made.promise.metric.unit == "step"
    assert float(rate) * 0.999 < level(made) <= float(rate) * (1 + 1e-12)
    assert made.promise.holds_for(made.channel.exact).holds
    if purpose == "statistics":
        assert np.linalg.matrix_rank(made.channel.weights.astype(float)) == 4
        assert dv.estimate_frequencies(done.table, done).values == WORDS


@pytest.mark.parametrize("rate", [0.05, 0.7])
def test_of_all_mechanisms_none_has_less_mean_distance(words: Path, rate: float) -> None:
    """Against the linear program over all pairs, written out anew: at a low rate the best says one answer always."""
    asked = ASKED | {"guarantee": f"metric={rate}/step"}
    done = dv.release(trips(), per_row=True, purpose="record", distance=words, **asked)
    (made,) = done.mechanisms
    n, d = 4, np.array(FAR, dtype=float)
    rows: list[np.ndarray] = []
    for a in range(n):
        for b in range(n):
            for y in range(n) if a != b else ():
                row = np.zeros((n, n))
                row[a, y], row[b, y] = 1, -math.exp(rate * d[a, b])
                rows.append(row.ravel())
    sums = np.kron(np.eye(n), np.ones(n))
    least = optimize.linprog(d.ravel() / n, np.array(rows), np.zeros(len(rows)), sums, np.ones(n)).fun
    weights = made.channel.weights / 2.0**53
    order = [WORDS.index(y) for y in made.channel.outcomes]
    mean = float((weights * d[:, order]).sum() / n)
    assert mean >= least * (1 - 1e-9)
    told = any(f"{mean:.4g} from the true one on average" in said and f"comes below {least:.4g}" in said
               for said in done.warnings)  # fmt: skip
    assert told == (mean > least * 1.001)
    assert told == (rate == 0.05)


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_the_exponential_mechanism_uses_the_whole_rate(epsilon: float) -> None:
    metric = dv.Metric.of(FAR)
    weights = np.exp(-exponential_rate(metric, epsilon) * metric.matrix)
    matrix = weights / weights.sum(axis=1, keepdims=True)
    assert dv.MetricPrivacy.of(matrix, metric).epsilon == pytest.approx(epsilon, rel=1e-9)


def test_draws_have_the_law_on_record(words: Path) -> None:
    rows = 20_000
    done = dv.release(pa.table({"word": ["car"] * rows}), per_row=True, distance=words, **ASKED)
    (made,) = done.mechanisms
    said = done.table["word_perturbed"].to_pylist()
    counts = [said.count(y) for y in made.channel.outcomes]
    law = made.channel.weights[WORDS.index("car")] / 2.0**53
    assert all(plausible(times, rows, p) for times, p in zip(counts, law, strict=True))
    half = dv.release(trips(), per_row=True, distance=words, **(ASKED | {"guarantee": "metric=0.5/step"}))
    wrong = half.mechanisms[0].channel.weights[WORDS.index("car")] / 2.0**53
    assert not all(plausible(times, rows, p) for times, p in zip(counts, wrong, strict=True))


def test_the_papers_say_the_promise(words: Path, tmp_path: Path) -> None:
    done = dv.release(trips(), tmp_path / "out.csv", per_row=True, keep=(), source_name="t", distance=words, **ASKED)
    read = Receipt.read(done.papers["receipt.json"])
    assert read.mechanisms[0] == done.mechanisms[0]
    assert read.answers == {"from": "list"}
    text = " ".join(dv.statement(read).text().split())
    assert "between two true answers change by more than 2.02 times for each 1 step that they are apart" in text
    assert "car cab 1 step 2.02 car bike 4 step 16.5" in text
    assert "höchstens das 2,02-Fache je 1 step Abstand" in " ".join(dv.statement(read, "de").text().split())
    book = json.loads(done.papers["codebook.json"].read_text())["columns"][0]
    assert book["distance"]["matrix"] == [list(map(float, row)) for row in FAR]
    assert (book["distance"]["rate"], book["distance"]["unit"]) == ("7/10", "step")
    assert "codebook for programs" in codebook.as_markdown(read).decode()
    assert codebook.as_data(read, Voice("de"))["columns"][0]["distance"]["places"] == list(WORDS)
    assert dv.report(read, language="en").html()


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(rate="1/2"),
        lambda d: d["metric"].update(lengths=["0", "1/2", "1", "3/2", "2"]),
        lambda d: d["metric"]["which"][0].__setitem__(1, 3),
        lambda d: d["metric"].update(lengths=["0", "1", "2", "3", "9"]),
        lambda d: d["metric"].update(which=[[0]]),
        lambda d: d.update(rate="x"),
    ],
)
def test_a_receipt_that_was_edited_is_refused(words: Path, change: Any) -> None:
    data = dv.release(trips(), per_row=True, distance=words, **ASKED).to_dict()
    data = json.loads(json.dumps(data))
    assert Receipt.from_dict(json.loads(json.dumps(data))).mechanisms[0].promise is not None
    change(data["mechanisms"][0]["distance"])
    with pytest.raises(Exception, match=r"must|Invalid"):
        Receipt.from_dict(data)


def test_rows_of_a_person_share_the_rate(words: Path, tmp_path: Path) -> None:
    asked = ASKED | {"person": "who", "rows_per_person": 3, "distance": words, "keep": ()}
    done = dv.release(trips(), ledger=tmp_path / "l.sqlite", source_name="t", **asked)
    (made,) = done.mechanisms
    assert (made.promise.epsilon, made.times) == (F(7, 30), 3)
    assert level(made) <= 7 / 30
    text = " ".join(dv.statement(done).text().split())
    assert "more than 2.02 times for each 1 step" in text
    assert "each has an equal share of the rate" in text
    again = dv.release(trips(), ledger=tmp_path / "l.sqlite", source_name="t", **asked)
    assert again.together is not None
    assert again.together["guarantees"]["ldp"] == pytest.approx(2 * done.guarantees["ldp"])
    moves = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
    chained = dv.release(trips(), chain=dv.Channel(moves, WORDS, WORDS), **asked)
    assert "follow" in dv.statement(chained).text()


def test_what_is_not_listed_counts_as_another(words: Path) -> None:
    source = pa.table({"word": ["bus", "tram", "car"]})
    with pytest.raises(DivulgeError, match="Nothing was published"):
        dv.release(source, per_row=True, distance=words, **ASKED)
    done = dv.release(source, per_row=True, distance=words, other="bus", **ASKED)
    assert done.answers == {"from": "list", "other": ["bus"]}


def test_lines_grids_and_metrics() -> None:
    ages = pa.table({"age": [20, 30, 40] * 9})
    done = dv.release(ages, column="age", guarantee="metric=0.1", distance="line", values=[20, 30, 40], per_row=True)
    assert done.mechanisms[0].promise.metric.matrix.tolist()[0] == [0, 10, 20]
    cells = pa.table({"cell": [0, 3, 2, 1] * 9})
    done = dv.release(cells, column="cell", guarantee="metric=1/km", distance="grid:2x2:500m", per_row=True)
    metric = done.mechanisms[0].promise.metric
    assert (metric.rooted, metric.unit) == (True, "km")
    assert Receipt.from_dict(json.loads(done.to_json())).mechanisms == done.mechanisms
    metric = dv.Metric.of(FAR, WORDS)
    asked = dv.Request.of("release", column="word", guarantee=dv.MetricPrivacy(1, metric), distance=metric)
    assert (
        dv.Request.from_dict(json.loads(json.dumps(asked.to_dict()))).distance.matrix.tolist() == metric.matrix.tolist()
    )
    assert dv.run(asked, trips()).rows == 60


def test_many_answers_take_a_named_mechanism() -> None:
    at = np.random.default_rng(4).uniform(0, 10, (80, 2))
    far = np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1))
    names = [f"w{i}" for i in range(80)]
    done = dv.release(pa.table({"word": names}), column="word", guarantee="metric=2", per_row=True,
                      distance=dv.Metric.of(far, names))  # fmt: skip
    assert 1.9 < level(done.mechanisms[0], far) <= 2


BAD: list[tuple[dict[str, Any], str]] = [
    ({"guarantee": "metric=0.7/km", "distance": "line"}, "known secrets"),
    ({"guarantee": "metric=0.7/m"}, "be per km where the distances are numbers alone"),
    ({"guarantee": "metric=0"}, "above 0"),
    ({"guarantee": "metric=nan"}, "must"),
    ({"guarantee": "metric=1e-300/step"}, "for the nearest two answers"),
    ({"guarantee": "ldp=1"}, "be one of distances"),
    ({"guarantee": ["metric=1", "ldp=1"]}, "be one of distances"),
    ({"column": ["word", "who"]}, "be one, for distances"),
    ({"values": ["bus"]}, "left out with distances"),
    ({"grid": "500m"}, "left out with a distance"),
    ({"protocol": "auto"}, "be left out|be one"),
    ({"mechanism": "identity"}, "left out with a distance"),
    ({"prior": "lower=1/100"}, "be one prior"),
    ({"prior_from_data": True}, "left out with a distance"),
    ({"distance": "nowhere.csv"}, "no such file"),
    ({"distance": [[0, 1], [1, 0]]}, "be a Metric"),
    ({"distance": "grid:2x2:500m", "guarantee": "metric=1"}, "be per km"),
    ({"guarantee": dv.MetricPrivacy(1, dv.Metric.line(5))}, "be the metric of the guarantee"),
    ({"distance": dv.Metric.line(["1"]), "guarantee": "metric=1"}, "be of 2 to"),
    ({"distance": dv.Metric.line(301), "guarantee": "metric=1"}, "be of 2 to 300 answers"),
]


@pytest.mark.parametrize(("wrong", "said"), BAD)
def test_what_does_not_go_with_distances_of_answers_is_refused(words: Path, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(DivulgeError, match=said):
        dv.release(trips(), per_row=True, **({"distance": words} | ASKED | wrong))
    with pytest.raises(DivulgeError, match="be left out of a preview"):
        dv.preview(trips(), per_row=True, distance=words, **ASKED)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (",bus,car\nbus,0,1\ncar,2,0\n", "be symmetric; d(bus, car) is 1 and d(car, bus) 2"),
        (",bus,car,cab\nbus,0,1,3\ncar,1,0,1\ncab,3,1,0\n", "d(bus, cab) <= d(bus, car) + d(car, cab)"),
        (",bus,car\nbus,0,nan\ncar,nan,0\n", "must"),
        (",bus,car\nbus,0,-1\ncar,-1,0\n", "must"),
        (",bus,car\nbus,0,1\ncab,1,0\n", "same places"),
        (",bus\n", "`--distance` must have a header"),
        (",bus,car\nbus,0,0\ncar,0,0\n", "positive between different places"),
    ],
)
def test_what_is_no_distance_is_refused_with_the_place(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t.csv").write_text("word\nbus\ncar\n")
    (tmp_path / "d.csv").write_text(text)
    words = f"release {tmp_path}/t.csv --column word --guarantee metric=1/step --distance {tmp_path}/d.csv --per-row"
    found = CliRunner().invoke(app, [*words.split(), "--no-ledger", "-o", str(tmp_path / "o.csv")])
    assert found.exit_code == 2
    assert said in " ".join(found.output.split())
    assert not (tmp_path / "o.csv").exists()
