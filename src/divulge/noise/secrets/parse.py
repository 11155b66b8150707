"""Secrets as people write them: text, tables, samples, and scipy.stats distributions."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.arraylike import HasArray, Number
from divulge.model.prior import Prior
from divulge.noise.secrets.countable import clipped_ends, countable
from divulge.noise.secrets.secret import Secret, finite, of_logs, sample
from divulge.noise.text import as_frozen, frozen, number, numbers, require_formula, split


def from_scipy(distribution: Any, description: str) -> Secret:
    """Return a frozen scipy.stats distribution as a secret; see `countable` for discrete ones."""
    low, high = (float(v) for v in distribution.support())
    if hasattr(distribution, "logpdf") and not hasattr(distribution.dist, "pmf"):
        if not low < high:
            raise DivulgeError.of("secret", "have a support of positive length", "it", f"[{low}, {high}]")
        require_formula(distribution, "secret")
        return Secret(description, low, high, continuous=distribution)
    return countable(distribution, description)


def _values(arguments: str) -> Secret:
    pairs = [part.split(":") for part in arguments.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise DivulgeError.of("secret", "be written values(0:0.5, 1:0.5)", "it", f"values({arguments[:40]})")
    return finite([number(v, "secret") for v, _ in pairs], [number(p, "secret") for _, p in pairs])


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


class Distribution(Protocol):
    """A continuous distribution, such as one of scipy.stats."""

    def logpdf(self, x: Any) -> Any:
        """Return the log density."""
        ...

    def cdf(self, x: Any) -> Any:
        """Return the distribution function."""
        ...


SecretLike: TypeAlias = Secret | str | Prior | Distribution | Sequence[float] | HasArray
"""A Secret, its text, a Prior over numbers, a distribution, or a sample of numbers."""
Evidence: TypeAlias = tuple[float, float] | Mapping[float, Number] | Callable[[Any], Any]
"""An interval that a record lies in, or how likely what was learned is for each value."""


def as_secret(secret: Any) -> Secret:
    """Return a Secret from a Secret, text, Prior with numeric labels, scipy.stats distribution or sample of numbers."""
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
    secret = as_frozen(secret)
    if hasattr(secret, "support") and hasattr(secret, "dist"):
        arguments = ", ".join([*(f"{a:g}" for a in secret.args), *(f"{k}={v:g}" for k, v in secret.kwds.items())])
        return from_scipy(secret, f"{secret.dist.name}({arguments})")
    return sample(secret)


def parse(text: str) -> Secret:
    """Return the secret written as `name(arguments)`."""
    name, inside = split(
        text, "secret", "values(0:0.5, 1:0.5), bernoulli(0.3), uniform(-1, 1), normal(0, 1), or a scipy.stats name."
    )
    if name == "values":
        return _values(inside)
    arguments, named = numbers(inside, "secret")
    if name in NAMED and not named:
        wanted, build = NAMED[name]
        if len(arguments) != wanted:
            condition = f"have {wanted} argument(s) in {name}(...)"
            raise DivulgeError.of("secret", condition, "it", f"given {len(arguments)}")
        return build(*arguments)
    return from_scipy(frozen(name, inside, "secret"), f"{name}({inside})")


def clipped(secret: Secret, low: float, high: float) -> Secret:
    """Return the secret clipped to [low, high]: what lies outside becomes mass at the ends."""
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise DivulgeError.of("clip", "be a finite interval (low, high)", "it", f"({low}, {high})")
    low, high = float(low), float(high)
    text = f"{secret.description} clipped to [{low:g}, {high:g}]"
    if secret.values is not None and secret.probabilities is not None:
        inside = np.concatenate([[secret.low], secret.values, [secret.high]])
        with np.errstate(divide="ignore"):
            ends = np.log(clipped_ends(secret, low, high))
        logs = np.concatenate([ends[:1], secret.log_probabilities, ends[1:]])
        return of_logs(np.clip(inside, low, high), logs, text)
    below, above = float(secret.continuous.cdf(low)), float(secret.continuous.sf(high))
    if below + above >= 1:  # no record lies inside
        return finite([low, high], [below, above], text)
    atoms = tuple((v, p) for v, p in ((low, below), (high, above)) if p > 0)
    return Secret(text, max(low, secret.low), min(high, secret.high), continuous=secret.continuous, atoms=atoms)


def given(secret: Secret, evidence: Any) -> Secret:
    """Return the secret after side information: an interval that it lies in, or the likelihood of what was learned.

    The likelihood is a dict {value: P(z | value)}, values that are left out having none, or a function of the value.
    """
    if isinstance(evidence, tuple):
        ends: tuple[Any, ...] = evidence
        try:
            low, high = map(float, ends)
        except (TypeError, ValueError):
            raise DivulgeError.of("evidence", "be a pair of numbers (low, high)", "it", repr(ends)[:40]) from None
        return _restricted(secret, low, high)
    if secret.values is None or secret.probabilities is None:
        hint = "give the secret as values(...) or as a sample to weight its values."
        condition = "be an interval (low, high) for a secret with a density"
        raise DivulgeError.of("evidence", condition, "it", type(evidence).__name__, hint)
    find: Callable[[float], Any] = evidence if callable(evidence) else _looked_up(evidence)
    likelihood = np.array([float(find(float(v))) for v in secret.values.tolist()])
    if not ((likelihood >= 0) & (likelihood <= 1)).all():
        raise DivulgeError.of("evidence", "give probabilities P(z | value), from 0 to 1", "one of them", "outside")
    with np.errstate(divide="ignore"):
        weights = np.log(likelihood)
    reach = (secret.low, secret.high) if callable(evidence) and not secret.bounded else None
    return _weighted(secret, weights, f"{secret.description}, given evidence", reach)


def _weighted(secret: Secret, weights: np.ndarray, text: str, ends: tuple[float, float] | None) -> Secret:
    """Return the secret of finitely many values with their probabilities times e^weights; `ends` as of `of_logs`."""
    logs = secret.log_probabilities + weights
    total = float(np.logaddexp.reduce(logs))
    if total == -math.inf:
        raise DivulgeError.of("evidence", "be possible for some value of the secret", "its probability", "0")
    assert secret.values is not None
    if ends is None:
        return of_logs(secret.values, logs, text)
    share = math.exp(min(-total, 700.0))  # of what was left out all may remain
    x = secret.values[logs > -math.inf]
    low, below = (ends[0], min(1.0, share * secret.beyond[0])) if math.isinf(ends[0]) else (float(x[0]), 0.0)
    high, above = (ends[1], min(1.0, share * secret.beyond[1])) if math.isinf(ends[1]) else (float(x[-1]), 0.0)
    return of_logs(secret.values, logs, text, (low, high), (below, above))


def _looked_up(evidence: Any) -> Callable[[float], float]:
    try:
        known: dict[Any, Any] = dict(evidence)
        table = {float(value): float(p) for value, p in known.items()}
    except (TypeError, ValueError):
        condition = "be an interval (low, high), a dict {value: P(z | value)}, a function, or (mechanism, outcome)"
        raise DivulgeError.of("evidence", condition, "it", type(evidence).__name__) from None
    return lambda value: table.get(value, 0.0)


def _restricted(secret: Secret, low: float, high: float) -> Secret:
    """Return the secret given that it lies in [low, high]."""
    if not low < high:
        raise DivulgeError.of("evidence", "be an interval (low, high) with low < high", "it", f"({low}, {high})")
    text = f"{secret.description} in [{low:g}, {high:g}]"
    if secret.values is not None and secret.probabilities is not None:
        weights = np.where((secret.values >= low) & (secret.values <= high), 0.0, -math.inf)
        return _weighted(secret, weights, text, (max(low, secret.low), min(high, secret.high)))
    low, high = max(low, secret.low), min(high, secret.high)
    stats = require("scipy.stats", "science")
    base = secret.continuous
    reached = low < high and base.cdf(high) - base.cdf(low) > 0
    if secret.atoms or base.dist.name not in ("uniform", "norm") or not reached:
        hint = "give the secret as values(...) or as a sample."
        condition = "be an interval for a uniform or normal secret that reaches into it"
        raise DivulgeError.of("evidence", condition, "the secret", secret.description, hint)
    if base.dist.name == "uniform":
        return Secret(text, low, high, continuous=stats.uniform(low, high - low))
    mean, sd = float(base.mean()), float(base.std())
    return Secret(text, low, high, continuous=stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd))
