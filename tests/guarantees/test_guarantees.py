"""Records: ranges, text, exact decisions, margins, witnesses."""

import math
import pickle
import sys
from fractions import Fraction as F
from typing import Any

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from support import RUNNING_CHANNEL, RUNNING_PRIOR, few, joints, random_joint, twins

import divulge as dv
from divulge import exact
from divulge.guarantees.catalog import INFORMATION_DENSITY, KINDS, parse, parse_query
from divulge.guarantees.parameters import PARAMETERS

RUNNING = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)
EVERY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.kind)


def some(kind: type[dv.Guarantee]) -> dv.Guarantee:
    """A guarantee of this kind with small exact parameters inside their ranges."""
    ranges = [PARAMETERS[name] for name in kind.parameters()]
    return kind(*[
        r.names[0] if r.names else dv.Metric.line(2) if r.made_of else F(1, 3) if r.high == 1 else F(i + 3, 2)
        for i, r in enumerate(ranges)
    ])  # fmt: skip


@EVERY_KIND
def test_every_kind_prints_pickles_and_says_what_it_means(kind: type[dv.Guarantee]) -> None:
    guarantee = some(kind)
    metric = guarantee.values().get("metric")
    assert parse(str(guarantee), metric) == guarantee
    assert metric is not None or eval(repr(guarantee), {kind.__name__: kind}) == guarantee
    assert pickle.loads(pickle.dumps(guarantee)) == guarantee
    assert hash(parse(str(guarantee), metric)) == hash(guarantee)
    assert guarantee.meaning.endswith(".")
    assert "{" not in guarantee.meaning
    with pytest.raises(AttributeError):
        setattr(guarantee, kind.parameters()[0], 1)


def numbers(name: str, rng: np.random.Generator) -> list[Any]:
    """Values of a parameter that no short decimal is: ordinary doubles, tiny and neighboring ones, fractions."""
    allowed = PARAMETERS[name]
    if allowed.made_of:
        return 6 * [dv.Metric.line(2)]
    if allowed.names:
        return [str(rng.choice(allowed.names))]
    low, high = max(allowed.low, -50.0), min(allowed.high, 50.0)
    share = float(rng.uniform(0.01, 0.99))
    inside = low + share * (high - low)
    third = F(low) + F(1, 3) * (F(high) - F(low))
    return [inside, low + share * 1e-12, math.nextafter(inside, high), max(low, 5e-324), third, low + F(1, 10**40)]


@EVERY_KIND
def test_the_text_of_a_guarantee_is_read_as_the_same_numbers(kind: type[dv.Guarantee]) -> None:
    rng = np.random.default_rng(3)
    for values in zip(*(numbers(name, rng) for name in kind.parameters()), strict=False):
        guarantee = kind(*values)
        metric = guarantee.values().get("metric")
        again, rounded = parse(str(guarantee), metric), parse(guarantee.text(), metric)
        for name, value in guarantee.values().items():
            if isinstance(value, str | dv.Metric):
                assert getattr(again, name) == value
                continue
            assert F(getattr(again, name)) == F(value)
            weaker = F(value) - F(getattr(rounded, name))
            assert weaker >= 0 if PARAMETERS[name].at_least else weaker <= 0


@pytest.mark.parametrize("level", [0.1, 2 / 3, 1e-300, F(1, 3), 1.0])
def test_text_in_bits_promises_no_more(level: Any) -> None:
    bits, nats = F(parse(dv.LDP(level).text("bits")).epsilon), F(level)
    with flint.ctx.workprec(300):
        in_nats = flint.arb(flint.fmpq(bits.numerator, bits.denominator)) * flint.arb(2).log()
        assert in_nats > flint.arb(flint.fmpq(nats.numerator, nats.denominator))


@EVERY_KIND
def test_every_kind_refuses_what_is_no_parameter(kind: type[dv.Guarantee]) -> None:
    for bad in (math.nan, -1, "x", None, True, [1], "1/0"):
        values: list[Any] = [bad, *[1] * (len(kind.parameters()) - 1)]
        with pytest.raises(dv.DivulgeError, match=kind.parameters()[0]):
            kind(*values)


