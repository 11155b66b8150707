"""Priors, channels, joints and values by outcome: each number from fractions."""

import math
from fractions import Fraction

import mpmath as mp
import numpy as np

import divulge as dv
from search.registry import at_least, at_most, case, mpf, same
from search.subjects import ONE, Drawn, distribution, drawn, pick, whole


def dense(values: object) -> np.ndarray:
    return values.toarray() if hasattr(values, "toarray") else np.asarray(values)


def alike(what: str, found: object, truth: list[list[Fraction]] | list[Fraction]) -> None:
    """Assert that an array of floats or fractions is that of the fractions, fractions without an error."""
    for got, want in zip(dense(found).ravel().tolist(), np.array(truth, dtype=object).ravel().tolist(), strict=True):
        if isinstance(got, Fraction):
            assert got == want, (what, got, want)
        else:
            same(what, got, want, 1e-14, 1e-300)


@case("Prior")
def priors(rng: np.random.Generator) -> None:
    n = int(rng.integers(1, 7))
    weights = whole(rng, n, float(rng.choice([0.0, 0.4])), 6.0)
    truth, names = [Fraction(w, ONE) for w in weights], [f"s{k}" for k in rng.permutation(n).tolist()]
    for prior in (dv.Prior(truth, names), dv.Prior([float(v) for v in truth], names)):
        alike("probabilities", prior.probabilities, truth)
        alike("floats", prior.floats, truth)
        same("p_min", prior.p_min, min(v for v in truth if v > 0), 1e-15)
        same("p_max", prior.p_max, max(truth), 1e-15)
        assert prior.support.tolist() == [v > 0 for v in truth]
        order = [int(i) for i in rng.permutation(n)]
        alike("aligned", prior.aligned([names[i] for i in order]).probabilities, [truth[i] for i in order])
        alike("renamed", prior.renamed(range(n)).probabilities, truth)
        assert prior.exact == isinstance(prior.probabilities[0], Fraction)
    counts = [int(v) for v in rng.integers(0, 9, size=n)]
    counts[0] += 1
    shares = [Fraction(c, sum(counts)) for c in counts]
    alike("from_counts", dv.Prior.from_counts(counts).probabilities, shares)
    column = dv.Prior.from_column([name for name, c in zip(names, counts, strict=True) for _ in range(c)])
    for name, share in zip(names, shares, strict=True):
        assert not share or column[name] == share
    alike("uniform", dv.Prior.uniform(n).probabilities, [Fraction(1, n)] * n)


@case("Channel", "IntegerChannel")
def channels(rng: np.random.Generator) -> None:
    d = drawn(rng, most=4)
    channel, n, m = d.channel(), len(d.rows), len(d.rows[0])
    assert channel.shape == (n, m)
    assert (channel.exact, channel.sparse) == (d.form == "exact", d.form == "sparse")
    alike("matrix", channel.matrix, d.rows)
    alike("floats", channel.floats, d.rows)
    for got, column in zip(channel.mean_row.tolist(), zip(*d.rows, strict=True), strict=True):
        same("mean_row", got, sum(column) / n, 1e-14, 1e-300)
    x, y = int(rng.integers(n)), int(rng.integers(m))
    alike("row", channel.row(x), d.rows[x])
    alike("column", channel.column(y), [row[y] for row in d.rows])
    named, order = dv.Channel(channel.matrix, [f"s{k}" for k in range(n)]), [int(i) for i in rng.permutation(n)]
    alike("aligned", named.aligned([f"s{i}" for i in order]).matrix, [d.rows[i] for i in order])
    post = [distribution(rng, int(k)) for k in [rng.integers(1, 4)] for _ in range(m)]
    merged = [[sum(c * r[z] for c, r in zip(row, post, strict=True)) for z in range(len(post[0]))] for row in d.rows]
    alike("then", channel.then(post).matrix, merged)
    other = [distribution(rng, 3) for _ in range(n)]
    both = [[a * b for a in row for b in more] for row, more in zip(d.rows, other, strict=True)]
    alike("alongside", channel.alongside(dv.Channel(other)).matrix, both)
    pairs = [[a * b for a in row for b in more] for row in d.rows for more in other]
    alike("product", channel.product(dv.Channel(other)).matrix, pairs)
    weights = np.array([whole(rng, m, 0.2, 3.0) for _ in range(n)])
    alike(
        "from_weights",
        dv.Channel.from_weights(weights, ONE).matrix,
        [[Fraction(w, ONE) for w in r] for r in weights.tolist()],
    )
    bits = int(rng.integers(8, 63))
    found = dv.IntegerChannel.of(channel, bits, raise_small=True)
    assert (found.shape, found.bits) == ((n, m), bits)
    assert found.weights.sum(axis=1).tolist() == [1 << bits] * n
    alike("exact", found.exact.matrix, [[Fraction(w, 1 << bits) for w in row] for row in found.weights.tolist()])
    raised = sum(0 < v < Fraction(1, 1 << bits) for row in d.rows for v in row)
    for row, near in zip(found.weights.tolist(), d.rows, strict=True):
        for w, v in zip(row, near, strict=True):
            assert (w == 0) == (v == 0), "zeros stay zeros, and nothing else becomes one"
            assert abs(w - v * (1 << bits)) <= 1 + raised + Fraction(1, 1 << 50) * (1 << bits)
    assert found.rounded or all((v * (1 << bits)).denominator == 1 for row in d.rows for v in row)
    units = int(rng.integers(1, 4))
    moved, never = found.moved(units), (found.weights > 0).all(axis=0).tolist()
    assert moved.weights.sum(axis=1).tolist() == [1 << bits] * n
    for row, before in zip(moved.weights.tolist(), found.weights.tolist(), strict=True):
        for w, v, more in zip(row, before, never, strict=True):
            assert abs(w - units * more - v * (1 - Fraction(units * sum(never), 1 << bits))) <= 1 + Fraction(1, 1 << 20)
            assert v > 0 or w == 0, "zeros stay zeros"


