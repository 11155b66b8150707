"""Bounds from rows: coverage on simulated data, against scipy's own intervals, and on claims that are false."""

import math
from collections.abc import Hashable

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest
from support import NEVER, THOROUGH, few, random_channel, random_prior

import divulge as dv
from divulge.auditing.audit import EXACT
from divulge.auditing.bounds import MEASURES, Cells, refutable
from divulge.auditing.conformity import conformity
from divulge.releasing.estimating.intervals import clopper_pearson


def _values(prior: np.ndarray, channel: np.ndarray) -> dict[str, float]:
    """Return every measure from its definition, in floats."""
    information = np.log(channel / (prior @ channel))
    vulnerability = channel.max(axis=0).sum()
    worst = np.log(channel.max(axis=0) / channel.min(axis=0)).max()
    return {
        "ldp": worst,
        "pml": information.max(),
        "pmc": -information.min(),
        "lip": np.abs(information).max(),
        "lift": math.exp(information.max()),
        "lift_capacity": math.exp(worst),
        "bayes_capacity": vulnerability,
        "maximal_leakage": math.log(vulnerability),
    }


def draw(rng: np.random.Generator, joint: dv.Joint, n: int) -> np.ndarray:
    return rng.multinomial(n, joint.matrix.ravel()).reshape(joint.channel.shape)


def test_every_measure_has_a_truth() -> None:
    assert set(_values(np.ones(1), np.ones((1, 1)))) == set(MEASURES) == set(EXACT)


def test_clopper_pearson_is_scipys() -> None:
    for k, n in [(0, 7), (3, 7), (7, 7), (40, 1000)]:
        theirs = binomtest(k, n).proportion_ci(0.9, method="exact")
        low, high = clopper_pearson(np.array([k]), np.array([n]), 0.1)
        assert (low[0], high[0]) == pytest.approx((theirs.low, theirs.high), rel=1e-9)


@pytest.mark.parametrize(("n", "confidence"), [(60, 0.8), (2000, 0.8), (50_000, 0.95)])
def test_bounds_cover_the_truth_at_least_as_often_as_they_say(n: int, confidence: float) -> None:
    rng = np.random.default_rng(5)
    missed, naive_above, cases = 0, 0, 0
    draws = few({60: 300, 2000: 180, 50_000: 36}[n])
    for _ in range(draws):
        joint = dv.Joint(random_prior(rng, 3), random_channel(rng, 3, 4, span=1.0))
        counts = draw(rng, joint, n)
        if (counts.sum(axis=1) == 0).any() or (counts.sum(axis=0) == 0).any():
            continue
        found = dv.audit(counts, secret=None, released=None, confidence=confidence)
        cases += 1
        truth = _values(joint.prior.floats, joint.channel.floats)
        missed += any(not b.lower - 1e-12 <= truth[name] <= b.upper + 1e-12 for name, b in found.measures.items())
        naive_above += found.measures["ldp"].estimate > truth["ldp"]
        assert all(b.lower <= b.estimate + 1e-9 and b.lower <= b.upper for b in found.measures.values())
    assert cases >= draws * 2 / 3
    assert missed <= (1 - confidence) * cases
    if n == 60:
        assert naive_above > 0.9 * cases, "the plug-in epsilon is biased upward where cells are thin"


def test_a_liar_is_caught_and_an_honest_release_is_not() -> None:
    rng = np.random.default_rng(1)
    prior = dv.Prior.uniform(3)
    honest = dv.mechanisms.randomized_response(3, 1.0)
    liar = dv.mechanisms.randomized_response(3, 1.3)
    for channel, lies in ((honest, False), (liar, True)):
        counts = draw(rng, dv.Joint(prior, channel), 20_000)
        found = dv.audit(counts, secret=None, released=None, claim="ldp=1")
        assert found.violated is lies
        assert (found.witness is not None) is lies
        audited = dv.audit(counts, secret=None, released=None, claim="ldp=1.0000001", mechanism=honest)
        assert audited.known is not None
        assert audited.known.verdict is not None
        assert audited.known.verdict.holds
        assert audited.known.conformity.conforms is not lies
        assert audited.violated is lies
        shares = counts.sum(axis=1) / counts.sum()
        assert audited.known.values == pytest.approx(_values(shares, honest.floats), rel=1e-12)
    assert found.witness is not None
    assert found.witness.lower > 1
    low, high = found.witness.rows
    assert low[0] / low[1] > high[0] / high[1]