@pytest.mark.parametrize(
    "bad", ["pml", "pml=", "pml=1:2", "alip=1", "speed=1", "pml=nan", "lift=1/2", "tail-pml=1:2", ""]
)
def test_text_that_is_no_guarantee_is_refused(bad: str) -> None:
    with pytest.raises(dv.DivulgeError):
        parse(bad)


@pytest.mark.parametrize("bad", ["tail-pml=0.5", "tail-pml=?:0.5", "pml=1"])
def test_a_query_names_what_is_unknown(bad: str) -> None:
    with pytest.raises(dv.DivulgeError, match=r"tail-pml=EPSILON|pml=\?"):
        parse_query(bad)


def test_numbers_are_taken_exactly() -> None:
    assert parse("pml=0.1").values() == {"epsilon": F(1, 10)}
    assert dv.PML(0.5) == dv.PML("1/2") == parse("PML=1/2")
    assert dv.PML(0.1) != dv.PML("0.1")
    assert dv.LDP(math.inf).holds_for([[1, 0], [0, 1]])


@settings(max_examples=few(40), deadline=None)
@given(joints(exact=True))
def test_the_measured_guarantee_holds_and_is_the_least(joint: dv.Joint) -> None:
    """`of` against the measures; one rounding less fails wherever the measured value is not 0 or a ratio of 1."""
    measures: dict[type[dv.Guarantee], Any] = {
        dv.PML: lambda: dv.pml(joint).max(),
        dv.PMC: lambda: dv.pmc(joint).max(),
        dv.LIP: lambda: dv.lip(joint),
        dv.LDP: lambda: dv.ldp(joint.channel),
        dv.DP: lambda: dv.ldp(joint.channel),
        dv.guarantees.MaximalLeakage: lambda: dv.maximal_leakage(joint.channel),
        dv.guarantees.MaximalCostLeakage: lambda: dv.maximal_cost_leakage(joint.channel),
        dv.guarantees.MeanPML: lambda: dv.pml(joint).mean(),
        dv.guarantees.MeanPMC: lambda: dv.pmc(joint).mean(),
    }
    for kind, measure in measures.items():
        found = kind.of(joint)
        (value,) = found.values().values()
        assert value == pytest.approx(measure(), rel=1e-12, abs=1e-15)
        assert found.holds_for(joint).holds
        if 1e-300 < value < math.inf:
            assert not kind(float(value) * (1 - 1e-15)).holds_for(joint).holds
    assert dv.guarantees.Lift.of(joint).values()["ratio"] == dv.lift(joint)
    assert dv.guarantees.LiftCapacity.of(joint).values()["ratio"] == dv.lift_capacity(joint.channel)
    assert dv.guarantees.BayesCapacity.of(joint).values()["ratio"] == dv.bayes_capacity(joint.channel)


@settings(max_examples=few(30), deadline=None)
@given(joints(exact=False))
def test_the_tail_is_the_tail_of_the_measure(joint: dv.Joint) -> None:
    for kind, measure in ((dv.guarantees.TailPML, dv.pml), (dv.guarantees.TailPMC, dv.pmc)):
        threshold = measure(joint).quantile(0.5) * 0.9 + 0.01
        if threshold < math.inf:
            found = kind.of(joint, epsilon=threshold).values()["delta"]
            assert float(found) == pytest.approx(measure(joint).tail(threshold), abs=1e-12)


def test_exact_entries_are_decided_at_the_exact_value_of_a_float() -> None:
    third = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    above, below = math.log(3), math.nextafter(math.log(3), 0)
    assert F(above) > F("1.09861228866810969139524523692")
    assert dv.LDP(above).holds_for(third).holds
    assert not dv.LDP(below).holds_for(third).holds
    assert dv.LDP(above).holds_for(third).margin == 0
    assert dv.guarantees.LiftCapacity(3).holds_for(third).holds
    assert not dv.guarantees.LiftCapacity(F(3) - F(1, 10**40)).holds_for(third).holds
    for n in (2, 3, 7, 11, 13):
        joint = dv.Channel([[F(n, n + 1), F(1, n + 1)], [F(1, n + 1), F(n, n + 1)]])
        with flint.ctx.workprec(200):
            truth = exact.fraction(flint.arb(n).log().upper())
        near = math.log(n)
        assert dv.LDP(near).holds_for(joint).holds == (F(near) >= truth)


