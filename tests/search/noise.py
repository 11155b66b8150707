"""Noise on numbers: what is certified admits no ulp, from a definition in 120 digits; and scipy noise is possible."""

import math
from typing import Any

import mpmath as mp
import numpy as np
from scipy import stats

import divulge as dv
from search.registry import at_least, at_most, case
from search.subjects import pick

DENSITIES: dict[str, Any] = {
    "laplace": lambda z: mp.exp(-abs(z)),
    "gaussian": lambda z: mp.exp(-z * z / 2),
    "logistic": lambda z: 1 / mp.cosh(z / 2) ** 2,
    "student-t": lambda z: (1 + z * z / 3) ** -2,
}
"""Kind -> density at scale 1, but for a factor; df is 3."""


def leakages(m: dv.NoiseMechanism, y: float) -> tuple[Any, Any]:
    """Return (pml(y), pmc(y)) from the definition, adding up records one after the other."""
    assert m.secret.values is not None
    assert m.secret.probabilities is not None
    x, p = ([mp.mpf(v) for v in part.tolist()] for part in (m.secret.values, m.secret.probabilities))
    total = mp.fsum(p)
    others = {mp.mpf(0): mp.mpf(1)}
    for _ in range(m.records - 1):
        more: dict[Any, Any] = {}
        for place, weight in others.items():
            for v, q in zip(x, p, strict=True):
                more[place + v] = more.get(place + v, mp.mpf(0)) + weight * q / total
        others = more
    f, scale = DENSITIES[m.noise.kind], mp.mpf(m.noise.scale)
    given = [mp.fsum(w * f((mp.mpf(y) - (v + o) / m.records) / scale) for o, w in others.items()) for v in x]
    outcome = mp.fsum(q * g for q, g in zip(p, given, strict=True)) / total
    return mp.log(max(given) / outcome), mp.log(outcome / min(given))


@case("NoiseMechanism", "Supremum")
def noise_to_the_last_bit(rng: np.random.Generator) -> None:
    """Wide and narrow noise, rare values, values far from 0, several records: brackets and errors have no slack."""
    size, records = (int(rng.integers(2, 6)), int(rng.integers(1, 4))) if rng.random() < 0.7 else (40, 1)
    values = np.unique(np.round(rng.normal(size=size) * 10.0 ** rng.integers(-2, 5), int(rng.integers(1, 12))))
    if len(values) < 2:
        return
    p = rng.dirichlet(np.ones(len(values)) * 10.0 ** rng.uniform(-1.5, 1)) + 10.0 ** rng.uniform(-60, -5)
    scale = float(10 ** (rng.uniform(-2, 9) if rng.random() < 0.5 else rng.uniform(-1, 1)))
    kind = pick(rng, list(DENSITIES))
    m = dv.NoiseMechanism(kind, dv.Prior(p / p.sum(), values.tolist()), scale=scale, records=records)
    at = [side.at for side in (m.pml_supremum, m.pmc_supremum) if math.isfinite(side.at)]
    with mp.workdps(120):
        for y in [*(rng.choice(values) + scale * rng.normal(size=2)).tolist(), *at]:
            pml, pmc = leakages(m, y)
            assert abs(m.pml(y) - pml) <= m.error(y), (kind, y, mp.nstr(pml, 20))
            assert abs(m.pmc(y) - pmc) <= m.error(y, "pmc"), (kind, y, mp.nstr(pmc, 20))
            for found, truth in ((m.pml_supremum, pml), (m.pmc_supremum, pmc)):
                assert found.certified
                at_least("certified supremum", found.upper, truth, 0)


SHAPES: dict[str, tuple[float, ...]] = {
    "gumbel_r": (), "gumbel_l": (), "hypsecant": (), "laplace_asymmetric": (2.0,), "skewnorm": (4.0,), "moyal": (),
    "johnsonsu": (2.5, 2.2), "genlogistic": (0.4,), "gennorm": (1.3,), "crystalball": (2.0, 3.0), "expon": (),
    "gamma": (1.9,), "lognorm": (0.9,), "beta": (2.3, 0.6), "triang": (0.2,), "uniform": (), "dweibull": (2.0,),
    "cauchy": (), "t": (2.7,), "skewcauchy": (0.5,), "loggamma": (0.4,), "norm": (), "laplace": (), "logistic": (),
}  # fmt: skip
"""scipy name -> shapes."""


