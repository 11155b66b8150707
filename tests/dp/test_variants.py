"""Every variant against its definition on random channels, its twin, and a peer library."""

import math
from itertools import combinations, permutations
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few, random_channel

import divulge as dv
from divulge.dp.loss.orders import clipped, curve_of
from divulge.dp.mechanisms import MECHANISMS
from divulge.dp.special.subgaussian import sub_gaussian
from divulge.dp.variants.tails import spread_bound

SEEDS = st.integers(0, 10**9)


def channel(seed, n=4, m=5, zeros=0.0, exact=False):
    return random_channel(np.random.default_rng(seed), n, m, zeros=zeros, exact=exact, span=1.5)


def over_pairs(c, f):
    rows = np.asarray(c.floats)
    return max(f(rows[i], rows[j]) for i, j in permutations(range(len(rows)), 2))


def logs(p, q):
    return np.log(p / q)


DEFINITIONS = {
    "delta": (lambda c: dv.dp.delta_from_epsilon(c, 0.4), lambda p, q: np.maximum(p - math.exp(0.4) * q, 0).sum()),
    "tail": (lambda c: dv.dp.tail_from_epsilon(c, 0.4), lambda p, q: p[logs(p, q) > 0.4].sum()),
    "kl": (dv.dp.kl_privacy, lambda p, q: (p * logs(p, q)).sum()),
    "renyi": (lambda c: dv.dp.renyi_dp(c, 3.0), lambda p, q: math.log((p**3 / q**2).sum()) / 2),
    "renyi near 1": (lambda c: dv.dp.renyi_dp(c, 1 + 1e-7), lambda p, q: (p * logs(p, q)).sum()),
    "pure": (lambda c: dv.dp.epsilon_from_delta(c, 0.0), lambda p, q: logs(p, q).max()),
    "chi": (lambda c: dv.dp.abs_chi(c, 2.5), lambda p, q: (q * np.abs(p / q - 1) ** 2.5).sum() ** (1 / 2.5)),
    "tv": (dv.dp.total_variation, lambda p, q: np.abs(p - q).sum() / 2),
    "f": (lambda c: dv.dp.f_divergence(c, lambda r: (np.sqrt(r) - 1) ** 2, slope=1.0),
          lambda p, q: ((np.sqrt(p) - np.sqrt(q)) ** 2).sum()),
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINITIONS)
@settings(max_examples=few(12), deadline=None)
@given(SEEDS, st.booleans())
def test_value_and_pair_are_those_of_the_definition(name, seed, exact):
    c = channel(seed, exact=exact)
    measure, definition = DEFINITIONS[name]
    found = measure(c)
    assert found.value == pytest.approx(over_pairs(c, definition), rel=1e-6 if "near" in name else 1e-12, abs=1e-15)
    rows = {label: np.asarray(c.floats)[i] for i, label in enumerate(c.secrets)}
    assert definition(*(rows[label] for label in found.pair)) == pytest.approx(found.value, rel=1e-6)


@settings(max_examples=few(25), deadline=None)
@given(SEEDS, st.floats(0, 1), st.booleans(), st.sampled_from([0.0, 0.3]))
def test_twins(seed, delta, exact, zeros):
    c = channel(seed, zeros=zeros, exact=exact)
    for inverse, forward in (
        (dv.dp.epsilon_from_delta, dv.dp.delta_from_epsilon),
        (dv.dp.epsilon_from_tail, dv.dp.tail_from_epsilon),
    ):
        epsilon = inverse(c, delta).value
        if epsilon < math.inf:
            assert forward(c, epsilon).value <= delta
            assert epsilon == 0 or forward(c, epsilon * (1 - 1e-9)).value > delta * (1 - 1e-12)
        else:
            assert forward(c, 1e6).value > delta


