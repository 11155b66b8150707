"""Agreement with qif and dit on random channels, and with definitions evaluated by mpmath and brute force."""

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf
from support import few, random_channel, random_joint, random_prior

import divulge as dv


def test_qif_agrees_on_hundreds_of_channels() -> None:
    import qif
    from qif import measure

    qif.set_default_type(qif.double)
    rng = np.random.default_rng(0)
    for _ in range(few(250)):
        n, m = (int(v) for v in rng.integers(2, 8, size=2))
        joint = random_joint(rng, n, m, zeros=float(rng.choice([0.0, 0.3])))
        p, c = joint.prior.floats.copy(), joint.channel.floats.copy()
        pairs = [
            (dv.mutual_information(joint, unit="bits"), measure.shannon.add_leakage(p, c)),
            (dv.measures.bayes_vulnerability(joint), measure.bayes_vuln.posterior(p, c)),
            (dv.measures.min_entropy_leakage(joint, unit="bits"), measure.bayes_vuln.min_entropy_leakage(p, c)),
            (dv.bayes_capacity(joint), measure.bayes_vuln.mult_capacity(c)),
            (dv.measures.guesswork(joint.prior), measure.guessing.prior(p)),
            (dv.measures.guesswork_after(joint).mean(), measure.guessing.posterior(p, c)),
            (dv.measures.entropy(joint.prior, unit="bits"), measure.shannon.prior(p)),
        ]
        for ours, theirs in pairs:
            assert ours == pytest.approx(theirs, abs=1e-9)


def test_qif_agrees_on_gains_losses_and_properties() -> None:
    import qif
    from qif import measure

    qif.set_default_type(qif.double)
    rng = np.random.default_rng(10)
    for _ in range(few(200)):
        n, m, actions = (int(v) for v in rng.integers(2, 7, size=3))
        joint = random_joint(rng, n, m, zeros=float(rng.choice([0.0, 0.3])))
        p, c, payoffs = joint.prior.floats.copy(), joint.channel.floats.copy(), rng.random((actions, n)) + 0.01
        group = rng.integers(2, size=n)
        group[0], group[-1] = 0, 1
        member = np.array([group == 0, group == 1]).astype(float)
        gain, cost, side = dv.Gain(payoffs), dv.Cost(payoffs), dv.Gain(member)  # which group the secret is in
        before, after = dv.adversaries.before_and_after(joint, gain)
        risk_before, risk_after = dv.adversaries.before_and_after(joint, cost)
        wrong, right = dv.Cost.zero_one(n), dv.Gain.identity(n)
        guesses = dv.measures.guesswork(joint.prior), dv.measures.guesswork_after(joint).mean()
        uncertain = dv.measures.entropy(joint.prior, unit="bits"), dv.mutual_information(joint, unit="bits")
        pairs = [
            (before, measure.g_vuln.prior(payoffs, p)),
            (after, measure.g_vuln.posterior(payoffs, p, c)),
            (dv.adversaries.additive_leakage(joint, gain), measure.g_vuln.add_leakage(payoffs, p, c)),
            (dv.leakage(joint, gain), measure.g_vuln.mult_leakage(payoffs, p, c)),
            (risk_before, measure.l_risk.prior(payoffs, p)),
            (risk_after, measure.l_risk.posterior(payoffs, p, c)),
            (dv.adversaries.additive_leakage(joint, cost), measure.l_risk.add_leakage(payoffs, p, c)),
            (dv.leakage(joint, cost), measure.l_risk.mult_leakage(payoffs, p, c)),
            (dv.adversaries.before_and_after(joint, side)[1], measure.g_vuln.posterior(member, p, c)),
            (dv.leakage(joint, side), measure.g_vuln.mult_leakage(member, p, c)),
            (dv.vulnerability(joint.prior, right), measure.bayes_vuln.prior(p)),
            (dv.leakage(joint, right), measure.bayes_vuln.mult_leakage(p, c)),
            (dv.adversaries.additive_leakage(joint, right), measure.bayes_vuln.add_leakage(p, c)),
            (dv.adversaries.uncertainty(joint.prior, wrong), measure.bayes_risk.prior(p)),
            (dv.adversaries.before_and_after(joint, wrong)[1], measure.bayes_risk.posterior(p, c)),
            (dv.adversaries.additive_leakage(joint, wrong), measure.bayes_risk.add_leakage(p, c)),
            (guesses[0] - guesses[1], measure.guessing.add_leakage(p, c)),
            (dv.leakage(joint, dv.Cost.guesswork(n)), measure.guessing.mult_leakage(p, c)),
            (uncertain[0] - uncertain[1], measure.shannon.posterior(p, c)),
        ]
        for k, (ours, theirs) in enumerate(pairs):
            assert ours == pytest.approx(theirs, abs=1e-9), k