def test_zero_epsilon_is_independence() -> None:
    flat = dv.Joint(["1/3", "2/3"], [["1/7", "6/7"], ["1/7", "6/7"]])
    tilted = dv.Joint(["1/3", "2/3"], [[F(1, 7) + F(1, 10**30), F(6, 7) - F(1, 10**30)], [F(1, 7), F(6, 7)]])
    for kind in (
        dv.PML,
        dv.PMC,
        dv.LIP,
        dv.LDP,
        dv.guarantees.MutualInformation,
        dv.guarantees.MeanPML,
        dv.guarantees.MaximalLeakage,
    ):
        assert kind(0).holds_for(flat).holds
        assert not kind(0).holds_for(tilted).holds, kind


def test_bits_are_decided_exactly_too() -> None:
    coin = dv.Channel([["2/3", "1/3"], ["1/3", "2/3"]])
    assert dv.LDP(1).holds_for(coin, "bits").holds
    assert dv.LDP(1).holds_for(coin, "bits").measured == 1.0
    assert not dv.LDP(math.nextafter(1, 0)).holds_for(coin, "bits").holds
    assert dv.LDP(1).read_in("bits").values()["epsilon"] >= math.log(2)
    assert dv.guarantees.TailPML(1, 0).holds_for(dv.Joint(["1/2", "1/2"], [[1, 0], [0, 1]]), "bits").holds


def test_a_ratio_of_floats_is_decided_at_its_exact_value() -> None:
    growth = math.exp(1.0)
    response = np.full((5, 5), 1 / (4 + growth)) + np.eye(5) * (growth - 1) / (4 + growth)
    twin = F(response[0, 0].item()) / F(response[1, 0].item())
    with flint.ctx.workprec(200):
        above = bool(exact.arb(twin).log() > 1)
    assert dv.LDP(1.0).holds_for(response).holds != above
    verdict = dv.LDP(1 - 1e-15).holds_for(response)
    assert not verdict.holds
    assert 0 < verdict.margin < 1e-12
    assert "more than claimed by less than the entries are rounded" in str(verdict)
    assert dv.LDP.of(response).holds_for(response)
    assert not dv.LDP(1 - 1e-12).holds_for(response).holds


def test_a_failure_names_outcome_secret_and_adversary() -> None:
    verdict = dv.PML("0.5").holds_for(RUNNING)
    assert not verdict
    assert (verdict.witness.outcome, verdict.witness.secret) == ("b", "bg")
    assert verdict.measured == math.log(19 / 11)
    assert verdict.slack == pytest.approx(0.5 - math.log(19 / 11))
    cost = dv.PMC(2).holds_for(RUNNING).witness
    assert (cost.outcome, cost.secret) == ("g", "bg")
    pair = dv.LDP(2).holds_for(RUNNING).witness
    assert (pair.outcome, pair.secret, pair.other) == ("g", "g", "bg")
    lift = RUNNING.lift
    assert "1.72728" in verdict.witness.adversary
    assert lift[2, 0] == F(19, 11)
    asymmetric = dv.ALIP(lower=3, upper="0.1").holds_for(RUNNING)
    assert asymmetric.measured == {"lower": pytest.approx(math.log(9)), "upper": math.log(19 / 11)}
    assert asymmetric.witness.outcome == "b"


def test_only_secrets_that_occur_count_for_kinds_that_need_a_prior() -> None:
    joint = dv.Joint(["1/2", "1/2", "0"], [["1/2", "1/2", "0"], ["1/2", "1/2", "0"], ["0", "0", "1"]])
    assert dv.ALIP(0, 0).holds_for(joint).holds
    assert not dv.LDP(100).holds_for(joint).holds
    assert dv.guarantees.MutualInformation(0).holds_for(joint).holds
    assert dv.guarantees.BayesCapacity.of(joint) == dv.guarantees.BayesCapacity(2)