@settings(max_examples=few(10), deadline=None)
@given(SEEDS, st.floats(0.01, 2.0))
def test_renyi_and_zcdp_twins(seed, level):
    c = channel(seed)
    alpha = dv.dp.renyi_order(c, level).value
    if 1 < alpha < 1e10:
        assert dv.dp.renyi_dp(c, alpha).value <= level <= dv.dp.renyi_dp(c, alpha * (1 + 1e-9)).value
    rho = dv.dp.zcdp_rho(c, 0.01).value
    if rho > 0:
        assert dv.dp.zcdp_xi(c, rho).value == pytest.approx(0.01, abs=1e-9)


@settings(max_examples=few(12), deadline=None)
@given(SEEDS, st.sampled_from([0.0, 0.05]), st.sampled_from([math.inf, 4.0]))
def test_zcdp_is_the_supremum_over_orders(seed, xi, up_to):
    c = channel(seed, n=3)
    found = dv.dp.zcdp_rho(c, xi, up_to=up_to).value
    orders = 1 + np.geomspace(1e-7, min(up_to - 1, 1e4), 300)
    sampled = max(max(0.0, *((loss.renyi(a) - xi) / a for a in orders)) for loss in dv.dp.privacy_losses(c))
    assert sampled - 1e-12 <= found <= sampled * (1 + 1e-3) + 1e-9


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 6.0])
def test_randomized_response_is_zcdp_by_its_mean(epsilon):
    """The supremum of D_alpha / alpha lies at alpha -> 1: rho = epsilon tanh(epsilon / 2), below epsilon^2 / 2."""
    found = dv.dp.zcdp_rho(dv.dp.RandomizedResponse(epsilon)).value
    assert found == pytest.approx(epsilon * math.tanh(epsilon / 2), rel=1e-10, abs=2e-12)
    assert found < epsilon**2 / 2


@settings(max_examples=few(15), deadline=None)
@given(SEEDS, st.floats(0.0, 0.6), st.floats(0, 2))
def test_relaxed_dp_sets_the_worst_outcomes_aside(seed, outside, epsilon):
    from scipy.optimize import linprog

    p, q = channel(seed, n=2, m=6, zeros=0.2).floats
    found = dv.dp.PrivacyLoss.between(p, q).relaxed(epsilon, outside)
    excess = np.maximum(p - math.exp(epsilon) * q, 0)
    share = linprog(-excess, A_ub=[p], b_ub=[outside], bounds=(0, 1))
    assert found == pytest.approx(excess.sum() + share.fun, abs=1e-12)


@settings(max_examples=few(8), deadline=None)
@given(SEEDS, st.floats(0.01, 0.3), st.floats(1.5, 6.0))
def test_clipping_is_the_best_removal_for_every_order(seed, delta, alpha):
    """No removal of mass delta on either side gives a smaller divergence: a convex programme agrees."""
    import cvxpy as cp

    p, q = channel(seed, n=2, m=4).floats
    left, right = cp.Variable(4), cp.Variable(4)
    # sum l^a r^(1-a) as a sum of perspectives: t >= l^a r^(1-a)  <=>  l <= t^(1/a) r^(1-1/a).
    t = cp.Variable(4)
    limits = [cp.PowCone3D(t, right, left, 1 / alpha)]
    limits += [left >= 0, left <= p, right >= 0, right <= q, cp.sum(left) == 1 - delta, cp.sum(right) == 1 - delta]
    cp.Problem(cp.Minimize(cp.sum(t)), limits).solve(solver=cp.CLARABEL)
    expected = math.log(float(t.value.sum()) / (1 - delta)) / (alpha - 1)
    assert clipped(dv.dp.PrivacyLoss.between(p, q), delta).renyi(alpha) == pytest.approx(expected, abs=1e-5)


def test_clipped_gaussian_agrees_with_a_fine_discretization():
    loss = dv.dp.GaussianMechanism(1.0).losses()[0]
    edges = np.linspace(-9, 10, 4001)
    from scipy.stats import norm

    p, q = (np.diff(norm.cdf(edges, loc)) for loc in (0, 1))
    fine = dv.dp.PrivacyLoss.between(p / p.sum(), q / q.sum())
    for alpha in (1.0, 1.00001, 2.0, 9.0):
        assert clipped(loss, 0.01).renyi(alpha) == pytest.approx(clipped(fine, 0.01).renyi(alpha), rel=1e-4)
    assert curve_of(loss).renyi(2.0) == 1.0