def test_qif_agrees_in_fractions() -> None:
    import qif
    from qif import measure

    rng = np.random.default_rng(11)
    for _ in range(few(100)):
        joint = random_joint(rng, 4, 3, exact=True, zeros=0.2)
        p, c = np.array(joint.p), np.array(joint.c)
        assert dv.bayes_capacity(joint) == measure.bayes_vuln.mult_capacity(c)
        assert dv.measures.bayes_vulnerability(joint) == measure.bayes_vuln.posterior(p, c)
        assert dv.measures.guesswork(joint.prior) == measure.guessing.prior(p)
        after = measure.g_vuln.posterior(measure.g_vuln.G_id(4, qif.rat), p, c)
        assert dv.adversaries.before_and_after(joint, dv.Gain.identity(4))[1] == after


def test_qif_agrees_on_capacity_and_ldp() -> None:
    import qif
    from qif import measure

    qif.set_default_type(qif.double)
    rng = np.random.default_rng(1)
    discrete = qif.metric.discrete(qif.uint)
    for _ in range(few(30)):
        channel = random_channel(rng, 4, 5)
        c = channel.floats.copy()
        assert dv.ldp(channel) == pytest.approx(measure.d_privacy.smallest_epsilon(c, discrete), abs=1e-9)
        assert dv.measures.capacity(channel, unit="bits").value == pytest.approx(
            measure.shannon.add_capacity(c)[0], abs=1e-6
        )


@pytest.mark.long
def test_dit_agrees_on_hundreds_of_joints() -> None:
    import dit

    rng = np.random.default_rng(2)
    for _ in range(few(120)):
        n, m = (int(v) for v in rng.integers(2, 5, size=2))
        joint = random_joint(rng, n, m)
        cells = [(f"{x}{y}", joint.matrix[x, y]) for x in range(n) for y in range(m)]
        theirs = dit.Distribution(*map(list, zip(*cells, strict=True)))
        assert dv.mutual_information(joint, unit="bits") == pytest.approx(
            dit.shannon.mutual_information(theirs, [0], [1]), abs=1e-9
        )
        p, q = random_prior(rng, n), random_prior(rng, n)
        for order in (0.5, 2.0, 3.0):
            expected = dit.other.renyi_entropy(theirs, order, [0])
            assert dv.measures.renyi_entropy(joint.prior, order, unit="bits") == pytest.approx(expected, abs=1e-9)
            ours = dv.measures.renyi_divergence(p, q, order, unit="bits")
            powers = math.fsum((p.floats**order * q.floats ** (1 - order)).tolist())
            assert ours == pytest.approx(math.log2(powers) / (order - 1), abs=1e-9)


@pytest.mark.long
def test_dit_agrees_on_orders_divergences_and_capacity() -> None:
    import dit

    def of(probabilities: np.ndarray) -> dit.Distribution:
        return dit.Distribution([str(i) for i in range(len(probabilities))], probabilities.tolist())

    rng = np.random.default_rng(12)
    for i in range(few(36)):
        n, m = (int(v) for v in rng.integers(2, 5, size=2))
        joint = random_joint(rng, n, m)
        matrix = joint.matrix
        both = dit.Distribution([f"{x}{y}" for x in range(n) for y in range(m)], matrix.ravel().tolist())
        apart = dit.Distribution(both.outcomes, np.outer(joint.prior.floats, joint.outer).ravel().tolist())
        before, y = of(joint.prior.floats), int(rng.integers(m))
        behind = of(joint.posteriors[:, y])
        for order in (0.4, 2, 5):
            theirs = dit.other.sibson_mutual_information(both, [0], [1], order)
            assert dv.sibson(joint, order, unit="bits") == pytest.approx(theirs, abs=1e-9)
        renyi = dit.divergences.renyi_divergence(behind, before, 3)
        joined = dit.divergences.jensen_shannon_divergence([both, apart])
        pairs = [
            (dv.maximal_leakage(joint, unit="bits"), dit.other.maximal_leakage(both, [0], [1])),
            (dv.measures.renyi_divergence(joint.posterior(y), joint.prior, 3, unit="bits"), renyi),
            (
                dv.measures.posterior_divergence(joint, unit="bits")[y],
                dit.divergences.kullback_leibler_divergence(behind, before),
            ),
            (
                dv.measures.posterior_divergence(joint, "total-variation")[y],
                dit.divergences.variational_distance(behind, before),
            ),
            (dv.measures.f_information(joint, "total-variation"), dit.divergences.variational_distance(both, apart)),
            (dv.measures.f_information(joint, "hellinger"), 2 * dit.divergences.hellinger_distance(both, apart) ** 2),
            (dv.measures.f_information(joint, "jensen-shannon", unit="bits"), joined),
            (
                dv.measures.f_information(joint, "reverse-kl", unit="bits"),
                dit.other.lautum_information(both, [[0], [1]]),
            ),
            (2 ** dv.measures.entropy(joint.prior, unit="bits"), dit.other.perplexity(both, [0])),
        ]
        for k, (ours, theirs) in enumerate(pairs):
            assert ours == pytest.approx(float(theirs), abs=1e-9), k
        if i % 50 == 0:
            theirs = dit.algorithms.channel_capacity_joint(both, [0], [1])
            assert dv.measures.capacity(joint, unit="bits").value == pytest.approx(theirs, abs=1e-5)