@case("Joint")
def joints(rng: np.random.Generator) -> None:
    d = drawn(rng)
    joint, n, m = d.joint(), len(d.rows), len(d.rows[0])
    q = [sum(p * row[y] for p, row in zip(d.prior, d.rows, strict=True)) for y in range(m)]
    alike("p", joint.p, d.prior)
    alike("c", joint.c, d.rows)
    alike("matrix", joint.matrix, [[p * v for v in row] for p, row in zip(d.prior, d.rows, strict=True)])
    alike("outer", joint.outer, q)
    assert joint.occurring.tolist() == [v > 0 for v in q]
    for y in d.seen:
        alike("lift", joint.lift[:, y], [row[y] / q[y] for row in d.rows])
        after = [p * row[y] / q[y] for p, row in zip(d.prior, d.rows, strict=True)]
        alike("posteriors", joint.posteriors[:, y], after)
        alike("posterior", joint.posterior(joint.outcomes[y]).probabilities, after)
        for x in range(n):
            density = joint.information_density[x, y]
            if d.rows[x][y] == 0:
                assert density == -math.inf
            else:
                same("information_density", density, mp.log(mpf(d.rows[x][y] / q[y])), 1e-12, 2e-15)
    counts = rng.integers(0, 5, size=(n, m))
    counts[0, 0] += 1
    total, empirical = int(counts.sum()), dv.Joint.from_counts(counts)
    cells = [[Fraction(c, total) for c in row] for row in counts.tolist()]
    assert empirical.exact == (counts.dtype.kind == "i")
    alike("from_counts", empirical.matrix, cells)
    alike("from_matrix", dv.Joint.from_matrix(cells).matrix, cells)


@case("Pointwise")
def values_by_outcome(rng: np.random.Generator) -> None:
    """Distribution of a leakage: ties, infinite values, levels at the atoms themselves."""
    d: Drawn = drawn(rng)
    found = pick(rng, [dv.pml, dv.pmc])(d.joint())
    value, q = found.values.tolist(), [mpf(v) for v in found.probabilities]
    at = pick(rng, value)
    for level in (at, float(rng.uniform(-0.1, 3))):
        same("tail", found.tail(level), mp.fsum(p for v, p in zip(value, q, strict=True) if v > level), 1e-14)
        same("cdf", found.cdf(level), mp.fsum(p for v, p in zip(value, q, strict=True) if v <= level), 1e-14)
    assert found.min() == min(value)
    assert found[found.argmax()] >= max(value) * (1 - 1e-9)
    bits = found.to("bits")
    if math.isinf(max(value)):
        assert found.moment(2) == found.variance() == math.inf
    else:
        mean = mp.fsum(p * mpf(v) for p, v in zip(q, value, strict=True))
        same("moment", found.moment(2), mp.fsum(p * mpf(v) ** 2 for p, v in zip(q, value, strict=True)), 1e-13)
        spread = mp.fsum(p * (mpf(v) - mean) ** 2 for p, v in zip(q, value, strict=True))
        same("variance", found.variance(), spread, 1e-12, 1e-28)
        same("to", bits.max(), mpf(max(value)) / mp.log(2), 1e-15)
    for epsilon, delta in found.pairs().tolist():
        same("pairs", delta, mp.fsum(p for v, p in zip(value, q, strict=True) if v > epsilon), 1e-13)
    spent = pick(rng, [0.0, 1e-9, float(rng.random()), found.tail(at)])
    least = found.epsilon(spent)
    at_most("epsilon", found.tail(least), spent)
    assert least == 0 or least in value
    lower = [v for v in [0.0, *value] if 0 <= v < least]
    if lower:
        at_least("epsilon is the least", mp.fsum(p for v, p in zip(value, q, strict=True) if v > max(lower)), spent)
    share = float(rng.random())
    middle = found.quantile(share)
    at_least("quantile", mp.fsum(p for v, p in zip(value, q, strict=True) if v <= middle) + 1e-14, share)
    at_most("quantile", mp.fsum(p for v, p in zip(value, q, strict=True) if v < middle) - 1e-14, share)
