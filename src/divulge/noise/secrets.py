"""Secrets that are numbers: finitely many values, or any scipy.stats distribution."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.prior import Prior

_NEGLIGIBLE = 1e-300
"""Mass beyond which the values of a countable secret are left out (they still count as unbounded)."""

_MOST_VALUES = 1_000_000

SMALLEST = -744.0
"""About the log of the smallest double."""


@dataclass(frozen=True, eq=False)
class Secret:
    """The distribution of one record.

    Attributes
    ----------
    description : str
        As people write it, such as "bernoulli(0.3)".
    low, high : float
        Ends of the support; -inf, +inf where it has none.
    values, probabilities : float64 arrays of shape (K,), or None
        The atoms, in rising order; None for a continuous secret.
    continuous : frozen scipy.stats distribution, or None
        Its density holds inside (low, high).
    atoms : pairs (value, mass)
        Mass that clipping has moved to the ends of a continuous secret.
    """

    description: str
    low: float
    high: float
    values: np.ndarray | None = None
    probabilities: np.ndarray | None = None
    continuous: Any = None
    atoms: tuple[tuple[float, float], ...] = ()

    @property
    def bounded(self) -> bool:
        """Whether the support is bounded on both sides."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def log_concave(self) -> bool:
        """Whether the secret is known to have a log-concave density."""
        if self.continuous is None or self.atoms:
            return False
        return LOG_CONCAVE.get(self.continuous.dist.name, lambda x: False)(self.continuous)

    def mean(self) -> float:
        """Return E X; NaN where it does not exist."""
        if self.values is not None and self.probabilities is not None:
            return float(self.probabilities @ self.values)
        if not self.atoms:
            return float(self.continuous.mean())
        from divulge.noise.quadrature import expectation

        shift = self.low
        body = expectation(self, lambda x: x - shift)[0]
        return shift + body + math.fsum(p * (v - shift) for v, p in self.atoms)

    def density(self, x: np.ndarray) -> np.ndarray:
        """Return the density of a continuous secret, by its log: some densities raise where they are very large."""
        with np.errstate(all="ignore"):
            return np.exp(self.continuous.logpdf(x))

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log of `density`, where that itself is below the smallest double.

        Where scipy has no log density, it ends there: see `ends_with_doubles`.
        """
        own = LOG_DENSITIES.get(self.continuous.dist.name)
        if own is not None:
            return own(self.continuous, x)
        with np.errstate(all="ignore"):
            found = self.continuous.logpdf(x)
        if self.ends_with_doubles:
            found = np.where((x > self.low) & (x < self.high), np.maximum(found, SMALLEST), found)
        return found

    @property
    def ends_with_doubles(self) -> bool:
        """Whether scipy takes the log of the density; one below the smallest double then counts as that."""
        from scipy.stats import rv_continuous

        family: Any = self.continuous.dist
        home = next(c for c in type(family).__mro__ if "_logpdf" in vars(c))
        return family.name not in LOG_DENSITIES and home is rv_continuous

    def cumulant(self, t: float) -> float:
        """Return k(t) = log E e^{tX}; +inf where the expectation diverges."""
        end = self.high if t > 0 else self.low
        return self.log_tilted(t)[0] + (t * end if math.isfinite(end) else 0.0)

    def log_tilted(self, t: float) -> tuple[float, float]:
        """Return (log E e^{t (X - end)}, an estimate of its error) for the `end` where e^{tX} is largest, or 0 if none.

        The error is 0, but for rounding, where the expectation is a sum or has a closed form.
        """
        end = self.high if t > 0 else self.low
        end = end if math.isfinite(end) else 0.0
        if self.values is not None and self.probabilities is not None:
            from scipy.special import logsumexp

            total: Any = logsumexp(t * (self.values - end), b=self.probabilities)
            return float(total), 0.0
        closed = LOG_TILTED.get(self.continuous.dist.name)
        if closed is not None and not self.atoms:
            return closed(self.continuous, t), 0.0
        from divulge.noise.quadrature import expectation

        body, error = expectation(self, lambda x: np.exp(t * (x - end)))
        total = body + math.fsum(p * math.exp(t * (v - end)) for v, p in self.atoms)
        if not total > 0:
            raise DivulgeError.of(
                "scale", "be wide enough for the secret's exponential moment to be a double", "E e^(tX) at t",
                f"{t:.3g}", "measure the secret and the noise in another unit, or use wider noise.",
            )  # fmt: skip
        return math.log(total), error / total


def _normal_tilted(x: Any, t: float) -> float:
    return t * float(x.mean()) + 0.5 * (t * float(x.std())) ** 2


def _uniform_tilted(x: Any, t: float) -> float:
    """log((1 - e^{-h}) / h) for h = |t| (high - low)."""
    low, high = (float(end) for end in x.support())
    h = abs(t) * (high - low)
    return math.log(-math.expm1(-h) / h) if h else 0.0


LOG_TILTED: dict[str, Callable[[Any, float], float]] = {"norm": _normal_tilted, "uniform": _uniform_tilted}
"""scipy name -> (frozen distribution, t) -> `Secret.log_tilted` in closed form."""


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
        raise DivulgeError.of(
            "secret", f"have a probability for each of its {len(x)} values", "there are", str(len(prior))
        )
    atoms, where = np.unique(x, return_inverse=True)
    p = np.bincount(where, weights=prior.floats)
    atoms, p = atoms[p > 0], p[p > 0]
    text = description or "values(" + ", ".join(f"{a:g}:{b:g}" for a, b in zip(atoms, p, strict=True)) + ")"
    return Secret(text, float(atoms[0]), float(atoms[-1]), atoms, p)


def counted(counts: Mapping[Any, int], description: str) -> Secret:
    """Return the empirical distribution of numbers given with their counts; a value that is not a number is refused."""
    try:
        values = np.array([float(value) for value in counts])
    except (TypeError, ValueError):
        raise DivulgeError.of(
            "secret", "hold numbers only", f"a value of {description}", "missing or no number"
        ) from None
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


def from_scipy(distribution: Any, description: str) -> Secret:
    """Return a frozen scipy.stats distribution as a secret; a countable one keeps all but 1e-300 of its mass."""
    low, high = (float(v) for v in distribution.support())
    if hasattr(distribution, "logpdf") and not hasattr(distribution.dist, "pmf"):
        if not low < high:
            raise DivulgeError.of("secret", "have a support of positive length", "it", f"[{low}, {high}]")
        far = float(distribution.isf(1e-3))
        if not distribution.cdf(far + 100 * (far - float(distribution.ppf(1e-3)))) <= 1:
            raise DivulgeError.of(
                "secret", "have a distribution function that ends at 1", description, "periodic",
                "use scipy's vonmises_line in place of vonmises.",
            )  # fmt: skip
        return Secret(description, low, high, continuous=distribution)
    first = low if math.isfinite(low) else -_last(lambda k: distribution.logcdf(-k), -float(distribution.ppf(0.5)))
    last = high if math.isfinite(high) else _last(distribution.logsf, float(distribution.ppf(0.5)))
    if not last - first <= _MOST_VALUES:
        raise DivulgeError.of("secret", f"have at most {_MOST_VALUES} values that matter", "it", description)
    x = np.arange(first, last + 1)
    p = distribution.pmf(x)
    x, p = x[p > 0], p[p > 0]
    return Secret(description, low, high, x, p / p.sum())


def _last(log_beyond: Any, middle: float) -> float:
    """Return a whole number above `middle` with a negligible mass beyond it."""
    reach = 1.0
    while float(log_beyond(middle + reach)) > math.log(_NEGLIGIBLE) and reach < 10 * _MOST_VALUES:
        reach *= 2
    return math.floor(middle + reach)


def _number(text: str) -> float:
    try:
        if "/" in text:
            above, below = text.split("/")
            number = float(above) / float(below)
        else:
            number = float(text)
        if not math.isfinite(number):
            raise ValueError
        return number
    except (ValueError, ZeroDivisionError):
        raise DivulgeError.of(
            "secret", "have finite numbers as arguments", "an argument", repr(text.strip()[:20])
        ) from None


def _arguments(text: str) -> tuple[list[float], dict[str, float]]:
    """Return the numbers in "2, scale=3" by place and by name."""
    parts = [part.rpartition("=") for part in text.split(",")] if text else []
    named = {name.strip(): _number(value) for name, equals, value in parts if equals}
    return [_number(value) for _, equals, value in parts if not equals], named


def _values(arguments: str) -> Secret:
    pairs = [part.split(":") for part in arguments.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise DivulgeError.of("secret", "be written values(0:0.5, 1:0.5)", "it", f"values({arguments[:40]})")
    return finite([_number(v) for v, _ in pairs], [_number(p) for _, p in pairs])


def _bernoulli(p: float) -> Secret:
    if not 0 <= p <= 1:
        raise DivulgeError.of("secret", "have a probability in [0, 1]", "it", str(p))
    return finite([0.0, 1.0], [1 - p, p], f"bernoulli({p:g})")


def _uniform(low: float, high: float) -> Secret:
    if not low < high:
        raise DivulgeError.of("secret", "have low < high in uniform(low, high)", "it", f"uniform({low:g}, {high:g})")
    stats = require("scipy.stats", "science")
    return Secret(f"uniform({low:g}, {high:g})", low, high, continuous=stats.uniform(low, high - low))


def normal(mean: float, sd: float) -> Secret:
    """Return the normal secret."""
    if not sd > 0:
        raise DivulgeError.of("secret", "have a positive standard deviation", "it", str(sd))
    stats = require("scipy.stats", "science")
    return Secret(f"normal({mean:g}, {sd:g})", -math.inf, math.inf, continuous=stats.norm(mean, sd))


NAMED: dict[str, tuple[int, Any]] = {
    "bernoulli": (1, _bernoulli),
    "rademacher": (0, lambda: finite([-1.0, 1.0], [0.5, 0.5], "rademacher()")),
    "uniform": (2, _uniform),
    "normal": (2, normal),
}
"""Name -> (number of arguments, builder). Any other name is looked up in scipy.stats."""


def as_secret(secret: Any) -> Secret:
    """Return a Secret from a Secret, text, Prior with numeric labels, frozen scipy distribution, or sample of numbers.

    Examples
    --------
    >>> as_secret("values(0:1/4, 1:3/4)").probabilities.tolist()
    [0.25, 0.75]
    >>> as_secret("uniform(-1, 1)").bounded
    True
    """
    if isinstance(secret, Secret):
        return secret
    if isinstance(secret, str):
        return parse(secret)
    if isinstance(secret, Prior):
        labels: list[Any] = list(secret.secrets)
        try:
            numbers = [float(label) for label in labels]
        except (TypeError, ValueError):
            raise DivulgeError.of("secret", "have numbers as labels", "a label", "not a number") from None
        return finite(numbers, secret.floats)
    if hasattr(secret, "support") and hasattr(secret, "dist"):
        arguments = ", ".join([*(f"{a:g}" for a in secret.args), *(f"{k}={v:g}" for k, v in secret.kwds.items())])
        return from_scipy(secret, f"{secret.dist.name}({arguments})")
    return sample(secret)


def parse(text: str) -> Secret:
    """Return the secret written as `name(arguments)`."""
    match = re.fullmatch(r"\s*([A-Za-z_][\w-]*)\s*\((.*)\)\s*", text)
    if match is None:
        raise DivulgeError.of(
            "secret", "be written name(arguments)", "it", repr(text[:40]),
            "values(0:0.5, 1:0.5), bernoulli(0.3), uniform(-1, 1), normal(0, 1), or a scipy.stats name.",
        )  # fmt: skip
    name, inside = match.group(1).lower(), match.group(2).strip()
    if name == "values":
        return _values(inside)
    arguments, named = _arguments(inside)
    if name in NAMED and not named:
        wanted, build = NAMED[name]
        if len(arguments) != wanted:
            raise DivulgeError.of(
                "secret", f"have {wanted} argument(s) in {name}(...)", "it", f"given {len(arguments)}"
            )
        return build(*arguments)
    stats = require("scipy.stats", "science")
    family: Any = getattr(stats, name, None)
    if not isinstance(family, (stats.rv_continuous, stats.rv_discrete)):
        raise DivulgeError.of("secret", "name a known distribution", "it", repr(name[:40]))
    try:
        frozen: Any = family(*arguments, **named)
        if not np.isfinite(frozen.support()[0]) and np.isnan(frozen.support()[0]):
            raise ValueError
    except (TypeError, ValueError):
        raise DivulgeError.of(
            "secret", f"have legal arguments for scipy.stats.{name}", "they are", inside[:60]
        ) from None
    return from_scipy(frozen, f"{name}({inside})")


def clipped(secret: Secret, low: float, high: float) -> Secret:
    """Return the secret clipped to [low, high]: what lies outside becomes mass at the ends."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise DivulgeError.of("clip", "be a finite interval (low, high)", "it", f"({low}, {high})")
    low, high = float(low), float(high)
    text = f"{secret.description} clipped to [{low:g}, {high:g}]"
    if secret.values is not None and secret.probabilities is not None:
        return finite(np.clip(secret.values, low, high), secret.probabilities, text)
    below, above = float(secret.continuous.cdf(low)), float(secret.continuous.sf(high))
    if below + above >= 1:  # no record lies inside
        return finite([low, high], [below, above], text)
    atoms = tuple((v, p) for v, p in ((low, below), (high, above)) if p > 0)
    return Secret(text, max(low, secret.low), min(high, secret.high), continuous=secret.continuous, atoms=atoms)
