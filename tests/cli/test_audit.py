"""`divulge audit` and `divulge estimate` as a user runs them."""

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 rows of (secret, outcome under randomized response at 1, under a liar at 2)."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, 20_000)
    columns = {"x": x}
    for name, epsilon in (("honest", 1.0), ("liar", 2.0)):
        matrix = dv.mechanisms.randomized_response(3, epsilon).floats
        columns[name] = (rng.random((len(x), 1)) > np.cumsum(matrix[x], axis=1)).sum(axis=1)
    folder = tmp_path_factory.mktemp("pairs")
    pq.write_table(pa.table(columns), folder / "pairs.parquet")
    dv.write_channel(dv.mechanisms.randomized_response(["0", "1", "2"], 1.0), folder / "rr.json")
    return folder


def test_audit_refutes_a_liar_with_a_witness(pairs: Path) -> None:
    base = ("audit", "--data", pairs / "pairs.parquet", "--secret", "x", "--claim", "ldp=1")
    code, out, _ = run(*base, "--released", "honest", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["violated"] is False
    assert found["witness"] is None
    assert found["claim"] == {"kind": "ldp", "epsilon": 1.0}
    low, estimate, high = (found["measures"]["ldp"][k] for k in ("lower", "estimate", "upper"))
    assert low < 1 < high
    assert low < estimate < high
    code, out, _ = run(*base, "--released", "liar", "--json")
    found = json.loads(out)
    assert code == 1
    assert found["violated"] is True
    assert found["witness"]["lower"] > 1
    code, out, _ = run(*base, "--released", "liar")
    assert code == 1
    assert "VIOLATED" in out


def test_the_text_of_an_audit_has_each_measure_with_its_bounds(pairs: Path) -> None:
    base = ("audit", "--data", pairs / "pairs.parquet", "--secret", "x", "--released", "liar", "--confidence", "0.9999")
    for more in ((), ("--mechanism", pairs / "rr.json")):
        found, said = json.loads(run(*base, *more, "--json")[1]), run(*base, *more)[1]
        assert "20,000 rows; bounds hold together with 99.99% confidence" in said
        lines = {line.split()[0]: line.split()[1:] for line in said.splitlines() if len(line.split()) > 3}
        for name, level in found["measures"].items():
            low, high, *near = map(float, lines[name])
            assert low <= level["lower"] <= low * 1.01
            assert high * 0.99 <= level["upper"] <= high
            exact = [found["mechanism"]["values"][name]] if more else []
            assert near == pytest.approx([level["estimate"], *exact], rel=1e-3)


def test_the_verdict_on_a_known_mechanism_is_in_the_unit_that_is_said(pairs: Path) -> None:
    base = ("audit", "--data", pairs / "pairs.parquet", "--secret", "x", "--released", "honest", "--json")
    asked = {"nats": "ldp=1.3862943611198906", "bits": "ldp=2"}
    nats, bits = (
        json.loads(run(*base, "--mechanism", pairs / "rr.json", "--claim", claim, "--unit", unit)[1])["mechanism"]
        for unit, claim in asked.items()
    )
    for name in ("measured", "slack"):
        assert bits["verdict"][name] == pytest.approx(nats["verdict"][name] / math.log(2))
    assert bits["verdict"]["guarantee"]["epsilon"] == pytest.approx(2)
    assert bits["verdict"]["measured"] == pytest.approx(bits["values"]["ldp"])


def test_audit_against_a_known_mechanism(pairs: Path) -> None:
    base = ("audit", "--data", pairs / "pairs.parquet", "--secret", "x", "--mechanism", pairs / "rr.json")
    assert run(*base, "--released", "honest", "--json")[0] == 0
    code, out, _ = run(*base, "--released", "liar", "--json")
    assert code == 1
    assert json.loads(out)["mechanism"]["conformity"]["conforms"] is False
    code, out, _ = run(*base, "--released", "honest", "--claim", "ldp=0.9", "--json")
    assert code == 1
    assert json.loads(out)["mechanism"]["verdict"]["holds"] is False
    assert json.loads(out)["mechanism"]["values"]["ldp"] == pytest.approx(1.0)
    assert "of the mechanism" in run(*base, "--released", "honest")[1]


def test_estimate(pairs: Path) -> None:
    base = ("estimate", pairs / "pairs.parquet", "--mechanism", pairs / "rr.json", "--column", "honest")
    code, out, _ = run(*base, "--json")
    found = json.loads(out)
    assert code == 0
    assert set(found) >= {"rows", "confidence", "values", "condition"}
    assert [set(v) for v in found["values"]] == [{"value", "frequency", "lower", "upper"}] * 3
    assert all(v["lower"] <= 1 / 3 <= v["upper"] for v in found["values"])
    assert "all at once" in run(*base)[1]
    code, out, _ = run(*base, "--by", "x", "--json")
    assert [group["group"] for group in json.loads(out)["groups"]]


def test_estimate_doubts_a_table_that_is_not_the_receipts(tmp_path: Path) -> None:
    table = pa.table({"x": ["a", None, "b", "b"] * 50, "y": ["u", "v"] * 100})
    pq.write_table(table, tmp_path / "source.parquet")
    channels = {"x": ["a", "b", "?"], "y": ["u", "v"]}
    both = dv.mechanisms.randomized_response(channels["x"], 1.0).product(
        dv.mechanisms.randomized_response(channels["y"], 1.0)
    )
    out = tmp_path / "out.parquet"
    dv.release(tmp_path / "source.parquet", out, column=["x", "y"], mechanism=both, null_as="?", released_as=["x", "y"])
    receipt = tmp_path / "out.receipt.json"
    code, said, doubts = run("estimate", out, "--receipt", receipt)
    assert code == 0
    assert "receipt" not in doubts  # an estimate may lie below 0, which is said
    assert "('a', 'u')" in said
    pq.write_table(pq.read_table(out).slice(1), out)
    for form in ((), ("--json",), ("--by", "y")):
        code, said, doubts = run("estimate", out, "--receipt", receipt, *form)
        assert code == 0
        assert doubts.count("written for 200 rows, and the table has 199") == 1
        assert doubts.count("digest") == 1


def test_audit_of_columns_released_together(tmp_path: Path) -> None:
    table = pa.table({"x": ["a", None] * 500, "y": ["u", "v"] * 500, "x2": ["a", None] * 500, "y2": ["u", "v"] * 500})
    pq.write_table(table, tmp_path / "t.parquet")
    base = ("audit", "--data", tmp_path / "t.parquet", "--secret", "x", "--secret", "y", "--released", "x2")
    code, out, _ = run(*base, "--released", "y2", "--null-as", "?", "--claim", "pml=0.5", "--json")
    assert code == 1
    assert json.loads(out)["witness"]["secret"] in (["a", "u"], ["?", "v"])
    code, _, err = run(*base)
    assert code == 2
    assert "--null-as" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ("audit", "--data", "{}/pairs.parquet", "--secret", "x", "--released", "honest", "--engine", "abacus"),
        (
            "audit",
            "--data",
            "{}/pairs.parquet",
            "--secret",
            "x",
            "--released",
            "honest",
            "--mechanism",
            "{}/rr.json",
            "--receipt",
            "{}/rr.json",
        ),
        ("audit", "--data", "none.parquet", "--secret", "x", "--released", "y"),
        ("audit", "--data", "{}/pairs.parquet", "--secret", "nope", "--released", "honest"),
        ("audit", "--data", "{}/pairs.parquet", "--secret", "x", "--released", "honest", "--claim", "ldp=x"),
        ("audit", "--data", "{}/pairs.parquet", "--secret", "x", "--released", "honest", "--confidence", "2"),
        ("estimate", "{}/pairs.parquet", "--column", "honest"),
        ("estimate", "{}/pairs.parquet", "--mechanism", "{}/rr.json"),
        ("estimate", "{}/pairs.parquet", "--receipt", "{}/rr.json"),
        ("estimate", "{}/pairs.parquet", "--receipt", "{}/none.json"),
        ("estimate", "{}/pairs.parquet", "--mechanism", "{}/rr.json", "--column", "nope"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], pairs: Path) -> None:
    code, out, err = run(*(a.format(pairs) for a in arguments))
    assert code == 2
    assert not out
    assert err
    assert "Traceback" not in err