@settings(max_examples=few(10), deadline=None)
@given(SEEDS, st.floats(1.0, 4.0))
def test_ternary_chi_over_all_triples(seed, alpha):
    c = channel(seed, n=3)
    rows = np.asarray(c.floats)
    expected = max(
        (r * np.abs((p - q) / r) ** alpha).sum() ** (1 / alpha)
        for p, q in combinations(rows, 2)
        for r in rows
    )  # fmt: skip
    assert dv.dp.ternary_abs_chi(c, alpha).value == pytest.approx(expected, rel=1e-12)
    assert dv.dp.ternary_abs_chi(c, alpha).value >= dv.dp.abs_chi(c, alpha).value - 1e-12


@settings(max_examples=few(10), deadline=None)
@given(SEEDS)
def test_sub_gaussian_constant(seed):
    loss = dv.dp.PrivacyLoss.between(*channel(seed, n=2).floats)
    tau = dv.dp.mean_concentrated(loss)
    centred = loss.losses - loss.mean()
    scale = np.concatenate([-np.geomspace(1e-3, 50, 400), np.geomspace(1e-3, 50, 400)])
    grown = np.log(np.exp(scale[:, None] * centred) @ loss.p)
    assert (2 * grown / scale**2 <= tau.tau**2 + 1e-8).all()
    assert tau.tau**2 >= loss.variance() - 1e-12


@pytest.mark.parametrize(("up", "down"), [(0.279, 0.041), (1.0, 1.0), (0.02, 0.01), (3.0, 0.2)])
def test_a_spread_by_renyi_curves_bounds_the_moments_of_two_losses(up: float, down: float) -> None:
    """Losses `up` and -`down`, of which E e^-L = 1 says how likely they are; the first pair needs half of the bound."""
    likely = np.expm1(down) / (np.expm1(down) - np.expm1(-up))
    law, losses = np.array([likely, 1 - likely]), np.array([up, -down])
    assert law @ np.exp(-losses) == pytest.approx(1, rel=1e-12)
    orders = np.geomspace(1e-3, 100, 4001)
    curves = np.log(np.exp(orders[:, None] * losses) @ law), np.log(np.exp(-(1 + orders)[:, None] * losses) @ law)
    rate = max((curve / (orders * (1 + orders))).max() for curve in curves)
    scale = np.concatenate([-orders, orders])
    grown = (2 * np.log(np.exp(scale[:, None] * (losses - law @ losses)) @ law) / scale**2).max()
    assert grown <= spread_bound(rate) ** 2
    if (up, down) == (0.279, 0.041):
        assert grown > 0.5 * spread_bound(rate) ** 2


@pytest.mark.thin
@pytest.mark.parametrize(
    "mechanism",
    [
        dv.dp.RandomizedResponse(0.01),
        dv.dp.RandomizedResponse(2.0),
        dv.dp.LaplaceMechanism(1.0),
        dv.dp.DiscreteLaplaceMechanism(1.0, 3),
        dv.dp.DiscreteGaussianMechanism(2.0),
        dv.dp.PoissonSampled(dv.dp.LaplaceMechanism(1.0), 0.01),
        dv.dp.PoissonSampled(dv.dp.GaussianMechanism(1.0), 0.3),
    ],
    ids=repr,
)
def test_sub_gaussian_bracket_holds_the_supremum(mechanism):
    """No scale, sampled densely and in high precision for atoms, asks for more than the upper bound."""
    for loss in mechanism.losses():
        found = sub_gaussian(loss)
        assert found.lower <= found.upper
        bounded = loss.highest - loss.lowest < 100
        assert found.upper - found.lower <= (2e-4 if bounded else 0.2) * found.upper
        mean, width = loss.mean(), math.sqrt(loss.variance())
        for l in [sign * s / width for sign in (1, -1) for s in np.geomspace(0.05, 4, 12)]:
            grown = math.log(loss.expect(lambda t, l=l, mean=mean: np.exp(l * (t - mean))))
            assert 2 * grown / (l * l) <= found.upper**2 * (1 + 1e-9) + 1e-9
        assert found.lower**2 >= loss.variance() * (1 - 1e-9)


