"""The law of the outcome: log f(y | x), its best and worst secret, and log f(y), in the log domain throughout."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.closed import CLOSED_FORMS
from divulge.noise.families import Noise
from divulge.noise.quadrature import log_mixture, window
from divulge.noise.secrets import Secret
from divulge.noise.sums import sums

_SAME = 1e-12
"""Locations that differ by less than this share of their span are one."""

_CHUNK = 4_000_000


@dataclass(frozen=True)
class End:
    """The limits as y goes to `at`, +inf or -inf, of the logs that a law gives; of pml(y) and pmc(y)."""

    at: float
    best: float
    outcome: float
    worst: float

    @property
    def pml(self) -> float:
        """Return the limit of pml(y)."""
        return self.best - self.outcome

    @property
    def pmc(self) -> float:
        """Return the limit of pmc(y)."""
        return self.outcome - self.worst


class Law(Protocol):
    """What the measures need: everything vectorized over y and in logs, relative to `log_reference(y)`."""

    @property
    def noise(self) -> Noise:
        """The noise that is added."""
        ...

    @property
    def low(self) -> float:
        """The smallest location it is added to, maybe -inf."""
        ...

    @property
    def high(self) -> float:
        """The largest location it is added to, maybe +inf."""
        ...

    @property
    def bounded(self) -> bool:
        """Whether the secret is bounded on both sides."""
        ...

    def center(self, y: np.ndarray) -> np.ndarray:
        """Return where the noise is centered that all logs are relative to; outside the data, their nearer end."""
        ...

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        """Return what was taken out of all other logs so that they keep their digits far out."""
        ...

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (sup over secrets of log f(y | x), the secret)."""
        ...

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (inf over secrets of log f(y | x), the secret)."""
        ...

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y)."""
        ...

    def log_density(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y) itself, the reference put back."""
        ...

    def error(self, y: np.ndarray) -> np.ndarray:
        """Return a bound on the error of log_best - log_outcome and of log_outcome - log_worst (0: rounding only)."""
        ...

    def ends(self) -> list[End]:
        """Return the limits as y leaves the data behind; none where the noise has no limiting ratio."""
        ...


def logsumexp(a: np.ndarray, axis: int = -1) -> np.ndarray:
    """Return log sum exp along an axis; -inf where all are."""
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.log(np.sum(np.exp(a - top), axis=axis)) + np.squeeze(top, axis=axis)


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Finitely many secrets x_i, locations x_i + r_j: the record's share plus that of the other records.

    `values`: the secrets; `shares`: their contribution to the location; `others`, `log_others`: the locations the other
    records add, with log probabilities. `slack` bounds how far rounding a continuous secret moved things.
    """

    noise: Noise
    values: np.ndarray
    log_prior: np.ndarray
    shares: np.ndarray
    others: np.ndarray
    log_others: np.ndarray
    log_all: np.ndarray
    all_locations: np.ndarray
    slack: float = 0.0
    secret: Secret | None = None
    """The continuous secret that was rounded, if one was."""
    bounded: bool = True
    """False for a countable secret, whose far values are left out."""

    @property
    def low(self) -> float:
        return float(self.shares.min() + self.others.min())

    @property
    def high(self) -> float:
        return float(self.shares.max() + self.others.max())

    @cached_property
    def locations(self) -> np.ndarray:
        """Every location that can occur; those that differ by rounding only count once."""
        x = np.unique((self.shares[:, None] + self.others[None, :]).ravel())
        return x[np.diff(x, prepend=-math.inf) > _SAME * (x[-1] - x[0])]

    def log_given(self, y: np.ndarray) -> np.ndarray:
        """Return log f(y | x_i), shape (len(y), K)."""
        y = np.asarray(y, dtype=np.float64).ravel()
        center = self.center(y)
        if len(self.others) == 1:
            return self.noise.relative(y[:, None], (self.shares + self.others[0])[None, :], center[:, None])
        out = np.empty((len(y), len(self.values)))
        rows = max(1, _CHUNK // len(self.others))
        for start in range(0, len(y), rows):
            part, near = y[start : start + rows, None], center[start : start + rows, None]
            for i, share in enumerate(self.shares):
                given = self.noise.relative(part, share + self.others[None, :], near)
                out[start : start + rows, i] = logsumexp(given + self.log_others)
        return out

    def center(self, y: np.ndarray) -> np.ndarray:
        """Return the location nearest to y."""
        return self.locations[self._at(y)]

    def _at(self, y: np.ndarray) -> np.ndarray:
        x = self.locations
        if len(x) == 1:
            return np.zeros(len(y), dtype=int)
        after = np.clip(np.searchsorted(x, y), 1, len(x) - 1)
        return after - (y - x[after - 1] < x[after] - y)

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        return self.noise.reference(y, self.center(y))

    def _nearest(self, y: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.noise.relative(y, self.locations[at], self.center(y)), self.values[at]

    @property
    def _falls_with_distance(self) -> bool:
        return len(self.others) == 1 and self.noise.unimodal and len(self.values) > 8

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self._falls_with_distance:
            y = np.asarray(y, dtype=np.float64).ravel()
            return self._nearest(y, self._at(y))
        given = self.log_given(y)
        at = given.argmax(axis=1)
        return given[np.arange(len(given)), at], self.values[at]

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if not self.bounded:
            assert self.secret is not None
            size = np.asarray(y).size
            return np.full(size, -math.inf), np.full(size, math.inf if self.secret.high == math.inf else -math.inf)
        if self._falls_with_distance:
            y = np.asarray(y, dtype=np.float64).ravel()
            return self._nearest(y, np.where(y - self.low > self.high - y, 0, len(self.values) - 1))
        given = self.log_given(y)
        at = given.argmin(axis=1)
        return given[np.arange(len(given)), at], self.values[at]

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        center = self.center(y)
        if self.noise.kind in ("laplace", "discrete-laplace") and len(self.all_locations) > 8:
            return self._laplace_outcome(y)
        out = np.empty(len(y))
        rows = max(1, _CHUNK // len(self.all_locations))
        for start in range(0, len(y), rows):
            part = slice(start, start + rows)
            given = self.noise.relative(y[part, None], self.all_locations[None, :], center[part, None])
            out[part] = logsumexp(given + self.log_all)
        return out

    @cached_property
    def _one_sided(self) -> tuple[np.ndarray, np.ndarray]:
        """sum over x_i <= x_j of P_i e^-(x_j - x_i)/b, and over x_i >= x_j, by a recursion along the locations."""
        decay = np.exp(-np.diff(self.all_locations) / self.noise.parameters["scale"]).tolist()
        p = np.exp(self.log_all).tolist()
        left, right = list(p), list(p)
        for j in range(1, len(p)):
            left[j] += left[j - 1] * decay[j - 1]
        for j in range(len(p) - 2, -1, -1):
            right[j] += right[j + 1] * decay[j]
        return np.array(left), np.array(right)

    def _laplace_outcome(self, y: np.ndarray) -> np.ndarray:
        """Laplace noise: what lies left of y and what lies right of it decay alike; beyond the data nothing changes."""
        (left, right), x, b = self._one_sided, self.all_locations, self.noise.parameters["scale"]
        inside = np.clip(y, x[0], x[-1])
        apart = np.abs(inside - self.center(y)) / b
        at = np.clip(np.searchsorted(x, inside, side="right") - 1, 0, len(x) - 2)
        with np.errstate(divide="ignore"):
            return np.logaddexp(
                np.log(left[at]) - (inside - x[at]) / b + apart,
                np.log(right[at + 1]) - (x[at + 1] - inside) / b + apart,
            )

    def log_density(self, y: np.ndarray) -> np.ndarray:
        return self.log_outcome(y) + self.log_reference(y)

    def ends(self) -> list[End]:
        tilt = self.noise.end_ratio
        if tilt is None:
            return []
        if not self.bounded:
            return [End(sign * math.inf, math.inf, 0.0, -math.inf) for sign in (1.0, -1.0)]
        if self.secret is not None:
            return tilted_ends(self.noise, self.secret, round(self.values[-1] / self.shares[-1]))
        out: list[End] = []
        for sign in (1.0, -1.0):
            shares, others = sign * self.shares, sign * self.others
            top = shares.max() + others.max()
            same = _SAME * (self.high - self.low)

            def limit(location: np.ndarray, top: float = top, same: float = same) -> np.ndarray:
                distance = top - location
                return tilt(np.where(distance > same, distance, 0.0))

            if len(others) == 1:
                given = limit(shares + others[0])
            else:
                given = np.array([logsumexp(self.log_others + limit(s + others)) for s in shares])
            outcome = float(logsumexp(self.log_all + limit(sign * self.all_locations)))
            out.append(End(sign * math.inf, float(given.max()), outcome, float(given.min())))
        return out

    def error(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        if self.slack == 0.0:
            return np.zeros(len(y))
        if math.isfinite(self.noise.steepest):
            return np.full(len(y), self.noise.steepest * self.slack)
        far = np.maximum(np.abs(y - self.low), np.abs(y - self.high)) + self.slack
        return far * self.slack / self.noise.parameters["scale"] ** 2


@dataclass(frozen=True, eq=False)
class ContinuousLaw:
    """One record with a density: the outcome's density by adaptive quadrature."""

    noise: Noise
    secret: Secret

    @property
    def bounded(self) -> bool:
        return self.secret.bounded

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        y = np.asarray(y, dtype=np.float64).ravel()
        return self.noise.reference(y, self.center(y))

    def center(self, y: np.ndarray) -> np.ndarray:
        return np.clip(y, self.low, self.high)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        return self.log_outcome(y) + self.log_reference(y)

    @property
    def low(self) -> float:
        return self.secret.low

    @property
    def high(self) -> float:
        return self.secret.high

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64).ravel()
        x = self.center(y) if self.noise.unimodal else self._searched(y, np.argmax)
        return self.noise.relative(y, x, self.center(y)), x

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64).ravel()
        if not self.secret.bounded:
            far = np.where(math.isfinite(self.low), math.inf, -math.inf) * np.ones(len(y))
            return np.full(len(y), -math.inf), far
        if not self.noise.unimodal:
            x = self._searched(y, np.argmin)
        else:
            x = np.where(y - self.low > self.high - y, self.low, self.high)
        return self.noise.relative(y, x, self.center(y)), x

    def ends(self) -> list[End]:
        return tilted_ends(self.noise, self.secret, 1)

    def _searched(self, y: np.ndarray, pick: Any) -> np.ndarray:
        grid = np.linspace(*window(self.secret), 4097)
        return np.array([grid[int(pick(self.noise.log_density(v - grid)))] for v in y])

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        return self._outcome(np.asarray(y, dtype=np.float64).ravel())[0]

    def error(self, y: np.ndarray) -> np.ndarray:
        return self._outcome(np.asarray(y, dtype=np.float64).ravel())[1]

    @property
    def closed(self) -> Any:
        """The closed form of log f(y), or None."""
        return None if self.secret.atoms else CLOSED_FORMS.get((self.secret.continuous.dist.name, self.noise.kind))

    def _outcome(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        if self.closed is not None:
            return self.closed(self.secret.continuous, self.noise, y), np.zeros(len(y))
        center = self.center(y)
        log_f, error = log_mixture(
            self.secret, self.noise, y, self.log_best(y)[0], lambda x, row: self.noise.relative(y[row], x, center[row])
        )
        for value, mass in self.secret.atoms:
            log_f = np.logaddexp(log_f, math.log(mass) + self.noise.relative(y, np.full(len(y), value), center))
        return log_f, error


@dataclass(frozen=True, eq=False)
class NormalLaw:
    """The mean of n normal records plus Gaussian noise: everything is normal."""

    noise: Noise
    mean: float
    sd: float
    records: int
    low: float = -math.inf
    high: float = math.inf
    bounded: bool = False

    def center(self, y: np.ndarray) -> np.ndarray:
        return np.asarray(y, dtype=np.float64).ravel()

    def log_reference(self, y: np.ndarray) -> np.ndarray:
        return np.zeros(np.asarray(y).size)

    def log_density(self, y: np.ndarray) -> np.ndarray:
        return self.log_outcome(y)

    @property
    def given_sd(self) -> float:
        n, s = self.records, self.noise.parameters["scale"]
        return math.hypot(math.sqrt(n - 1) * self.sd / n, s)

    @property
    def outcome_sd(self) -> float:
        return math.hypot(self.sd / math.sqrt(self.records), self.noise.parameters["scale"])

    def log_best(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64).ravel()
        x = self.records * (y - (self.records - 1) / self.records * self.mean)
        return np.full(len(y), -math.log(self.given_sd) - 0.5 * math.log(2 * math.pi)), x

    def log_worst(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        y = np.asarray(y, dtype=np.float64).ravel()
        return np.full(len(y), -math.inf), np.full(len(y), -math.inf)

    def log_outcome(self, y: np.ndarray) -> np.ndarray:
        z = (np.asarray(y, dtype=np.float64).ravel() - self.mean) / self.outcome_sd
        return -0.5 * z**2 - math.log(self.outcome_sd) - 0.5 * math.log(2 * math.pi)

    def error(self, y: np.ndarray) -> np.ndarray:
        return np.zeros(np.asarray(y).size)

    def ends(self) -> list[End]:
        return [End(sign * math.inf, math.inf, 0.0, -math.inf) for sign in (1.0, -1.0)]


def tilted_ends(noise: Noise, secret: Secret, records: int) -> list[End]:
    """Return the limits for a continuous secret, by its cumulant generating function k.

    With exponential tails of slope 1/b, theta = 1/(n b): pml -> hi theta - k(theta), pmc -> k(theta) - lo theta, and
    the mirror image at -inf. A ratio that tends to 0 singles out the end of the support, which has no mass.
    """
    if noise.end_ratio is None:
        return []
    slope = -float(noise.end_ratio(np.array([1.0]))[0])
    if not secret.bounded or slope == math.inf:
        mass = dict(secret.atoms)
        rarity = [-math.log(mass[v]) if v in mass else math.inf for v in (secret.high, secret.low)]
        return [End(math.inf, rarity[0], 0.0, -math.inf), End(-math.inf, rarity[1], 0.0, -math.inf)]
    theta = slope / records
    up, down = secret.cumulant(theta), secret.cumulant(-theta)
    return [
        End(math.inf, secret.high * theta, up, secret.low * theta),
        End(-math.inf, -secret.low * theta, down, -secret.high * theta),
    ]


def law_of(noise: Noise, secret: Secret, records: int) -> Law:
    """Return the law of (mean of `records` independent records) + noise, about one record."""
    if secret.values is not None and secret.probabilities is not None:
        law = finite_law(noise, secret.values, secret.probabilities, records)
        return law if secret.bounded else replace(law, secret=secret, bounded=False)
    if records == 1:
        if noise.step is not None:
            raise DivulgeError.of(
                "secret", f"have finitely many values on a lattice for {noise.kind} noise", "it", secret.description
            )
        return ContinuousLaw(noise, secret)
    if secret.continuous.dist.name == "norm" and noise.kind == "gaussian":
        return NormalLaw(noise, float(secret.continuous.mean()), float(secret.continuous.std()), records)
    if not secret.bounded or (not math.isfinite(noise.steepest) and noise.kind != "gaussian"):
        raise DivulgeError.of(
            "records", "be 1 for this secret and noise", "it", str(records),
            "clip the records to an interval, or use a normal secret with Gaussian noise.",
        )  # fmt: skip
    return _rounded_law(noise, secret, records)


def _rounded_law(noise: Noise, secret: Secret, records: int) -> FiniteLaw:
    """Round every record to the middle of a cell: the mean moves by at most half a cell, which bounds the error."""
    cells = int(min(2000, max(64, 8000 // records)))
    edges = np.linspace(secret.low, secret.high, cells + 1)
    mass = np.diff(secret.continuous.cdf(edges))
    for value, weight in secret.atoms:
        mass[0 if value == secret.low else -1] += weight
    law = finite_law(noise, (edges[1:] + edges[:-1]) / 2, mass, records, on_lattice=True)
    values = np.linspace(secret.low, secret.high, 65)
    between = np.concatenate([[secret.low], (values[1:] + values[:-1]) / 2, [secret.high]])
    share = np.diff(np.interp(between, edges, np.concatenate([[0.0], np.cumsum(mass)])))
    width = (secret.high - secret.low) / cells
    slack = width + (secret.high - secret.low) / (128 * records)
    return FiniteLaw(
        noise, values, np.log(share / share.sum()), values / records, law.others, law.log_others, law.log_all,
        law.all_locations, slack, secret,
    )  # fmt: skip


def finite_law(
    noise: Noise, values: np.ndarray, probabilities: np.ndarray, records: int, *, on_lattice: bool = False
) -> FiniteLaw:
    """Return the law for a secret with finitely many values."""
    with np.errstate(divide="ignore"):
        log_prior = np.log(probabilities)
    if records == 1:
        law = FiniteLaw(
            noise, values, log_prior, values, np.zeros(1), np.zeros(1), log_prior, values.astype(np.float64)
        )  # fmt: skip
    else:
        other_sums, log_p = sums(values, probabilities, records - 1, on_lattice)
        all_sums, log_all = sums(values, probabilities, records, on_lattice)
        law = FiniteLaw(
            noise, values, log_prior, values / records, other_sums / records, log_p, log_all, all_sums / records
        )  # fmt: skip
    if noise.step is not None:
        _check_lattice(law.locations, noise)
    return law


def _check_lattice(locations: np.ndarray, noise: Noise) -> None:
    steps = (locations - locations[0]) / noise.step
    if not (np.abs(steps - np.round(steps)) <= 1e-9).all():
        raise DivulgeError.of(
            "secret", f"have locations on one lattice of step {noise.step:g} for {noise.kind} noise", "a location",
            "off it", "choose the noise's step to divide the distances between the values (1/n for a mean of n).",
        )  # fmt: skip