def test_an_empty_cell_leaves_no_upper_bound() -> None:
    found = dv.audit([[5, 0], [5, 5]], secret=["a", "b"], released=["u", "v"])
    assert found.measures["ldp"].upper == found.measures["pmc"].upper == math.inf
    assert math.isfinite(found.measures["pml"].upper)
    assert any("empty" in note for note in found.notes)


def test_one_secret_leaks_nothing() -> None:
    found = dv.audit([[50, 30]], secret=None, released=None, claim="ldp=0")
    assert {b.upper for name, b in found.measures.items() if b.logarithmic} == {0.0}
    assert not found.violated


def test_impossible_outcome_is_a_proof() -> None:
    channel = dv.Channel([["1", "0"], ["1/2", "1/2"]])
    fit = conformity(np.array([[99, 1], [50, 50]]), (0, 1), (0, 1), channel, 0.05)
    assert fit.p_value == 0
    assert fit.secret == 0
    assert (fit.outcome, fit.expected) in {(0, 100.0), (1, 0.0)}


def test_conformity_is_valid_and_sees_a_wrong_entry() -> None:
    rng = np.random.default_rng(3)
    channel = dv.mechanisms.randomized_response(4, 1.0)
    joint = dv.Joint(dv.Prior.uniform(4), channel)
    wrong = channel.matrix.copy()
    wrong[0, 0] *= 1.05
    wrong[0] /= wrong[0].sum()
    rejected, caught = 0, 0
    for _ in range(200):
        labels = (0, 1, 2, 3)
        rejected += not conformity(draw(rng, joint, 3000), labels, labels, channel, 0.1).conforms
        skewed = draw(rng, dv.Joint(joint.prior, wrong), 200_000)
        caught += not conformity(skewed, labels, labels, channel, 0.1).conforms
    assert rejected <= 0.1 * 200 + 10
    assert caught >= 195


def test_columns_of_a_table() -> None:
    table = pa.table({"x": ["a", "a", "b", "b"] * 200, "y": ["u", "v", "v", "v"] * 200})
    found = dv.audit(table, secret="x", released="y", claim="pml=0.1")
    assert found.rows == 800
    assert found.to_dict()["witness"]["outcome"] == "u"


def test_missing_values_are_a_category_or_refused() -> None:
    table = pa.table({"x": ["a", None, None, "a"] * 50, "y": ["a", "?", "?", "?"] * 50})
    with pytest.raises(dv.DivulgeError, match=r"'x'; their number is 100.*null_as"):
        dv.audit(table, secret="x", released="y")
    found = dv.audit(table, secret="x", released="y", null_as="?")
    assert (found.secrets, found.outcomes) == (("?", "a"), ("?", "a"))
    assert found.counts.tolist() == [[100, 0], [50, 50]]


def test_a_receipt_is_the_mechanism_of_its_columns() -> None:
    """Two columns each through a mechanism of its own, and both as one secret; a missing value is a category."""
    rng, sure = np.random.default_rng(2), 1 - NEVER
    table = pa.table({name: rng.choice(["a", "b", None], 5000).tolist() for name in ("x", "y")})
    coin, weak = (dv.mechanisms.randomized_response(["a", "b", "?"], epsilon) for epsilon in (2.0, 0.1))
    pairs = {f"true {name}": table[name] for name in ("x", "y")}
    apart = dv.release(table, column=["x", "y"], mechanism={"x": coin, "y": weak}, null_as="?", released_as=["x", "y"])
    rows = pa.table({**pairs, **{name: apart.table[name] for name in ("x", "y")}})
    for name, ldp in (("x", 2.0), ("y", 0.1)):
        found = dv.audit(
            rows, secret=f"true {name}", released=name, mechanism=apart, claim=f"ldp={ldp + 1e-9}", confidence=sure
        )
        assert found.known is not None
        assert found.known.conformity.conforms
        assert not found.violated
        assert found.known.values["ldp"] == pytest.approx(ldp, abs=1e-9)
    swapped = dv.audit(
        rows, secret="true y", released="y", mechanism=apart.mechanism_of("x").channel.exact, null_as="?"
    )
    assert swapped.known is not None
    assert not swapped.known.conformity.conforms
    both = dv.release(table, column=["x", "y"], mechanism=coin.product(weak), null_as="?", released_as=["x", "y"])
    rows = pa.table({**pairs, **{name: both.table[name] for name in ("x", "y")}})
    found = dv.audit(rows, secret=("true x", "true y"), released=("x", "y"), mechanism=both, confidence=sure)
    assert found.known is not None
    assert found.known.conformity.conforms
    assert found.counts.shape == (9, 9)
    assert found.known.values["ldp"] == pytest.approx(2.1, abs=1e-9)