def test_sub_gaussian_constant_of_a_biased_coin_is_the_one_of_kearns_and_saul():
    """tau^2 = (1 - 2p) / (2 log((1 - p)/p)) times the squared range, for a coin of probability p."""
    for p in (0.01, 0.2, 0.4):
        found = sub_gaussian(dv.dp.PrivacyLoss.between([p, 1 - p], [0.5, 0.5]))
        width = math.log((1 - p) / p)
        expected = math.sqrt((1 - 2 * p) / (2 * width)) * width
        assert found.lower <= expected * (1 + 1e-12)
        assert found.upper >= expected * (1 - 1e-12)
        assert found.upper - found.lower <= 1e-7 * expected


def test_zcdp_comes_with_a_bound_from_below():
    for mechanism in (dv.dp.RandomizedResponse(1.0), dv.dp.LaplaceMechanism(0.5), channel(3, n=2)):
        given = (
            dv.dp.zcdp_rho(mechanism, 0.01),
            dv.dp.zcdp_xi(mechanism, 0.1),
            dv.dp.approximate_zcdp_rho(mechanism, 0.01),
        )
        for found in given:
            assert found.lower <= found.value <= found.lower + 1e-6 * (1 + abs(found.value))


def test_dp_accounting_agrees_pair_by_pair():
    from dp_accounting.pld import privacy_loss_distribution as peer

    c = channel(3, n=4, m=12)
    rows = np.asarray(c.floats)
    for i, j in permutations(range(4), 2):
        logs_p, logs_q = ({k: math.log(v) for k, v in enumerate(rows[x].tolist())} for x in (i, j))
        theirs = peer.from_two_probability_mass_functions(
            logs_q, logs_p, pessimistic_estimate=True, value_discretization_interval=1e-5
        )
        ours = dv.dp.PrivacyLoss.between(rows[i], rows[j])
        for epsilon in (0.0, 0.3, 1.0):
            assert ours.delta(epsilon) == pytest.approx(theirs.get_delta_for_epsilon(epsilon), abs=2e-5)


def test_both_parts_of_a_pair_have_the_unit() -> None:
    c = channel(2, n=2)
    for variant, parts in ((dv.dp.mean_concentrated, ("mu", "tau", "tau_lower")), (dv.dp.truncated_cdp, ("xi", "rho"))):
        nats, bits = variant(c), variant(c, unit="bits")
        for part in parts:
            assert getattr(bits, part) * math.log(2) == pytest.approx(getattr(nats, part), rel=1e-15)


@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_units(unit):
    c, scale = channel(1), {"nats": 1.0, "bits": math.log(2)}[unit]
    assert dv.dp.kl_privacy(c, unit=unit).value == pytest.approx(dv.dp.kl_privacy(c).value / scale)
    assert dv.dp.delta_from_epsilon(c, 0.4 / scale, unit=unit).value == pytest.approx(
        dv.dp.delta_from_epsilon(c, 0.4).value
    )
    assert dv.dp.zcdp_rho(c, 0.01 / scale, unit=unit).value == pytest.approx(dv.dp.zcdp_rho(c, 0.01).value / scale)


def test_neighbors_as_relation_matrix_graph_and_metric():
    c = dv.Channel(np.asarray(channel(5).floats), secrets=[1, 2, 3, 4])
    line = np.abs(np.subtract.outer(range(4), range(4))) == 1
    relation = [(1, 2), (2, 3), (3, 4)]
    values = {
        dv.dp.kl_privacy(c, neighbors)
        for neighbors in (relation, line, lambda x, y: abs(x - y) <= 1, type("Graph", (), {"edges": relation})())
    }
    assert len(values) == 1
    assert values.pop().value < dv.dp.kl_privacy(c).value or dv.dp.kl_privacy(c).pair in [
        *relation,
        *map(reversed, relation),
    ]


