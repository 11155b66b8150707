"""What stands for a mechanism beside random real mechanisms that it stands for, measured here by sums alone.

Every subject comes with pairs of rows that lie below it; every question with the truth of such a pair.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import laplace, norm

import divulge as dv

Row = np.ndarray
EPSILONS, DELTAS, ORDERS = (0.0, 0.3, 1.2), (1e-5, 0.02, 0.3), (1.5, 2.0, 3.0, 8.0)


# --- real mechanisms, measured by sums


def delta(p: Row, q: Row, epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def log_ratio(p: Row, q: Row) -> Row:
    with np.errstate(divide="ignore"):
        return np.where(p > 0, np.log(p) - np.log(q), -math.inf)


def tail(p: Row, q: Row, epsilon: float) -> float:
    return float(p[log_ratio(p, q) > epsilon + 1e-12].sum())


def least_epsilon(p: Row, q: Row, at_most: float) -> float:
    """Return the least epsilon with delta(epsilon) <= at_most, by halving."""
    low, high = 0.0, 60.0
    if delta(p, q, low) <= at_most:
        return 0.0
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (low, middle) if delta(p, q, middle) <= at_most else (middle, high)
    return high


def renyi(p: Row, q: Row, alpha: float) -> float:
    seen = p > 0
    if (q[seen] == 0).any():
        return math.inf
    ratio = log_ratio(p, q)[seen]
    if alpha == 1:
        return float(p[seen] @ ratio)
    h = alpha - 1
    top = float(ratio.max())
    return top + math.log(float(p[seen] @ np.exp(h * (ratio - top)))) / h


def divergence(p: Row, q: Row, f: Callable[[Row], Row]) -> float:
    return float(q @ f(p / q))


def information(p: Row, q: Row) -> float:
    def lost(w: float) -> float:
        mixture = w * p + (1 - w) * q
        return -(w * renyi(p, mixture, 1) + (1 - w) * renyi(q, mixture, 1))

    return -float(minimize_scalar(lost, bounds=(0, 1), method="bounded").fun)


def spread(p: Row, q: Row) -> float:
    centered = log_ratio(p, q) - renyi(p, q, 1)
    slopes = np.concatenate([-np.geomspace(1e-3, 30, 60), np.geomspace(1e-3, 30, 60)])
    return max(math.sqrt(max(0.0, 2 * math.log(float(p @ np.exp(s * centered))))) / abs(s) for s in slopes)


def errors(p: Row, q: Row) -> tuple[Row, Row]:
    """Return the corners (alpha, beta) of the trade-off of the best tests."""
    rising = np.argsort(log_ratio(p, q))
    return np.append(0, np.cumsum(p[rising])), np.append(1, 1 - np.cumsum(q[rising]))


def gaussian_mu(p: Row, q: Row) -> float:
    alpha, beta = errors(p, q)
    inside = (alpha > 1e-12) & (beta > 1e-12) & (alpha < 1 - 1e-12)
    return max(0.0, float((norm.isf(alpha[inside]) - norm.ppf(beta[inside])).max(initial=0.0)))


def zcdp(p: Row, q: Row) -> float:
    orders = 1 + np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 300)])
    return max(renyi(p, q, a) / a for a in orders)


def relaxed(p: Row, q: Row, epsilon: float, outside: float) -> float:
    """Return the delta left once the outcomes of largest loss, `outside` in all, are set aside."""
    gained, left = 0.0, outside
    for y in np.argsort(-log_ratio(p, q)):
        gone = min(left, p[y])
        left -= gone
        gained += max(0.0, (p[y] - gone) * (1 - math.exp(epsilon - log_ratio(p, q)[y]))) if p[y] > gone else 0.0
    return gained


def _square(r: Row) -> Row:
    return (r - 1) ** 2


class Answers:
    """What `divulge.dp` answers about a subject: each question is asked once, for all mechanisms it stands for."""

    def __init__(self, subject: Any) -> None:
        self.subject, self.known = subject, {}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def asked(*options: Any, **named: Any) -> Any:
            key = (name, options, tuple(named.items()))
            if key not in self.known:
                self.known[key] = getattr(dv.dp, name)(self.subject, *options, **named)
            return self.known[key]

        return asked


Check = Callable[[Answers, Row, Row], list[tuple[float, float]]]
"""What a subject answers and the truth of a mechanism it stands for: pairs (answer, truth), answer >= truth."""

CHECKS: dict[str, Check] = {
    "delta_from_epsilon": lambda s, p, q: [(s.delta_from_epsilon(e).value, delta(p, q, e)) for e in EPSILONS],
    "epsilon_from_delta": lambda s, p, q: [(s.epsilon_from_delta(d).value, least_epsilon(p, q, d)) for d in DELTAS],
    "total_variation": lambda s, p, q: [(s.total_variation().value, delta(p, q, 0.0))],
    "renyi_dp": lambda s, p, q: [(s.renyi_dp(a).value, renyi(p, q, a)) for a in ORDERS],
    "renyi_order": lambda s, p, q: [(0.3, renyi(p, q, a)) for a in [s.renyi_order(0.3).value] if 1 <= a < math.inf],
    "kl_privacy": lambda s, p, q: [(s.kl_privacy().value, renyi(p, q, 1))],
    "f_divergence": lambda s, p, q: [
        (s.f_divergence("chi-squared").value, divergence(p, q, _square)),
        (s.f_divergence("kl").value, renyi(p, q, 1)),
        (s.f_divergence("hellinger").value, divergence(p, q, lambda r: (np.sqrt(r) - 1) ** 2)),
        (s.f_divergence("jensen-shannon").value, (renyi(p, (p + q) / 2, 1) + renyi(q, (p + q) / 2, 1)) / 2),
        (s.f_divergence(_square).value, divergence(p, q, _square)),
    ],
    "abs_chi": lambda s, p, q: [
        (s.abs_chi(a).value, divergence(p, q, lambda r, a=a: np.abs(r - 1) ** a) ** (1 / a)) for a in (1, 2, 3)
    ],
    "zcdp_rho": lambda s, p, q: [(s.zcdp_rho().value, zcdp(p, q))],
    "zcdp_xi": lambda s, p, q: [
        (s.zcdp_xi(0.05, up_to=8).value, max(renyi(p, q, a) - 0.05 * a for a in np.linspace(1.001, 8, 50)))
    ],
    "approximate_zcdp_rho": lambda s, p, q: [  # what is left once delta is gone keeps no less than this much
        (s.approximate_zcdp_rho(0.05).value, max(0.0, delta(p, q, 0.0) - 0.05) ** 2 * 2)
    ],
    "truncated_cdp": lambda s, p, q: [
        (s.truncated_cdp().rho, zcdp(p, q)),
        (s.truncated_cdp().xi, renyi(p, q, 1e4)),
    ],
    "trade_off": lambda s, p, q: [
        (float(np.interp(a, *errors(p, q))), float(s.trade_off()(a))) for a in (0.01, 0.1, 0.5)
    ],
    "gaussian_dp": lambda s, p, q: [(s.gaussian_dp().value, gaussian_mu(p, q))],
    "mutual_information_dp": lambda s, p, q: [(s.mutual_information_dp().upper, information(p, q))],
    "tail_from_epsilon": lambda s, p, q: [(s.tail_from_epsilon(e).value, tail(p, q, e)) for e in (-0.2, *EPSILONS)],
    "epsilon_from_tail": lambda s, p, q: [(d, tail(p, q, s.epsilon_from_tail(d).value)) for d in DELTAS],
    "relaxed_delta": lambda s, p, q: [
        (s.relaxed_delta(e, o).value, relaxed(p, q, e, o)) for e in EPSILONS for o in (0.001, 0.05)
    ],
    "mean_concentrated": lambda s, p, q: [
        (s.mean_concentrated().tau, spread(p, q)),
        (s.mean_concentrated().mu, renyi(p, q, 1)),
    ],
}


# --- subjects, each with mechanisms that it stands for


def random_rows(rng: np.random.Generator, n: int, m: int = 4) -> Row:
    """Return rows that are alike but for a factor, with outcomes that hardly occur: promises at their edge."""
    base = np.exp(rng.normal(0, rng.choice([0.5, 3.0]), m))
    rows = base * np.exp(rng.normal(0, rng.choice([0.1, 0.5, 1.5]), (n, m)))
    return rows / rows.sum(axis=1, keepdims=True)


def promise_of(rows: list[tuple[Row, Row]], kind: str) -> Any:
    """Return the strongest promise of a kind that all pairs keep, in both orders."""
    pairs = [*rows, *((q, p) for p, q in rows)]
    slack = 1 + 1e-9
    if kind == "pure":
        return dv.dp.AdpRelease(max(float(log_ratio(p, q).max()) for p, q in pairs) * slack)
    if kind == "adp":
        return dv.dp.AdpRelease(max(least_epsilon(p, q, 0.01) for p, q in pairs) * slack + 1e-12, 0.01)
    if kind == "zcdp":
        return dv.dp.ZcdpRelease(max(zcdp(p, q) for p, q in pairs) * (1 + 1e-4))
    orders = (1.5, 3.0, 10.0)
    return dv.dp.RenyiRelease(orders, tuple(max(renyi(p, q, a) for p, q in pairs) * slack for a in orders))


Drawn = tuple[Any, list[tuple[Row, Row]]]


def promised(kind: str) -> Callable[[np.random.Generator], Drawn]:
    def draw(rng: np.random.Generator) -> Drawn:
        p, q = random_rows(rng, 2)
        return promise_of([(p, q)], kind), [(p, q)]

    return draw


def poisson(kind: str, rate: float) -> Callable[[np.random.Generator], Drawn]:
    """A mechanism on subsets of {other, record}; the other record is sampled too."""

    def draw(rng: np.random.Generator) -> Drawn:
        none, other, record, both = random_rows(rng, 4)
        neighbors = [(none, other), (none, record), (other, both), (record, both)]
        without = (1 - rate) * none + rate * other
        present = (1 - rate) * record + rate * both
        release = dv.dp.PoissonSampled(promise_of(neighbors, kind), rate)
        alone = (1 - rate) * none + rate * record
        return release, [((1 - rate) * without + rate * present, without), (alone, none)]

    return draw


def fixed(kind: str) -> Callable[[np.random.Generator], Drawn]:
    """A mechanism on one of two records, one of which is replaced."""

    def draw(rng: np.random.Generator) -> Drawn:
        a, b, c = random_rows(rng, 3)
        release = dv.dp.FixedSizeSampled(promise_of([(a, b), (b, c), (a, c)], kind), 1, 2)
        return release, [((a + c) / 2, (b + c) / 2)]

    return draw


def exponential(rng: np.random.Generator) -> Drawn:
    epsilon = float(rng.choice([0.5, 1.0, 4.0]))
    u = rng.normal(0, 2, 6)
    rows = np.exp(epsilon / 2 * np.array([u, u + rng.choice([-1, 1, 0.3], 6)]))
    p, q = rows / rows.sum(axis=1, keepdims=True)
    return dv.dp.ExponentialMechanism(epsilon), [(p, q)]


def binned(law: Any, centers: Row, weights: Row, sigma: float) -> Row:
    edges = np.concatenate([[-np.inf], np.linspace(-4 * sigma, 4 * sigma + 2, 40), [np.inf]])
    masses = np.diff(law.cdf((edges[:, None] - centers) / sigma), axis=0)
    return np.maximum(masses @ weights, 1e-300)


def sampled_noise(rng: np.random.Generator) -> Drawn:
    """Noise on a sampled sum in bins: a sensitivity below the largest, another record that is sampled as well."""
    sigma, rate, reach = 1.0, float(rng.choice([0.05, 0.5])), float(rng.choice([0.2, 0.7, 1.0]))
    kind, law = [(dv.dp.GaussianMechanism, norm), (dv.dp.LaplaceMechanism, laplace)][int(rng.integers(2))]
    other = float(rng.choice([0.0, 0.8]))
    q = binned(law, np.array([0.0, other]), np.array([1 - rate, rate]), sigma)
    p = binned(law, np.array([reach, other + reach]), np.array([1 - rate, rate]), sigma)
    return dv.dp.PoissonSampled(kind(sigma), rate), [((1 - rate) * q + rate * p, q)]


def noise_below(rng: np.random.Generator) -> Drawn:
    """Named noise on a query of a sensitivity below the one given, in bins that hold its losses nearly."""
    reach = float(rng.choice([0.1, 0.5, 1.0]))
    kind, law = [(dv.dp.GaussianMechanism, norm), (dv.dp.LaplaceMechanism, laplace)][int(rng.integers(2))]
    one = np.ones(1)
    return kind(1.0), [(binned(law, np.array([reach]), one, 1.0), binned(law, np.zeros(1), one, 1.0))]


def in_hand(rng: np.random.Generator) -> Drawn:
    p, q = random_rows(rng, 2)
    return dv.Channel([p, q]), [(p, q)]


SUBJECTS: dict[str, Callable[[np.random.Generator], Drawn]] = {
    "channel": in_hand,
    "noise of a smaller sensitivity": noise_below,
    "exponential": exponential,
    "sampled noise": sampled_noise,
    **{f"promise {kind}": promised(kind) for kind in ("pure", "adp", "zcdp", "renyi")},
    **{f"sampled {kind}": poisson(kind, 0.3) for kind in ("pure", "adp", "zcdp", "renyi")},
    **{f"fixed-size {kind}": fixed(kind) for kind in ("adp", "zcdp", "renyi")},
}


NOT_CLOSED = {"tail_from_epsilon", "epsilon_from_tail", "relaxed_delta"}
"""What merging outcomes can raise: bins of noise are no oracle for these."""


def walked(name: str, seed: int, draws: int, functions: list[str]) -> None:
    """Hold every answer of random subjects against the mechanisms that they stand for, in both orders."""
    for draw in range(draws):
        rng = np.random.default_rng([seed, draw])
        subject, pairs = SUBJECTS[name](rng)
        answers = Answers(subject)
        for p, q in [*pairs, *((q, p) for p, q in pairs)]:
            for function in functions:
                if function in NOT_CLOSED and name == "noise of a smaller sensitivity":
                    continue
                for answer, truth in CHECKS[function](answers, p, q):
                    assert answer >= truth * (1 - 1e-7) - 1e-12, (function, subject, answer, truth, seed, draw)


SLOW = {"approximate_zcdp_rho", "mutual_information_dp", "zcdp_rho", "zcdp_xi", "truncated_cdp", "mean_concentrated"}
