"""The distribution of one record: finitely many values, or a density and mass at its ends."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.prior import Prior
from divulge.noise.direct import log_density_of

SMALLEST = -744.0
"""About the log of the smallest double."""

_LARGEST = 1e300
"""How far from 0 the ends of a secret may lie: the distance of any two values is a double then."""


@dataclass(frozen=True, eq=False)
class Secret:
    """The distribution of one record: values in rising order with their probabilities, or a continuous one."""

    description: str  # as people write it, such as "bernoulli(0.3)"
    low: float
    high: float
    values: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    continuous: Any = None  # frozen scipy.stats distribution whose density holds inside (low, high)
    atoms: tuple[tuple[float, float], ...] = ()  # (value, mass) that clipping moved to the ends of a continuous one
    logs: np.ndarray | None = None  # of the probabilities, where some are below the smallest double
    beyond: tuple[float, float] = (0.0, 0.0)  # bounds the mass of values left out below the first and above the last

    def __post_init__(self) -> None:
        if self.bounded and not max(abs(self.low), abs(self.high)) <= _LARGEST:
            hint = "measure the secret and the noise in a larger unit."
            end = f"{max(self.low, self.high, key=abs):.3g}"
            raise DivulgeError.of("secret", f"lie within {_LARGEST:g} of 0", "an end of it", end, hint)

    @property
    def bounded(self) -> bool:
        """Whether the support is bounded on both sides."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def log_probabilities(self) -> np.ndarray:
        """Return the logs of the probabilities of finitely many values."""
        assert self.probabilities is not None
        return np.log(self.probabilities) if self.logs is None else self.logs

    @property
    def log_concave(self) -> bool:
        """Whether the secret is known to have a log-concave density."""
        if self.continuous is None or self.atoms:
            return False
        return LOG_CONCAVE.get(self.continuous.dist.name, lambda x: False)(self.continuous)

    @cached_property
    def _logged(self) -> Callable[[Any], Any]:
        return log_density_of(self.continuous)

    def density(self, x: np.ndarray) -> np.ndarray:
        """Return the density of a continuous secret, by its log: some densities raise where they are very large."""
        with np.errstate(all="ignore"):
            return np.exp(self._logged(x))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log of `density`, where that itself is below the smallest double.

        Where scipy has no log density, it ends there: see `ends_with_doubles`.
        """
        own = LOG_DENSITIES.get(self.continuous.dist.name)
        if own is not None:
            return own(self.continuous, x)
        with np.errstate(all="ignore"):
            found = self._logged(x)
        if self.ends_with_doubles:
            found = np.where((x > self.low) & (x < self.high), np.maximum(found, SMALLEST), found)
        return found

    @property
    def ends_with_doubles(self) -> bool:
        """Whether scipy takes the log of the density; one below the smallest double then counts as that."""
        return self.continuous.dist.name not in LOG_DENSITIES and logs_its_density(self.continuous)


def logs_its_density(distribution: Any) -> bool:
    """Say whether scipy takes the log of the density of a frozen distribution, which underflows."""
    return next(c for c in type(distribution.dist).__mro__ if "_logpdf" in vars(c)).__name__ == "rv_continuous"


def _laplace_log_density(x: Any, at: np.ndarray) -> np.ndarray:
    b = float(x.std()) / math.sqrt(2)
    return -np.abs(at - float(x.mean())) / b - math.log(2 * b)


LOG_DENSITIES: dict[str, Callable[[Any, np.ndarray], np.ndarray]] = {"laplace": _laplace_log_density}
"""scipy name -> (frozen distribution, x) -> log density, where scipy's own ends with the smallest double."""

LOG_CONCAVE: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("uniform", "norm", "truncnorm", "triang", "truncexpon", "semicircular"), lambda x: True),
    "beta": lambda x: len(x.args) >= 2 and min(x.args[:2]) >= 1,
}
"""scipy name -> whether this distribution has a log-concave density; others are taken to have none."""


def finite(values: Any, probabilities: Any, description: str | None = None) -> Secret:
    """Return the secret with these atoms; equal values are merged, values of probability 0 dropped."""
    x = np.asarray(values, dtype=np.float64).ravel()
    if not np.isfinite(x).all():
        raise DivulgeError.of("secret", "have finite values", "a value", str(x[~np.isfinite(x)][0]))
    prior = Prior(np.asarray(probabilities, dtype=np.float64).ravel())
    if len(x) != len(prior):
        condition = f"have a probability for each of its {len(x)} values"
        raise DivulgeError.of("secret", condition, "there are", str(len(prior)))
    atoms, where = np.unique(x, return_inverse=True)
    p = np.bincount(where, weights=prior.floats)
    atoms, p = atoms[p > 0], p[p > 0]
    text = description or "values(" + ", ".join(f"{a:g}:{b:g}" for a, b in zip(atoms, p, strict=True)) + ")"
    return Secret(text, float(atoms[0]), float(atoms[-1]), atoms, p)


def of_logs(
    values: np.ndarray,
    logs: np.ndarray,
    description: str,
    ends: tuple[float, float] | None = None,
    beyond: tuple[float, float] = (0.0, 0.0),
) -> Secret:
    """Return the secret with these values, some equal maybe, and weights; what lies `beyond` counts as one of them.

    `ends` are those of the support where they are not the first and the last value.
    """
    x, where = np.unique(values[logs > -math.inf], return_inverse=True)
    weights = np.full(len(x), -math.inf)
    np.logaddexp.at(weights, where, logs[logs > -math.inf])
    weights = weights - np.logaddexp.reduce(weights)
    low, high = (float(x[0]), float(x[-1])) if ends is None else ends
    p = np.exp(weights)
    return Secret(description, low, high, x, p, logs=None if p.min() > 0 else weights, beyond=beyond)


def counted(counts: Mapping[Any, int], description: str) -> Secret:
    """Return the empirical distribution of numbers given with their counts; a value that is not a number is refused."""
    try:
        values = np.array([float(value) for value in counts])
    except (TypeError, ValueError):
        condition = "hold numbers only"
        raise DivulgeError.of("secret", condition, f"a value of {description}", "missing or no number") from None
    weights = np.array(list(counts.values()), dtype=np.float64)
    return finite(values, weights / weights.sum(), description)


def sample(data: Any, description: str = "sample") -> Secret:
    """Return the empirical distribution of a sample of numbers."""
    try:
        x = np.asarray(data, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise DivulgeError.of("secret", "be a sample of numbers", "it", type(data).__name__) from None
    if not (x.size and np.isfinite(x).all()):
        raise DivulgeError.of("secret", "be a non-empty sample of finite numbers", "it", "empty or not finite")
    values, counts = np.unique(x, return_counts=True)
    return counted(dict(zip(values.tolist(), counts.tolist(), strict=True)), description)