def test_both_orders_of_a_pair_are_examined():
    one_way = dv.Channel([[0.5, 0.5, 0.0], [0.4, 0.4, 0.2]])
    assert dv.dp.epsilon_from_delta(one_way, 0.0).value == math.inf
    assert dv.dp.epsilon_from_delta(one_way, 0.0).pair == (1, 0)
    assert dv.dp.delta_from_epsilon(one_way, 5.0, neighbors=[(0, 1)]) == dv.results.Worst(0.2, (1, 0))


def test_tiny_deltas_keep_their_sign_and_size():
    c = dv.Channel([[0.5, 0.5, 1e-300], [0.5, 0.5, 0.0], [0.25, 0.75, 0.0]])
    deltas = dv.dp.delta_from_epsilon(c, [0.0, 1.0, 50.0]).value
    assert deltas.tolist() == [0.25, 1e-300, 1e-300]


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: dv.dp.delta_from_epsilon(m, math.nan),
        lambda m: dv.dp.epsilon_from_delta(m, math.nan),
        lambda m: dv.dp.tail_from_epsilon(m, math.nan),
        lambda m: dv.dp.epsilon_from_tail(m, math.nan),
        lambda m: dv.dp.relaxed_delta(m, math.nan, 0.1),
        lambda m: dv.dp.relaxed_delta(m, 1.0, math.nan),
        lambda m: dv.dp.renyi_dp(m, math.nan),
        lambda m: dv.dp.renyi_order(m, math.nan),
        lambda m: dv.dp.abs_chi(m, math.nan),
        lambda m: dv.dp.ternary_abs_chi([[0.5, 0.5], [0.4, 0.6]], math.nan),
        lambda m: dv.dp.f_divergence(m, lambda r: r),
        lambda m: dv.dp.zcdp_rho(m, math.nan),
        lambda m: dv.dp.zcdp_rho(m, up_to=math.nan),
        lambda m: dv.dp.zcdp_xi(m, math.nan),
        lambda m: dv.dp.approximate_zcdp_rho(m, math.nan),
        lambda m: dv.dp.approximate_zcdp_rho(m, 0.1, math.nan),
        lambda m: dv.dp.kl_privacy(m, unit="bytes"),
        lambda m: dv.dp.kl_privacy("rows"),
    ],
)
def test_what_is_no_number_is_refused_and_never_read_as_privacy(ask):
    for subject in (dv.dp.LaplaceMechanism(1.0), dv.dp.RandomizedResponse(1.0)):
        with pytest.raises(dv.DivulgeError):
            ask(subject)


@pytest.mark.parametrize("name", ["gaussian", "laplace", "discrete-laplace", "discrete-gaussian", "exponential"])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_mechanisms_refuse_what_is_no_scale(name, bad):
    with pytest.raises(dv.DivulgeError):
        MECHANISMS[name](bad)


def test_one_secret_alone_is_perfectly_private() -> None:
    alone = dv.Channel([["1/4", "3/4"]])
    for measure in (dv.dp.kl_privacy, dv.dp.total_variation, dv.dp.zcdp_rho, dv.dp.mutual_information_dp):
        assert measure(alone).value == 0
    found = dv.dp.mean_concentrated(alone)
    assert found.mu == found.tau == 0
    assert dv.dp.renyi_dp(alone, 2).value == dv.dp.abs_chi(alone, 2).value == dv.dp.ternary_abs_chi(alone, 2).value == 0
    assert dv.dp.delta_from_epsilon(alone, 0).value == dv.dp.epsilon_from_delta(alone, 0).value == 0
    assert all(guarantee.holds_for(alone) for guarantee in (dv.ADP(0, 0), dv.ZCDP(0), dv.guarantees.GDP(0), dv.LDP(0)))
    assert dv.compose((alone, 5)).epsilon(0.0).upper == 0


@pytest.mark.parametrize("wrong", [0.1, "ab", 3])
def test_what_names_no_neighbors_is_refused(wrong: object) -> None:
    with pytest.raises(dv.DivulgeError, match="neighbors"):
        dv.dp.kl_privacy([[0.5, 0.5], [0.25, 0.75]], wrong)