def test_outcomes_that_could_have_occurred_widen_the_bounds() -> None:
    seen, all_of_them = Cells.of(np.array([[30, 5], [5, 30]]), 0.9), Cells.of(np.array([[30, 5], [5, 30]]), 0.9, 40)
    assert (all_of_them.low < seen.low).all()
    assert (all_of_them.high > seen.high).all()
    found = dv.audit([[30, 5, 0], [5, 30, 0]], secret=None, released=None, confidence=0.9)
    assert found.counts.shape == (2, 2)
    low = Cells.of(np.array([[30, 5], [5, 30]]), 0.9, 3).low
    assert found.measures["bayes_capacity"].lower == pytest.approx(low.max(axis=0).sum())
    assert any("never occurred" in note for note in found.notes)


def test_bounds_hold_though_most_outcomes_never_occur() -> None:
    """5,000 outcomes, 600 rows: lower bounds hold for all outcomes, upper ones for those that occur."""
    rng = np.random.default_rng(8)
    prior = np.array([0.85, 0.1, 0.05])
    tail = 1 / np.arange(1.0, 5001.0)
    missed, cases, worse_unseen = 0, few(60), 0
    for case in range(cases):
        channel = np.tile(tail, (3, 1)) * (1 if case % 2 else rng.lognormal(0, 0.7, (3, 5000)))
        channel /= channel.sum(axis=1, keepdims=True)
        counts = rng.multinomial(600, (prior[:, None] * channel).ravel()).reshape(3, 5000)
        found = dv.audit(counts, secret=None, released=None, confidence=0.8)
        secrets, outcomes = list(found.secrets), list(found.outcomes)
        truth, seen = np.log(channel / (prior @ channel)), np.ix_(secrets, outcomes)
        everywhere = {"pml": truth.max(), "pmc": -truth.min(), "ldp": np.ptp(truth, axis=0).max()}
        occurring = {"pml": truth[seen].max(), "pmc": -truth[seen].min(), "ldp": np.ptp(truth[seen], axis=0).max()}
        bounds = found.measures
        missed += any(
            not bounds[name].lower <= everywhere[name] + 1e-12 or not occurring[name] <= bounds[name].upper + 1e-12
            for name in everywhere
        )
        worse_unseen += everywhere["pml"] > occurring["pml"]
        assert len(outcomes) < 600
    assert missed <= 0.2 * cases
    assert worse_unseen > 0.3 * cases, "what never occurred leaks more, as the notes of an audit say"