def test_sparse_channels_are_measured_like_dense_ones() -> None:
    import scipy.sparse as sp

    dense = np.array([[0.5, 0.5, 0.0], [0.25, 0.0, 0.75]])
    for kind in INFORMATION_DENSITY:
        index = dict.fromkeys(kind.index, 0.1)
        a = kind.of(dv.Joint([0.5, 0.5], dense), **index)
        b = kind.of(dv.Joint([0.5, 0.5], sp.csc_array(dense)), **index)
        assert list(a.values().values()) == pytest.approx(list(b.values().values()))


@pytest.mark.parametrize("exponent", [F(1, 10**30), F(1, 3), 0.1, 1, 40, -7, 700, F(-1, 10**9)])
def test_rational_bound_of_the_exponential(exponent: Any) -> None:
    below = exact.exp_below(exponent)
    with flint.ctx.workprec(400):
        truth = exact.arb(F(exponent)).exp()
        assert exact.arb(below) < truth < exact.arb(below * (1 + F(1, 2**61)))
    assert below.denominator & (below.denominator - 1) == 0


@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_the_exponential_of_no_number_is_refused(bad: float) -> None:
    with pytest.raises(dv.DivulgeError, match="exponent"):
        exact.exp_below(bad)


def test_rounding_goes_outward() -> None:
    with flint.ctx.workprec(200):
        third = flint.arb(1) / 3
        assert F(exact.round_down(third)) < F(1, 3) < F(exact.round_up(third))
        assert exact.round_up(flint.arb(0.5)) == exact.round_down(flint.arb(0.5)) == 0.5
        assert exact.round_up(flint.arb(2) ** 2000) == math.inf
        assert exact.round_down(flint.arb(2) ** 2000) == pytest.approx(1.7976931348623157e308)
        assert exact.round_up(flint.arb(2) ** -2000) == 5e-324
        assert exact.round_down(flint.arb(2) ** -2000) == exact.round_up(-(flint.arb(2) ** -2000)) == 0
        assert exact.round_up(-(flint.arb(2) ** 2000)) == -sys.float_info.max
        assert exact.round_up(flint.arb(sys.float_info.max)) == sys.float_info.max
        assert exact.round_up(flint.arb(10**17).exp()) == math.inf
        assert exact.round_up((-flint.arb(10**17)).exp()) == 5e-324
        assert (exact.round_up(flint.arb("nan")), exact.round_down(flint.arb("nan"))) == (math.inf, -math.inf)


NEAR = (dv.PML, dv.PMC, dv.ALIP, dv.LIP, dv.LDP, dv.guarantees.MaximalLeakage, dv.guarantees.MaximalCostLeakage,
        dv.guarantees.MinEntropyLeakage,
        dv.guarantees.MeanPML, dv.guarantees.MeanPMC, dv.guarantees.MutualInformation)  # fmt: skip


@pytest.mark.parametrize("kind", NEAR)
def test_floats_of_rows_nearly_alike_are_measured_like_fractions(kind: Any) -> None:
    """A logarithm of a ratio near 1 would have three digits here, and could come out below the truth."""
    for seed in range(6):
        approximate, exact = twins(np.random.default_rng(seed), 3, 4, 0.0, shift=1 << 8 * (1 + seed % 3))
        found, wanted = kind.of(approximate), kind.of(exact)
        for name in kind.bounded():
            assert float(getattr(found, name)) == pytest.approx(float(getattr(wanted, name)), rel=1e-12, abs=0)


def fractions_of(joint: dv.Joint) -> tuple[list[F], list[list[F]]]:
    """The prior and the channel that a float joint stands for."""
    p, rows = [F(v) for v in joint.p.tolist()], [[F(v) for v in row] for row in joint.c.tolist()]
    return [v / sum(p) for v in p], [[v / sum(row) for v in row] for row in rows]