@case("NoiseMechanism")
def noise_of_scipy(rng: np.random.Generator) -> None:
    """Nothing above what is possible, a number for every possible outcome, the supremum above what is seen."""
    name = pick(rng, list(SHAPES))
    loc, scale = (float(rng.normal()), float(10 ** rng.uniform(-1, 2))) if rng.random() < 0.7 else (0.0, 1.0)
    noise: Any = getattr(stats, name)(*SHAPES[name], loc=loc, scale=scale)
    size = int(rng.integers(2, 5))
    m = dv.NoiseMechanism(noise, dv.Prior(rng.dirichlet(np.ones(size)), np.sort(rng.normal(size=size)).tolist()))
    assert m.secret.values is not None
    assert m.secret.probabilities is not None
    low, high = noise.support()
    y = np.concatenate([np.outer([1, -1], 10.0 ** rng.uniform(0, 18, size=6)).ravel(), noise.rvs(20, random_state=rng)])
    y = y[(y > m.secret.low + low) & (y < m.secret.high + high)]
    cap, pml, pmc = -math.log(float(m.secret.probabilities.min())) * (1 + 1e-12), m.pml(y), m.pmc(y)
    assert not np.isnan(pml).any()
    assert not np.isnan(pmc).any()
    at_most("pml", float(pml.max(initial=0.0)), cap)
    at_least("pml", float(pml.min(initial=0.0)), 0)
    at_most("supremum", m.pml_supremum.upper, cap)
    assert (pml - m.error(y) <= m.pml_supremum.upper + 1e-7).all()


def _skellam(rng: np.random.Generator) -> tuple[Any, Any]:
    a, b = (float(v) for v in rng.uniform(0.5, 6, size=2))
    scale = mp.exp(-mp.mpf(a) - mp.mpf(b))
    ratio, root = mp.mpf(a) / mp.mpf(b), 2 * mp.sqrt(mp.mpf(a) * mp.mpf(b))
    return stats.skellam(a, b), lambda k: scale * ratio ** (mp.mpf(k) / 2) * mp.besseli(abs(k), root)


def _two_sided(rng: np.random.Generator) -> tuple[Any, Any]:
    a = float(rng.uniform(0.3, 2))
    return stats.dlaplace(a), lambda k: mp.tanh(mp.mpf(a) / 2) * mp.exp(-mp.mpf(a) * abs(k))


def _zipf(rng: np.random.Generator) -> tuple[Any, Any]:
    a = float(rng.uniform(3, 8))
    return stats.zipf(a), lambda k: mp.mpf(k) ** -mp.mpf(a) / mp.zeta(mp.mpf(a)) if k >= 1 else mp.mpf(0)


def _listed(rng: np.random.Generator) -> tuple[Any, Any]:
    places, p = np.cumsum(rng.integers(1, 8, size=5)) / 4, rng.dirichlet(np.ones(5))
    known = dict(zip(places.tolist(), p.tolist(), strict=True))
    return stats.rv_discrete(values=(places, p))(), lambda k: mp.mpf(known.get(k, 0.0))


@case("NoiseMechanism")
def discrete_secrets_of_scipy(rng: np.random.Generator) -> None:
    """Values on any steps, and countable ones as far out as an outcome is near them: the leakage within its error."""
    make = pick(rng, [_skellam, _two_sided, _zipf, _listed])
    secret, mass = make(rng)
    m = dv.NoiseMechanism("laplace", secret, scale=float(rng.uniform(0.5, 2)))
    scale, y = mp.mpf(m.noise.scale), float(rng.normal() * 10.0 ** rng.uniform(-1, 2))
    places = [k / 4 for k in range(160)] if make is _listed else range(-700, 701)
    weights = {k: mass(k) for k in places}
    weights = {k: w for k, w in weights.items() if w > 0}
    f = {k: mp.exp(-abs(mp.mpf(y) - mp.mpf(k)) / scale) for k in weights}
    truth = mp.log(max(f.values()) / mp.fsum(weights[k] * f[k] for k in f))
    assert abs(m.pml(y) - truth) <= m.error(y) + 1e-13, (secret.dist.name, y, mp.nstr(truth, 20))


UNBOUNDED = ("dgamma", "dweibull", "gamma", "weibull_min", "powerlaw", "chi2", "nakagami")
"""scipy names whose density has no bound for shapes below 1 (1/2 for nakagami, 2 for chi2)."""