def test_abs_chi_of_entries_near_the_smallest_doubles_is_finite() -> None:
    """sqrt(E_Q (P/Q - 1)^2) with P/Q = 1e300: its square is no double, the answer is 1e300 sqrt(1e-300)."""
    rare = dv.Channel([[1e-300, 1.0], [1.0, 1e-300]])
    assert dv.dp.abs_chi(rare, 2).value == pytest.approx(1e150, rel=1e-12)
    assert dv.dp.abs_chi(rare, 1).value == pytest.approx(2.0, rel=1e-12)


def test_ternary_chi_of_powers_beyond_doubles_is_finite() -> None:
    """(E_R |(P - Q) / R|^50)^(1/50) with R = 1e-300 has terms of 1e14700, and is 1e294 / 2 itself."""
    rare = dv.Channel([[1e-300, 1.0], [0.5, 0.5]])
    assert dv.dp.ternary_abs_chi(rare, 50).value == pytest.approx(0.5e294, rel=1e-12)
    assert dv.dp.ternary_abs_chi([[0.5, 0.5], [0.4, 0.6]], 2000).value == pytest.approx(
        0.25 * 0.4 ** (1 / 2000), rel=1e-12
    )
    assert dv.dp.ternary_abs_chi([[0.5, 0.5], [0.0, 1.0]], 2).value == math.inf


@pytest.mark.parametrize("ask", [dv.dp.renyi_dp, dv.dp.abs_chi, dv.dp.ternary_abs_chi])
def test_an_order_is_refused_by_its_name(ask: Any) -> None:
    with pytest.raises(dv.DivulgeError, match="alpha"):
        ask([[0.75, 0.25], [0.25, 0.75]], 0.5)


@pytest.mark.parametrize("rho", [math.inf, math.nan])
def test_an_infinite_rho_has_no_xi(rho: float) -> None:
    with pytest.raises(dv.DivulgeError, match="rho"):
        dv.dp.zcdp_xi([[1.0, 0.0], [0.0, 1.0]], rho)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 7.0, 300.0, 1e4, math.inf])
@pytest.mark.parametrize("seed", range(few(6)))
def test_abs_chi_of_any_order_meets_its_definition(alpha: float, seed: int) -> None:
    rows = random_channel(np.random.default_rng(seed), 3, 4).floats.copy()
    if seed % 2:
        rows[seed % 3, 0] = 0.0
        rows /= rows.sum(axis=1, keepdims=True)

    def norm(p: np.ndarray, q: np.ndarray, r: np.ndarray) -> float:
        if alpha > 1 and ((r == 0) & (p != q)).any():
            return math.inf
        seen = [(abs(mp.mpf(a) - mp.mpf(b)), mp.mpf(c)) for a, b, c in zip(p, q, r, strict=True) if a != b]
        if alpha == math.inf:
            return float(max(gap / c for gap, c in seen))
        return float(
            mp.fsum(gap**alpha * c ** (1 - mp.mpf(alpha)) if c else gap for gap, c in seen) ** (1 / mp.mpf(alpha))
        )

    pairs = list(permutations(range(3), 2))
    assert dv.dp.abs_chi(rows, alpha).value == pytest.approx(
        max(norm(rows[i], rows[j], rows[j]) for i, j in pairs), rel=1e-9
    )
    triples = [norm(rows[i], rows[j], rows[k]) for i, j in pairs for k in range(3)]
    assert dv.dp.ternary_abs_chi(rows, alpha).value == pytest.approx(max(triples), rel=1e-9)


def test_abs_chi_of_infinite_order_is_the_largest_distance_of_the_ratio_from_1() -> None:
    assert dv.dp.abs_chi(dv.dp.GaussianMechanism(1.0), math.inf).value == math.inf
    assert dv.dp.abs_chi(dv.dp.LaplaceMechanism(1.0), math.inf).value == pytest.approx(math.e - 1)
    assert dv.dp.abs_chi([[0.5, 0.5], [0.5, 0.5]], math.inf).value == 0.0