def test_an_outcome_that_nobody_saw_can_leak_more_than_the_upper_bound() -> None:
    """One row in a million with the second secret rings an alarm that proves it: pml log 2, and none in the rows."""
    found = dv.audit([[500_000, 0], [500_000, 0]], secret=["a", "b"], released=["quiet", "alarm"])
    assert found.outcomes == ("quiet",)
    assert found.measures["pml"].upper < 0.02 < math.log(2)
    assert any("never occurred" in note and "could leak more" in note for note in found.notes)
    alarm = dv.Channel([["1", "0"], ["999999/1000000", "1/1000000"]], ["a", "b"], ["quiet", "alarm"])
    known = dv.audit([[500_000], [500_000]], secret=["a", "b"], released=["quiet"], mechanism=alarm).known
    assert known is not None
    assert known.values["pml"] == pytest.approx(math.log(2))


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"claim": "mutual-information=1"}, "rows can refute"),
        ({"claim": 3}, "must be a guarantee or text"),
        ({"confidence": 1.0}, "confidence"),
        ({"confidence": math.nan}, "confidence"),
        ({"secret": ["only one"]}, "label every row"),
        ({"mechanism": [["1/2", "1/2"]]}, "the number of secrets it lacks is 1"),
    ],
)
def test_bad_input(arguments: dict[str, object], match: str) -> None:
    given = {"secret": None, "released": None, **arguments}
    with pytest.raises(dv.DivulgeError, match=match):
        dv.audit([[5, 1], [1, 5]], **given)
    for counts in ([[0.5, 0.5]], [[-1, 2]], [1, 2]):
        with pytest.raises(dv.DivulgeError, match="counts of shape"):
            dv.audit(counts, secret=None, released=None)
    with pytest.raises(dv.DivulgeError, match="at least one row"):
        dv.audit([[0, 0]], secret=None, released=None)


def test_bad_tables() -> None:
    table = pa.table({"x": ["a", "b"], "y": ["u", "v"]})
    for arguments in ({"secret": None}, {"released": 3}, {"secret": ()}):
        with pytest.raises(dv.DivulgeError, match="name a column"):
            dv.audit(table, **{"secret": "x", "released": "y", **arguments})
    many = pa.table({"x": range(4200), "y": range(4200)})
    with pytest.raises(dv.DivulgeError, match=r"4,200 x 4,200"):
        dv.audit(many, secret="x", released="y")


def test_guessability_bounds_the_best_guesser_from_below() -> None:
    """Normal outcomes around 0 and 2: the best guesser is right with probability Phi(1)."""
    rng = np.random.default_rng(0)
    best = 0.5 * (1 + math.erf(1 / math.sqrt(2)))
    above = 0
    for _ in range(30):
        x = rng.integers(0, 2, 2000)
        found = dv.guessability(x, rng.normal(2.0 * x))
        above += found.lower > best
        assert found.upper >= found.accuracy > 0.78
    assert above <= 3
    repeated = dv.guessability(x, np.round(rng.normal(2.0 * x)), method="frequentist")
    assert 0.75 < repeated.accuracy < 0.9
    assert repeated.upper == 1.0


@pytest.mark.parametrize("neighbors", [0, -1, 51, 2.5, math.nan, True, "3"])
def test_neighbors_are_a_whole_number_of_training_rows(neighbors: object) -> None:
    with pytest.raises(dv.DivulgeError, match=r"neighbors.*from 1 to 50"):
        dv.guessability([0, 1] * 50, range(100), neighbors=neighbors)
    assert dv.guessability([0, 1] * 50, range(100), neighbors=np.int64(50)).rows == 50


@pytest.mark.parametrize("period", [2, 3, 4, 7, 10])
@pytest.mark.parametrize("method", ["nearest", "frequentist"])
def test_secrets_in_turns_are_guessed(period: int, method: str) -> None:
    secrets = list(range(period)) * 60
    found = dv.guessability(secrets, [10.0 * x for x in secrets], method=method)
    assert found.accuracy == found.upper == 1
    assert found.lower > 0.9


def test_two_neighbors_guess_like_one() -> None:
    """Whom the nearest of two contradicts decides: the bound of Cover and Hart holds of one neighbor, not of a coin."""
    rng = np.random.default_rng(5)
    x, y = (rng.random(4000) < 0.9).astype(int), rng.random(4000)
    one, two = (dv.guessability(x, y, neighbors=k) for k in (1, 2))
    assert two.accuracy == one.accuracy
    assert two.upper >= 0.9  # the best guesser always says 1


@pytest.mark.parametrize("size", [1e120, 1e200, 1.7e308])
def test_outcomes_of_any_size_are_told_apart(size: float) -> None:
    secrets = [0, 1, 1, 0] * 30
    outcomes = [size * ((-1) ** x * (1 + 0.1 * (i % 3)) / 1.3) for i, x in enumerate(secrets)]
    assert dv.guessability(secrets, outcomes).accuracy == 1


