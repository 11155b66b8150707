"""Frequent texts without a list: what is found, that it is there, and every way by which it goes out and comes back."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from support import NEVER, THOROUGH, few, plausible
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.releasing.estimating.intervals import of_sample
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.reports.decoding import supporting
from divulge.releasing.reports.extension import PrefixDecoder
from divulge.releasing.reports.reports import Reports

P = dv.protocols
WORDS = ["no", "zürich", "a", "abcdefghij", "abcdefgxyz"]
SHARES = [0.3, 0.25, 0.2, 0.15, 0.1]


def people(n: int, seed: int = 0) -> list[str]:
    """Return texts of which five are frequent and a tenth of all occur once."""
    rng = np.random.default_rng(seed)
    texts = [WORDS[i] for i in rng.choice(5, n, p=SHARES)]
    return [f"{i:x}" if i % 10 == 0 else text for i, text in enumerate(texts)]


def test_frequent_texts_are_found_and_their_intervals_hold() -> None:
    texts = people(24_000)
    reports = P.prefix_extension(5.0, 8).report(texts)
    found = reports.frequencies(confidence=1 - NEVER)
    assert set(found.values) >= {"no", "zürich", "a", "abcdefgh…"}
    for value, low, high in zip(found.values, found.lower, found.upper, strict=True):
        begun = value.removesuffix("…")
        alike = [text == value or (begun != value and text.startswith(begun)) for text in texts]
        assert 0 < low <= np.mean(alike) <= high
    assert found.rows == len(texts)
    assert list(found.frequency) == sorted(found.frequency, reverse=True)
    assert "prefixes of 7 lengths" in found.warnings[0]
    assert reports.frequencies(top=2, confidence=1 - NEVER).values == found.values[:2]
    asked = reports.frequencies(["no", "zürich", "yes", ""], confidence=1 - NEVER)
    assert asked.values == ("no", "zürich", "yes", "")
    for value, low, high in zip(asked.values, asked.lower, asked.upper, strict=True):
        assert low <= texts.count(value) / len(texts) <= high
    assert asked.lower[0] > 0.1
    assert asked.upper[2] < 0.1


@pytest.mark.long
def test_texts_that_nobody_has_are_found_as_rarely_as_it_is_said() -> None:
    """Everybody has another text; a text that is found is one that nobody has, or one person. A tenth may err."""
    false, runs = 0, few(60, 16)
    for run in range(runs):
        texts = [f"{run}{i:06d}" for i in range(900)]
        found = P.prefix_extension(1.0, (1, 2, 3)).report(texts).frequencies(confidence=0.9)
        false += any(low > 0 and sum(t.startswith(v[:-1]) for t in texts) == 0
                     for v, low in zip(found.values, found.lower, strict=True))  # fmt: skip
    assert false <= stats.binom.isf(NEVER, runs, 0.1)


def test_a_text_is_tested_only_by_reports_that_did_not_choose_it() -> None:
    """What is looked for at a length is decided by reports of shorter ones alone."""
    reports = P.prefix_extension(3.0, 4).report(people(4000))
    decoder = PrefixDecoder(reports.protocol, key=reports.key)
    decoder.add(reports.reports, reports.seeds)
    told = decoder._sorted()
    for codes, j in decoder._candidates(told):
        changed = told.reports.copy()
        changed[told.edges[j] :] = 0  # reports of this length and of longer ones say something else
        others = type(told)(changed, told.seeds, told.edges)
        assert {i: c for c, i in decoder._candidates(others)}.get(j) == codes


@pytest.mark.parametrize("size", [7, 60])
def test_bounds_from_a_sample_hold_in_every_sample(size: int) -> None:
    """By the hypergeometric law: the chance that k of N are seen so rarely, or so often, in the sample."""
    whole, risk = 120, 0.3
    for k in range(1, whole + 1, 1 if THOROUGH else 7):
        seen = np.arange(max(0, size - whole + k), min(k, size) + 1)
        low, high = of_sample(seen / size, seen / size, size, risk)
        missed = (k / whole < low) | (k / whole > high)
        assert stats.hypergeom.pmf(seen[missed], whole, k, size).sum() <= risk * k / whole
    low, high = of_sample(np.array([0.2, 0.0, 1.0]), np.array([0.3, 0.0, 1.0]), 1000, 0.05)
    assert low[0] < 0.2
    assert high[0] > 0.3
    for end, seen in ((low[0], 0.2), (high[0], 0.3)):
        rate = seen * math.log(seen / end) + (1 - seen) * math.log((1 - seen) / (1 - end))
        assert 1000 * rate == pytest.approx(math.log(2 / (0.05 * end)), rel=1e-9)
    assert (low[1], high[2]) == (0, 1)


def test_the_intervals_of_candidates_hold_together() -> None:
    texts = [word for word, count in zip(WORDS[:4], (900, 500, 90, 10), strict=True) for _ in range(count)]
    share, missed, runs = np.array([0.6, 1 / 3, 0.06, 1 / 150, 0]), 0, few(120, 25)
    for _ in range(runs):
        found = (
            P.prefix_extension(2.0, (2, 4, 6, 8, 10, 11)).report(texts).frequencies([*WORDS[:4], "?"], confidence=0.9)
        )
        missed += not bool(((found.lower <= share) & (share <= found.upper)).all())
    assert missed <= stats.binom.isf(NEVER, runs, 0.1)


def test_supports_are_those_of_each_report() -> None:
    reports = P.prefix_extension(2.0, (1, 2, 4)).report(people(300))
    values = ["no", "a", "elsewhere", "éa"]
    codes = reports.protocol.codes(values, reports.key)
    assert codes.shape == (4, 3)
    one_by_one = [
        int(supporting(reports.protocol, reports.reports, reports.seeds, np.tile(row, (300, 1))).sum()) for row in codes
    ]
    assert reports.support(values).tolist() == one_by_one
    p, q = float(reports.protocol.p_star), float(reports.protocol.q_star)
    own = reports.protocol.codes(people(300), reports.key)
    hits = int(supporting(reports.protocol, reports.reports, reports.seeds, own).sum())
    assert plausible(hits, 300, p)
    assert p > 2 * q


def test_each_length_is_as_likely_whatever_the_text() -> None:
    lengths = (2, 4, 5)
    reports = P.prefix_extension(1.0, lengths).report(["a"] * 3000 + ["abcdefgh"] * 3000)
    drawn = reports.seeds[:, 3].astype(int)
    for part in (drawn[:3000], drawn[3000:]):
        assert stats.chisquare([int((part == one).sum()) for one in lengths]).pvalue > NEVER
    assert set(drawn.tolist()) == set(lengths)


def table(n: int = 6000) -> Any:
    return pa.table({"url": people(n), "sex": ["f", "m"] * (n // 2)})


def test_it_goes_out_and_comes_back(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"column": "url", "guarantee": "ldp=6", "protocol": "prefix-extension", "per_row": True}
    done = dv.release(table(12_000), tmp_path / "o.csv", prefixes=8, source_name="t", **asked)
    assert done.answers == {"from": "any"}
    assert done.guarantees["ldp"] <= 6
    path = done.papers["receipt.json"]
    read = Receipt.read(path)
    assert read.mechanisms[0] == done.mechanisms[0]
    assert read.mechanisms[0].protocol.sets.lengths == tuple(range(2, 9))
    found = dv.estimate_frequencies(tmp_path / "o.csv", str(path), confidence=1 - NEVER)
    assert {"no", "zürich", "a"} <= set(found.values)
    assert not found.doubts
    ran = CliRunner().invoke(app, ["estimate", str(tmp_path / "o.csv"), "--top", "2", "--json"])
    assert ran.exit_code == 0, ran.output
    assert len(json.loads(ran.stdout)["values"]) == 2
    groups = dv.estimate_frequencies(tmp_path / "o.csv", read, by="sex", confidence=1 - NEVER)
    assert set(groups) == {"f", "m"}
    assert all("no" in one.values for one in groups.values())
    for language in ("en", "de"):
        text = dv.statement(read, language).text()
        assert "prefix-extension" in text
        assert any(word in text for word in ("a beginning of one length", "einen Anfang von einer Länge"))
    assert "url_perturbed_prefix" in done.papers["codebook.json"].read_text()
    data = json.loads(path.read_text())
    for change in ({"lengths": [2, 5]}, {"lengths": [3]}, {"values": ["a", "b"]}, {"buckets": 1}):
        edited = json.loads(json.dumps(data))
        edited["mechanisms"][0]["protocol"].update(change)
        with pytest.raises(dv.DivulgeError, match="must"):
            Receipt.from_dict(edited)


def test_an_audit_knows_beginnings() -> None:
    source = table()
    done = dv.release(source, column="url", guarantee="ldp=3", protocol="prefix-extension", prefixes=6, per_row=True)
    for name in done.table.column_names[:5]:
        source = source.append_column(name, done.table[name])
    asked: dict[str, Any] = {"secret": "url", "released": "url_perturbed", "confidence": 1 - NEVER}
    found = dv.audit(source, mechanism=done, claim="ldp=3", **asked)
    assert not found.violated
    assert found.known is not None
    assert found.known.conformity.conforms
    assert found.measures["ldp"].lower > 0.5
    mixed = source.set_column(0, "url", source["url"].take(np.random.default_rng(3).permutation(len(source))))
    wrong = dv.audit(mixed, mechanism=done, **asked)
    assert wrong.known is not None
    assert not wrong.known.conformity.conforms
    assert wrong.measures["ldp"].lower < 0.5


def test_missing_values_and_numbers_go_through() -> None:
    asked: dict[str, Any] = {"guarantee": "ldp=8", "protocol": "prefix-extension", "prefixes": 3}
    source = pa.table({"x": pa.array([None, 7, 7, 7] * 2000)})
    done = dv.release(source, column="x", null_as="none", **asked)
    found = dv.estimate_frequencies(done.table, done, confidence=1 - NEVER)
    assert set(found.values) == {"7", "non…"}
    with pytest.raises(dv.DivulgeError, match="a value in every row"):
        dv.release(source, column="x", **asked)


BAD: list[tuple[dict[str, Any], str]] = [
    ({"values": ["a", "b"]}, "`values` must be left out"),
    ({"prior": "uniform"}, "`prior` must be left out"),
    ({"other": "x"}, "`other` must come with"),
    ({"person": "sex", "one_answer": True}, "`one_answer` must be left out"),
    ({"prefixes": "3,4"}, "rise by 1 or 2 bytes"),
    ({"prefixes": 4, "protocol": "hadamard"}, "come with the protocol"),
    ({"guarantee": "bayes-capacity=2"}, "any text goes through"),
]


@pytest.mark.parametrize(("wrong", "said"), BAD)
def test_what_does_not_go_with_prefixes_is_refused(wrong: dict[str, Any], said: str) -> None:
    asked = {"column": "url", "guarantee": "ldp=1", "protocol": "prefix-extension"} | wrong
    with pytest.raises(dv.DivulgeError, match=said):
        dv.release(table(20), **({"per_row": True} | asked if "person" not in asked else asked))


def test_reports_of_others_and_questions_without_an_answer_are_refused() -> None:
    reports = P.prefix_extension(1.0, 4).report(people(50))
    seeds = reports.seeds.copy()
    seeds[:2, 3] = 9  # a length that is none
    with pytest.raises(dv.DivulgeError, match="the number of others is 2"):
        Reports(reports.protocol, reports.reports, seeds, reports.key)
    with pytest.raises(dv.DivulgeError, match="be those of"):
        Reports(reports.protocol, reports.reports, reports.seeds[:, :3], reports.key)
    with pytest.raises(dv.DivulgeError, match="fewer than 4 bytes"):
        reports.frequencies(["abc", "abcd"])
    with pytest.raises(dv.DivulgeError, match="`simultaneous` must"):
        reports.frequencies(simultaneous=False)
    with pytest.raises(dv.DivulgeError, match="supports are asked"):
        reports.support()
    assert len(reports.frequencies(["abc", "x"], simultaneous=False).values) == 2
    few_reports = P.prefix_extension(1.0).report(["a"]).frequencies()
    assert few_reports.values == ()
    assert few_reports.to_dict()["values"] == []
    assert "0" not in repr(few_reports.to_frame())[:5]