def _reference(joint: dv.Joint, order: float) -> tuple[mpf, mpf]:
    """Sibson's and Arimoto's information from their definitions, 40 digits, rows and prior normalized anew."""
    with mp.workdps(40):
        p = [mpf(v) for v in joint.prior.floats]
        p = [v / sum(p) for v in p]
        rows = [[mpf(v) for v in row] for row in joint.channel.floats]
        rows = [[v / sum(row) for v in row] for row in rows]
        a, n, m = mpf(order), len(p), len(rows[0])
        used = [x for x in range(n) if p[x] > 0]

        def roots(weight: list[mpf]) -> mpf:
            sums = [sum(weight[x] * rows[x][y] ** a for x in used if rows[x][y] > 0) for y in range(m)]
            return sum(s ** (1 / a) for s in sums if s > 0)

        sibson = a / (a - 1) * mp.log(roots(p))
        powers = [v**a if v > 0 else mpf(0) for v in p]
        entropy = mp.log(sum(powers)) / (1 - a)
        return sibson, entropy - a / (1 - a) * mp.log(roots(powers))


@pytest.mark.parametrize("order", [0.1, 0.4, 0.9, 1 - 1e-7, 1 + 1e-7, 1.3, 2, 7, 300])
def test_orders_from_their_definitions(order: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(few(12)):
        n, m = (int(v) for v in rng.integers(2, 6, size=2))
        joint = random_joint(rng, n, m, zeros=0.2)
        sibson, arimoto = _reference(joint, order)
        assert dv.sibson(joint, order) == pytest.approx(float(sibson), rel=1e-11, abs=1e-14)
        assert dv.measures.arimoto(joint, order) == pytest.approx(float(arimoto), rel=1e-11, abs=1e-14)
        assert dv.sibson(dv.Joint(joint.prior, _sparse(joint.channel)), order) == pytest.approx(
            float(sibson), rel=1e-10, abs=1e-14
        )


def _sparse(channel: dv.Channel) -> dv.Channel:
    import scipy.sparse

    return dv.Channel(scipy.sparse.csr_array(channel.floats))


DEFINITIONS = {
    "kl": lambda u: u * mp.log(u) if u > 0 else mpf(0),
    "reverse-kl": lambda u: -mp.log(u) if u > 0 else mp.inf,
    "jensen-shannon": lambda u: (
        (u * mp.log(2 * u / (1 + u)) if u > 0 else mpf(0)) + mp.log(2 / (1 + u))
    ) / 2,
    "chi-squared": lambda u: (u - 1) ** 2,
    "neyman": lambda u: (u - 1) ** 2 / u if u > 0 else mp.inf,
    "total-variation": lambda u: abs(u - 1) / 2,
    "hellinger": lambda u: (mp.sqrt(u) - 1) ** 2,
    "le-cam": lambda u: (u - 1) ** 2 / (2 * (u + 1)),
}  # fmt: skip


def test_every_f_divergence_from_its_definition() -> None:
    from divulge.measures.numeric.convex import DIVERGENCES

    assert set(DEFINITIONS) == set(DIVERGENCES)
    rng = np.random.default_rng(4)
    for exact, (name, f) in itertools.product([False, True], DEFINITIONS.items()):
        for zeros in (0.0, 0.3):
            joint = random_joint(rng, 4, 3, exact=exact, zeros=zeros)
            lift, p = joint.lift, joint.prior
            divergence = dv.measures.posterior_divergence(joint, name)
            for y, outcome in enumerate(joint.outcomes):
                if joint.outer[y] > 0:
                    terms = [p.floats[x] * f(mpf(float(lift[x, y]))) for x in range(4) if p.floats[x] > 0]
                    assert divergence[outcome] == pytest.approx(float(sum(terms)), rel=1e-10, abs=1e-15)
            sparse = dv.measures.f_information(dv.Joint(joint.prior, _sparse(joint.channel)), name)
            assert float(dv.measures.f_information(joint, name)) == pytest.approx(sparse, rel=1e-9)
    own = dv.measures.f_information(joint, lambda u: (u - 1) ** 2)
    assert own == pytest.approx(float(dv.measures.f_information(joint, "chi-squared")), rel=1e-12)


def test_guesswork_by_trying_every_order() -> None:
    rng = np.random.default_rng(5)
    for _ in range(few(20)):
        joint = random_joint(rng, 4, 3, exact=True, zeros=0.2)
        orders = list(itertools.permutations(range(1, 5)))
        best = min(sum(g * p for g, p in zip(order, joint.p, strict=True)) for order in orders)
        assert dv.measures.guesswork(joint.prior) == best
        after = dv.measures.guesswork_after(joint)
        for y, outcome in enumerate(joint.outcomes):
            if joint.outer[y] > 0:
                column = joint.posteriors[:, y]
                expected = min(sum(g * d for g, d in zip(order, column, strict=True)) for order in orders)
                assert after[outcome] == pytest.approx(float(expected), rel=1e-14)
        assert after.mean() <= float(dv.measures.guesswork(joint.prior)) + 1e-12


def test_capacity_closed_forms_and_certificates() -> None:
    error, erased = 0.11, 0.3
    entropy = -error * math.log(error) - (1 - error) * math.log(1 - error)
    assert dv.measures.capacity(dv.mechanisms.symmetric(2, error)).value == pytest.approx(
        math.log(2) - entropy, rel=1e-12
    )
    assert dv.measures.capacity(dv.mechanisms.erasure(5, erased)).value == pytest.approx(0.7 * math.log(5), rel=1e-12)
    z = dv.measures.capacity([[1.0, 0.0], [0.5, 0.5]])
    assert z.value == pytest.approx(math.log(5 / 4), rel=1e-12)
    assert z.prior.floats == pytest.approx([0.6, 0.4], abs=1e-6)
    rng = np.random.default_rng(6)
    for n, m in [(2, 9), (9, 2), (6, 6), (30, 12)]:
        channel = random_channel(rng, n, m, zeros=0.3)
        found = dv.measures.capacity(channel)
        assert found.lower <= found.value <= found.upper <= found.lower + 1e-11
        assert dv.mutual_information((found.prior, channel)) == pytest.approx(found.value, abs=1e-12)
        for _ in range(few(20)):
            assert dv.mutual_information((random_prior(rng, n), channel)) <= found.upper
        rough = dv.measures.capacity(channel, steps=3)
        assert rough.lower <= found.value + 1e-13
        assert rough.upper >= found.value - 1e-13


@pytest.mark.parametrize("order", [0.5, 1.5, 2, 4, 20])
def test_sibson_capacity_is_certified(order: float) -> None:
    rng = np.random.default_rng(7)
    for n, m in [(2, 3), (5, 4), (3, 8)]:
        channel = random_channel(rng, n, m, zeros=0.2)
        found = dv.measures.sibson_capacity(channel, order)
        assert found.gap < 1e-9
        assert dv.sibson((found.prior, channel), order) == pytest.approx(found.value, abs=1e-10)
        for _ in range(few(20)):
            prior = random_prior(rng, n)
            assert dv.sibson((prior, channel), order) <= found.upper
            assert dv.measures.arimoto((prior, channel), order) <= found.upper


def test_renyi_divergence_limits() -> None:
    rng = np.random.default_rng(8)
    for exact in (False, True):
        p, q = random_prior(rng, 5, exact=exact, zeros=0.3), random_prior(rng, 5, exact=exact)
        orders = [0, 1e-6, 0.3, 0.999999, 1, 1.000001, 2, 50, math.inf]
        values = [dv.measures.renyi_divergence(p, q, order) for order in orders]
        assert all(a <= b + 1e-9 for a, b in itertools.pairwise(values))
        assert values[1] == pytest.approx(values[0], abs=1e-4)
        assert values[3] == pytest.approx(values[4], abs=1e-4)
        assert values[-1] == pytest.approx(math.log(max(p.floats / q.floats)), rel=1e-14)
        joint = random_joint(rng, 4, 3, exact=exact)
        for y, outcome in enumerate(joint.outcomes):
            if joint.outer[y] > 0:
                behind = joint.posterior(outcome)
                pml, pmc = dv.pml(joint)[outcome], dv.pmc(joint)[outcome]
                assert dv.measures.renyi_divergence(behind, joint.prior, math.inf) == pytest.approx(pml, rel=1e-13)
                assert dv.measures.renyi_divergence(joint.prior, behind, math.inf) == pytest.approx(pmc, rel=1e-13)
    assert dv.measures.renyi_divergence([1, 0], [0, 1], 0.5) == math.inf
    assert dv.measures.renyi_divergence(["1/2", "1/2"], [1, 0], 1) == math.inf