def truths(p: list[F], rows: list[list[F]]) -> dict[Any, Any]:
    """What each kind measures, from its definition: ratios as fractions, logarithms of many digits."""
    columns = list(zip(*rows, strict=True))
    q = [sum(a * b for a, b in zip(p, column, strict=True)) for column in columns]
    log = exact.log
    up = [max(column) / total for column, total in zip(columns, q, strict=True)]
    down = [total / min(column) if min(column) else math.inf for column, total in zip(columns, q, strict=True)]
    pair = [max(column) / min(column) if min(column) else math.inf for column in columns]

    def nats(ratio: Any) -> Any:
        return math.inf if ratio == math.inf else log(ratio)

    g = dv.guarantees
    return {
        dv.PML: nats(max(up)),
        dv.PMC: nats(max(down)),
        dv.LIP: max(nats(max(up)), nats(max(down))),
        dv.LDP: nats(max(pair)),
        g.Lift: max(up),
        g.LiftCapacity: max(pair),
        g.BayesCapacity: sum(map(max, columns)),
        g.MaximalLeakage: nats(sum(map(max, columns))),
        g.AverageGLeakage: sum(map(max, columns)),
        g.MinEntropyLeakage: nats(
            sum(max(a * b for a, b in zip(p, column, strict=True)) for column in columns) / max(p)
        ),
        g.MeanPML: exact.weighted_log_sum(zip(q, up, strict=True)),
        g.MutualInformation: exact.weighted_log_sum(
            (a * c, c / t) for column, t in zip(columns, q, strict=True) for a, c in zip(p, column, strict=True) if c
        ),
    }


@pytest.mark.parametrize("seed", range(few(12)))
def test_of_floats_is_at_least_the_truth_and_the_least_that_holds(seed: int) -> None:
    """Random joints, some given as P(x, y), some with rows that are nearly alike."""
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 6, size=2)
    channel = rng.dirichlet(np.ones(m), size=n)
    if seed % 3 == 1:
        channel = channel[:1] + 1e-13 * (rng.random((n, m)) - 0.5)
    joint = dv.Joint(rng.dirichlet(np.ones(n)), channel)
    if seed % 3 == 2:
        joint = dv.Joint.from_matrix(joint.p[:, None] * joint.c)
    for kind, truth in truths(*fractions_of(joint)).items():
        (value,) = kind.of(joint).values().values()
        assert F(value) >= F(truth) * (1 - F(1, 2**52)), kind
        assert float(value) <= float(truth) * (1 + 1e-13) + 1e-13
        assert kind.of(joint).holds_for(joint).holds
        slightly = float(truth) - 1e-13 if float(truth) > 1e-9 else -1
        if slightly > PARAMETERS[kind.parameters()[0]].low:
            assert not kind(slightly).holds_for(joint).holds


@settings(max_examples=few(60), deadline=None)
@given(joints(exact=False))
def test_a_float_joint_is_measured_from_above_as_it_stands_too(joint: dv.Joint) -> None:
    """Doubles that do not quite sum to 1, read as they are."""
    p, c = [F(v) for v in joint.p.tolist()], [[F(v) for v in row] for row in joint.c.tolist()]
    seen = np.flatnonzero(joint.occurring)
    up = [max(c[i][j] for i in range(len(p)) if p[i]) / sum(a * r[j] for a, r in zip(p, c, strict=True)) for j in seen]
    assert F(dv.guarantees.Lift.of(joint).ratio) >= max(up)
    with flint.ctx.workprec(200):
        assert not exact.arb(F(dv.PML.of(joint).epsilon)).exp() < exact.arb(max(up))