def test_guesses_are_audited_from_their_table(tmp_path: Path) -> None:
    rows = ["said,usual,ill,in", *["yes,no,yes,1"] * 60, *["no,no,no,1"] * 40, *["no,no,yes,0"] * 50]
    (tmp_path / "g.csv").write_text("\n".join(rows) + "\n")
    line = ["audit-attribute", str(tmp_path / "g.csv"), "--guess", "said", "--baseline", "usual", "--truth", "ill"]
    done = CliRunner().invoke(app, [*line, "--member", "in", "--claim", "lift=1.2", "--json"])
    found = json.loads(done.stdout)
    assert done.exit_code == 1, done.output
    assert (found["targets"], found["right"], found["baseline_right"], found["others"]) == (100, 100, 40, 50)
    assert found["violated"]
    kept = CliRunner().invoke(app, [*line, "--member", "in", "--claim", "lift=9"])
    assert kept.exit_code == 0
    assert "not refuted" in kept.output
    assert CliRunner().invoke(app, line).exit_code == 0
    for wrong in (["--member", "said"], ["--claim", "dp=1"], ["--member", "ill"], ["--confidence", "2"]):
        assert CliRunner().invoke(app, [*line, *wrong]).exit_code == 2


def test_synthetic_tables_are_audited_from_three_tables(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    for name in ("made", "rest"):
        rows = [f"{rng.integers(0, 90)},{rng.integers(0, 9)},{rng.integers(0, 2)}" for _ in range(150)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["age,town,ill", *rows]) + "\n")
    made, rest = str(tmp_path / "made.csv"), str(tmp_path / "rest.csv")
    asked = ["--secret", "ill", "--known", "age", "--linked", "town"]
    copied = CliRunner().invoke(
        app, ["audit-synthetic", made, "--members", made, "--others", rest, *asked, "--claim", "dp=1"]
    )
    assert copied.exit_code == 1, copied.output
    assert "claim dp (epsilon 1): VIOLATED" in copied.output
    assert "linkage" in copied.output
    same = ["audit-synthetic", made, "--members", rest, "--others", rest, *asked, "--claim", "dp=1", "--json"]
    fresh = CliRunner().invoke(app, same)
    assert fresh.exit_code == 0, fresh.output
    assert json.loads(fresh.stdout)["linkage"]["epsilon"] == 0
    for wrong in (["--known", "ill"], ["--known", "age", "--linked", "age"], ["--known", "age", "--claim", "k=5"]):
        line = ["audit-synthetic", made, "--members", made, "--others", rest, "--secret", "ill", *wrong]
        assert CliRunner().invoke(app, line).exit_code == 2


def test_an_audit_of_scores_shows_that_it_is_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million scores on each side take some ten seconds."""
    shown: list[str] = []

    @contextmanager
    def busy(what: str) -> Iterator[None]:
        shown.append(what)
        yield

    monkeypatch.setattr("divulge.cli.auditing.audit_model.busy", busy)
    table = tmp_path / "scores.csv"
    table.write_text("score,member\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
    code, _, _ = run("audit-model", table, "--score", "score", "--member", "member")
    assert (code, shown) == (0, ["looking at all thresholds"])