@pytest.mark.parametrize(("secret", "released"), [(["a", "a"], ["x", "y"]), (["a", "b"], ["x", "x"]), ([1, "1"], None)])
def test_labels_of_counts_must_differ(secret: list[Hashable], released: list[Hashable] | None) -> None:
    with pytest.raises(dv.DivulgeError, match="no label twice"):
        dv.audit([[900, 100], [100, 900]], secret=secret, released=released)


@pytest.mark.parametrize("count", [2**62, 2**63 - 1, 2**63 + 5])
def test_counts_that_overflow_are_refused(count: int) -> None:
    with pytest.raises(dv.DivulgeError, match="rows"):
        dv.audit(np.full((2, 2), count, dtype=np.uint64), secret=None, released=None)


def test_guessability_refuses_what_is_no_column() -> None:
    y = np.arange(100.0)
    for secrets in ([None] * 100, [math.nan, 1.0] * 50, [[0, 1]] * 50, 5):
        with pytest.raises(dv.DivulgeError, match="secrets"):
            dv.guessability(secrets, y)
    for outcomes in (["a"] * 100, [[1, 2], [3]] * 50, [math.inf] * 100, y[:50], 5, []):
        with pytest.raises(dv.DivulgeError, match="outcomes"):
            dv.guessability([0, 1] * 50, outcomes)


def test_an_audit_that_cannot_refute_says_what_it_could_have() -> None:
    found = dv.audit([[9, 1], [1, 9]], secret=None, released=None, claim="ldp=1")
    assert not found.violated
    assert found.power is not None
    assert found.power in repr(found)
    few = dv.audit([[2, 0], [0, 2]], secret=None, released=None, claim="ldp=1")
    assert few.refutable["ldp"] == 0.0
    assert "cannot refute any claim of ldp" in (few.power or "")
    caught = dv.audit([[900, 100], [100, 900]], secret=None, released=None, claim="ldp=1")
    assert caught.violated
    assert caught.power is None
    told = dv.audit([[900, 100], [100, 900]], secret=None, released=None, claim="ldp=3").to_dict("bits")
    assert told["refutable"]["ldp"] == pytest.approx(math.log2(math.e) * 5.204, abs=1e-3)
    assert "[nats]" not in told["power"]


@pytest.mark.parametrize("rows", [(6, 9) if THOROUGH else (3, 4), (3, 20)])
def test_no_table_refutes_more_than_is_said(rows: tuple[int, int]) -> None:
    """Over all tables of two secrets with few rows and up to three outcomes."""
    best = dict.fromkeys(MEASURES, -math.inf)
    splits = {n: [(a, b, n - a - b) for a in range(n + 1) for b in range(n + 1 - a)] for n in rows}
    for first in splits[rows[0]]:
        for second in splits[rows[1]]:
            if all(a + b for a, b in zip(first, second, strict=True)):
                cells = Cells.of(np.array([first, second]), 0.2)
                for name, measure in MEASURES.items():
                    best[name] = max(best[name], measure(cells).lower)
    most = refutable(np.array(rows), 3, 0.2)
    for name, value in best.items():
        assert value <= most[name] + 1e-12, name
    assert best["ldp"] == pytest.approx(most["ldp"])
    assert best["pmc"] == pytest.approx(most["pmc"])


def test_missing_values_are_not_called_as_another_value_is() -> None:
    table = pa.table({"s": ["x", None, "y", None] * 5, "r": ["a", "b"] * 10})
    with pytest.raises(dv.DivulgeError, match="`null_as` must be another label than the values of column 's'"):
        dv.audit(table, secret="s", released="r", null_as="x")
    assert dv.audit(table, secret="s", released="r", null_as="?").rows == 20


@pytest.mark.parametrize("confidence", ["0.9", "9/10"])
def test_a_confidence_may_be_text(confidence: str) -> None:
    table = [[400, 300], [100, 200]]
    found = dv.audit(table, secret=None, released=None, confidence=confidence)
    assert found.to_dict() == dv.audit(table, secret=None, released=None, confidence=0.9).to_dict()
    with pytest.raises(dv.DivulgeError, match="`confidence` must be a number"):
        dv.audit(table, secret=None, released=None, confidence="often")