def test_no_claim_of_zero_is_kept_by_a_mechanism_that_leaks() -> None:
    leaky = dv.Joint([0.5, 0.5], [[0.5 + 2**-50, 0.5 - 2**-50], [0.5, 0.5]])
    alike = dv.Joint([0.1] * 10, [[0.1, 0.2, 0.7]] * 10)
    g = dv.guarantees
    for kind in (dv.PML, dv.PMC, dv.LIP, dv.LDP, g.MeanPML, g.MeanPMC, g.MutualInformation, g.MaximalLeakage):
        assert not kind(0).holds_for(leaky).holds, kind
        assert kind(0).holds_for(alike).holds, kind
    for kind, index in ((g.KL, {}), (g.TV, {}), (dv.RDP, {"alpha": 2}), (g.AbsChi, {"alpha": 3})):
        zero = kind(**index, **dict.fromkeys(kind.bounded(), 0))
        assert not zero.holds_for(leaky.channel).holds, kind
        assert zero.holds_for(alike.channel).holds, kind
    assert not dv.ADP(0, 0).holds_for(leaky.channel).holds
    assert dv.ADP(0, F(1, 2**50)).holds_for(leaky.channel).holds


@pytest.mark.parametrize("epsilon", [1e-8, 0.3, 1.0, 2.0, 7.5, 40.0])
def test_named_mechanisms_of_floats_keep_what_they_are_named_for(epsilon: float) -> None:
    for n in (2, 3, 7, 20):
        assert dv.LDP(epsilon).holds_for(dv.mechanisms.randomized_response(n, epsilon)), n
        scores = np.random.default_rng(n).random((n, n + 1))
        assert dv.LDP(epsilon).holds_for(dv.mechanisms.exponential(scores, epsilon)), n
        assert dv.LDP(epsilon).holds_for(dv.mechanisms.subset_selection(min(n, 7), epsilon)), n
    for n in (2, 5):
        level = 0.9 * math.log(n / (n - 1))
        assert dv.PML(level).holds_for(dv.Joint(dv.Prior.uniform(n), dv.mechanisms.extremal([1 / n] * n, level)))


def test_what_merging_can_raise_says_so_and_what_it_cannot_is_never_raised() -> None:
    prior = [F(1, 1000), F(999, 1000)]
    told = dv.Joint(prior, [[1, 0, 0], [0, F(365, 999), F(634, 999)]])
    merged = dv.Joint(prior, told.channel.then([[1, 0], [1, 0], [0, 1]]))
    before, after = (dv.guarantees.MeanPML.of(joint) for joint in (told, merged))
    assert before.epsilon < 0.008
    assert 0.3685 < after.epsilon < 0.3686
    assert not before.holds_for(merged)
    assert after.epsilon <= dv.guarantees.MaximalLeakage.of(merged).epsilon
    narrow = dv.Channel([[0.36, 0.056, 0.584], [0.0048, 0.99508, 0.00012]])
    wide = narrow.then([[1, 0], [1, 0], [0, 1]])
    assert dv.guarantees.MCDP.of(wide).tau > 1.15 * dv.guarantees.MCDP.of(narrow).tau
    kinds = dv.guarantees
    for kind in (kinds.MeanPML, kinds.TailPML, kinds.TailPMC, kinds.MCDP):
        assert "merging outcomes afterwards can" in kind.sentence
    rng = np.random.default_rng(2)
    for _ in range(few(60)):
        joint = random_joint(rng, 3, 4)
        post = rng.dirichlet([0.3] * 3, 4)
        after = dv.Joint(joint.prior, joint.channel.then(post))
        for kind in (kinds.MeanPMC, kinds.MaximalLeakage, kinds.MinEntropyLeakage, kinds.MutualInformation):
            assert kind.of(after).epsilon <= kind.of(joint).epsilon * (1 + 1e-12) + 1e-12


@pytest.mark.parametrize(
    "kind", [dv.guarantees.MeanPML, dv.guarantees.MCDP, dv.guarantees.TailPML, dv.guarantees.TailPMC]
)
def test_what_merging_may_raise_says_so(kind: type[dv.Guarantee]) -> None:
    assert "merging outcomes afterwards can" in kind.sentence
    assert "merging" not in dv.PML.sentence


@pytest.mark.parametrize("level", [0.1, 1e-300, F(1, 3), 1 + 2.0**-52])
def test_what_stands_for_a_guarantee_promises_no_more(level: Any) -> None:
    assert dv.guarantees.parse(str(dv.PML(level))) == dv.PML(level)