@case("NoiseMechanism", "Supremum")
def noise_without_a_bound(rng: np.random.Generator) -> None:
    """A bet on the records near an outcome gains P(|Z - pole| < w) / P(X near), beyond any leakage that is finite."""
    name = pick(rng, list(UNBOUNDED))
    shape = float(rng.uniform(0.1, 0.9)) * {"nakagami": 0.5, "chi2": 2.0}.get(name, 1.0)
    noise: Any = getattr(stats, name)(shape, scale=float(10 ** rng.uniform(-1, 1)))
    m = dv.NoiseMechanism(noise, "uniform(0, 1)")
    y = rng.uniform(0.01, 0.99, size=3)
    assert np.isposinf(m.pml(y)).all(), (name, shape)
    assert not np.isnan(m.pmc(y)).any(), (name, shape)
    assert m.pml_supremum.value == m.mean_pml().value == math.inf, (name, shape)
    few = dv.NoiseMechanism(noise, dv.Prior([0.2, 0.8], [0.0, 1.0]))
    assert few.pmc_supremum.value == math.inf, (name, shape)
    at_least("pml of the rarest", few.pml_supremum.upper, math.log(5), 1e-12)


@case("NoiseMechanism")
def spikes_of_a_density(rng: np.random.Generator) -> None:
    """A histogram with a bin of any width: how often more leaks than a threshold, by the masses of all pieces."""
    edges = np.cumsum(np.concatenate([[0.0], 10.0 ** rng.uniform(-6, 0, size=int(rng.integers(2, 6)))]))
    histogram = stats.rv_histogram((rng.dirichlet(np.ones(len(edges) - 1)), edges), density=False)()
    x, p = np.array([0.0, float(rng.uniform(0.1, 2))]), np.array([0.4, 0.6])
    m = dv.NoiseMechanism(histogram, dv.Prior(p, x.tolist()))
    ends = np.unique(np.add.outer(edges, x))
    middles, lengths = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
    f = np.array([histogram.pdf(middles - v) for v in x])
    mass = p @ f * lengths
    with np.errstate(divide="ignore", invalid="ignore"):
        leak = np.log(f.max(axis=0) / (p @ f))
    level = float(rng.uniform(0, 1))
    if np.nanmin(np.abs(leak - level)) > 1e-6:
        found = m.tail(level)
        assert abs(found.value - mass[leak > level].sum()) <= found.error + 1e-9, (found, level)


@case("NoiseMechanism", "NoisyLeakage", "Verdict")
def promises_about_noise(rng: np.random.Generator) -> None:
    """No channel of bins leaks more than the strongest promise of a kind that noise keeps, and it keeps that."""
    size = int(rng.integers(2, 5))
    values = np.unique(np.round(rng.normal(size=size) * 3, 3))
    if len(values) < 2:
        return
    kind = pick(rng, [*DENSITIES, "staircase"])
    p = rng.dirichlet(np.ones(len(values)))
    m = dv.NoiseMechanism(kind, dv.Prior(p, values.tolist()), scale=float(10 ** rng.uniform(-0.5, 1)))
    joint = m.binned(np.sort(rng.normal(size=8) * 4))
    for promise in (dv.PML, dv.PMC, dv.LIP, dv.LDP):
        best = promise.of(m)
        assert best.holds_for(m), (kind, best)
        at_most(promise.kind, float(promise.of(joint).epsilon), float(best.epsilon) * (1 + 1e-9) + 1e-11)
    for kind_of, measure in ((dv.PML, dv.pml), (dv.PMC, dv.pmc)):
        variable, level = measure(m), float(rng.uniform(0, 0.5))
        seen, outer = measure(joint), variable.at(values)
        assert variable.mechanism is m.subject_of(kind_of)
        at_least(f"{variable.side} at its largest", variable.max(), max(seen.max(), outer.max()) * (1 - 1e-9), 1e-12)
        if math.isfinite(variable.argmax()):
            at_most("the outcome", float(variable.at(variable.argmax())), variable.max() * (1 + 1e-9) + 1e-12)
        floor = dv.mutual_information(joint) if variable.side == "pml" else 0.0
        at_least("mean", variable.mean(), floor * (1 - 1e-9), 1e-9)
        at_most("mean", variable.mean(), variable.max() * (1 + 1e-6) + 1e-6)
        share = variable.tail(level)
        if share < 1 - 1e-3:
            at_most("quantile", variable.quantile(1 - share - 1e-6), level + 1e-4)
        sharp = kind_of(max(0.0, 0.9 * outer.max() - 1e-9)).holds_for(m)
        assert not (sharp.undecided and outer.max() > 1e-6)  # it breaks this for sure, by a value that was reached
