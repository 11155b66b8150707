"""Metric privacy: near secrets are hard to tell apart, far ones easy."""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from divulge import exact
from divulge.guarantees.deciding.levels import Level, Witness
from divulge.guarantees.deciding.rational import Rational
from divulge.guarantees.guarantee import Guarantee, Released
from divulge.guarantees.terms import kind_of_guarantee, number, parameter
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, of_noise
from divulge.model.joint import Joint
from divulge.model.metrics.metric import Metric
from divulge.model.metrics.quantities import per_unit
from divulge.model.shown import named, promised
from divulge.ties import first_largest
from divulge.units import Unit

_ULPS = 2.0**-50
"""Rounding error of log C, relative to its size: 4 ulps, of the logarithm and of the sum of a row."""

_CELLS = 1 << 22
"""Differences of log probabilities that are looked at together: 32 megabytes."""


@kind_of_guarantee
class MetricPrivacy(Guarantee):
    """epsilon-metric privacy: C_xy <= e^(epsilon d(x, x')) C_x'y for all x, x' and y; epsilon is a rate per distance.

    Also called d-privacy, and geo-indistinguishability where d is a distance on the map. epsilon has a unit where the
    metric has one: `MetricPrivacy("1/km", metric)`; a bare number is per unit of the metric.

    Examples
    --------
    >>> line = dv.Metric.line(3)
    >>> geometric = [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]]
    >>> [MetricPrivacy(level, line).holds_for(geometric).holds for level in (0.69, 0.70)]  # log 2 = 0.693
    [False, True]
    """

    epsilon: float | Fraction = parameter(converter=number)
    metric: Metric
    kind = "metric"
    title = "metric privacy"
    sentence = (
        "No outcome is more than {exp_epsilon} times as likely from one place as from another that is a distance of 1 "
        "away, and more for those further away: the factor is e^({epsilon} distance) ({metric})."
    )
    about = "channel"
    index = ("metric",)
    forms = (("epsilon",),)

    def __post_init__(self) -> None:
        if isinstance(self.epsilon, str):
            object.__setattr__(self, "epsilon", per_unit(self.epsilon, getattr(self.metric, "unit", "")))
        super().__post_init__()

    @classmethod
    def of(cls, released: Released, metric: Metric | None = None, **index: Any) -> Self:
        """Return the least rate that a mechanism keeps about a metric, rounded up.

        Of noise on a number, and no metric, the rate per unit of that number.

        Examples
        --------
        >>> level = MetricPrivacy.of([["3/4", "1/4"], ["1/4", "3/4"]], dv.Metric.line(2, step=2))
        >>> round(level.epsilon, 6)  # log 3 over a distance of 2
        0.549306
        """
        noise: Any = of_noise(released)
        if metric is None and hasattr(noise, "metric_rate"):
            return cls(math.nextafter(noise.metric_rate, math.inf), _of_record(noise.secret))
        return super().of(released, **({} if metric is None else {"metric": metric}), **index)

    def levels(self, subject: Channel | Joint) -> tuple[Level, ...]:
        channel = as_channel(subject)
        return (_level(channel, self.metric.reordered(channel.secrets)),)

    @property
    def rate(self) -> str:
        """epsilon with its unit, such as "1/km"."""
        return str(self).removeprefix(f"{self.kind}=")

    def _written(self, text: Callable[[str, Any], str]) -> str:
        """Return the guarantee as on the command line, where the metric stands behind --distance."""
        per = f"/{self.metric.unit}" if self.metric.unit else ""
        return f"{self.kind}={text('epsilon', self.epsilon)}{per}"

    def _in(self, unit: Unit) -> Self:
        return self if unit == "nats" else replace(self, epsilon=super().to_dict(unit)["epsilon"])

    def to_dict(self, unit: Unit = "nats") -> dict[str, Any]:
        """Return {"kind", "epsilon", "metric", "per"}: the metric by its name, and what epsilon is per, "" for none.

        Examples
        --------
        >>> MetricPrivacy(1, dv.Metric.grid(3, 3, step="500m")).to_dict()
        {'kind': 'metric', 'epsilon': 1.0, 'metric': 'grid of 3 x 3, step 1/2 km', 'per': 'km'}
        """
        return {**super().to_dict(unit), "metric": self.metric.name, "per": self.metric.unit}

    def __add__(self, other: Any) -> "MetricPrivacy":
        """Return what two releases about one place keep together: distances, each times its epsilon, add up."""
        if not isinstance(other, MetricPrivacy):
            return NotImplemented
        if self.metric == other.metric:
            return MetricPrivacy(_sum_up(self.epsilon, other.epsilon), self.metric)
        return MetricPrivacy(1, _both(self, other))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.rate!r}, {self.metric.name})"


def _of_record(secret: Any) -> Metric:
    """Return the line between the ends of a record, or of two numbers 1 apart where it has none."""
    ends = secret.low, secret.high
    return Metric.line(ends) if math.isfinite(ends[1] - ends[0]) and ends[0] < ends[1] else Metric.line(2)


def _sum_up(a: Any, b: Any) -> Any:
    """Return the sum of two levels, rounded up where it is no exact number."""
    if any(isinstance(v, float) and v == float("inf") for v in (a, b)):
        return float("inf")
    return exact.round_up(exact.arb(Fraction(a) + Fraction(b))) if isinstance(a + b, float) else a + b


def _both(one: MetricPrivacy, other: MetricPrivacy) -> Metric:
    """Return the metric epsilon d + epsilon' d', each distance rounded up."""
    second = other.metric.reordered(one.metric.labels, "metric")
    first = one.metric
    distances: dict[tuple[int, int], float] = {}
    import flint

    with flint.ctx.workprec(192):
        for a, b in np.unique(np.column_stack([first.classes.ravel(), second.classes.ravel()]), axis=0).tolist():
            total = exact.ball(one.epsilon) * first.length(a) + exact.ball(other.epsilon) * second.length(b)
            distances[a, b] = exact.round_up(total) if a or b else 0.0
    pairs = zip(first.classes.ravel().tolist(), second.classes.ravel().tolist(), strict=True)
    matrix = np.array([distances[pair] for pair in pairs]).reshape(first.classes.shape)
    return Metric.of(matrix, None if isinstance(first.labels, range) else first.labels)


def _level(channel: Channel, metric: Metric) -> Level:
    """Return the level of max over pairs and outcomes of log(C_xy / C_x'y) / d(x, x').

    Pairs with a place exactly between them say no more than those they are made of. Doubles find the pairs and outcomes
    near the largest; of these the largest ratio of each distance is found among fractions, and its logarithm taken.
    """
    i, j = metric.pairs
    if not len(i):
        return Level(0.0, lambda: exact.arb(0), 0.0, Witness(adversary="There is one place only."))
    logs = _logs(channel)
    margin = _ULPS * (2 + float(np.abs(logs[np.isfinite(logs)]).max()))
    distances = metric.floats[metric.classes[i, j]]
    tops = np.concatenate([
        np.abs(_differences(logs, i[part], j[part])).max(axis=1) / distances[part]
        for part in np.array_split(np.arange(len(i)), -(-len(i) * logs.shape[1] // _CELLS))
    ])  # fmt: skip
    place = first_largest(tops.tolist())
    top = float(tops.max())
    with np.errstate(invalid="ignore"):
        column = np.abs(_differences(logs, i[place : place + 1], j[place : place + 1]))[0]
    y = first_largest(column.tolist())
    a, b = (int(i[place]), int(j[place])) if logs[i[place], y] >= logs[j[place], y] else (int(j[place]), int(i[place]))
    witness = _witness(channel, metric, a, b, y, top)
    if top == np.inf:
        return Level(np.inf, None, 0.0, witness)
    off = 2 * margin / distances
    near = np.flatnonzero(tops + off >= (tops - off).max())
    exactly = _Exactly(channel, metric, logs, (i[near], j[near]), float((tops - off).max()), margin)
    if channel.exact:
        return Level(exact.correctly_rounded(exactly), exactly, 0.0, witness)
    return Level(top, exactly, float(off[near].max()), witness, exactly.cover, len(near) * logs.shape[1])


def _logs(channel: Channel) -> np.ndarray:
    """Return log C_xy, of floats over the sum of the row."""
    matrix = channel.floats.toarray() if channel.sparse else channel.floats
    with np.errstate(divide="ignore"):
        logs = np.log(matrix)
    if channel.exact:
        return logs
    return logs - np.log([math.fsum(row) for row in matrix.tolist()])[:, None]


def _differences(logs: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return log C_iy - log C_jy; 0 where both are impossible."""
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(logs[i] - logs[j], nan=0.0, posinf=np.inf, neginf=-np.inf)


class _Exactly:
    """Encloses the level: of the pairs near it, the largest ratio at each distance, as fractions."""

    def __init__(
        self, channel: Channel, metric: Metric, logs: np.ndarray, pairs: Any, least: float, margin: float
    ) -> None:
        self._channel, self._metric, self._logs = channel, metric, logs
        self._pairs, self._least, self._margin = pairs, least, margin
        self._found: dict[int, Fraction] | None = None

    @property
    def ratios(self) -> dict[int, Fraction]:
        """Which distance -> the largest ratio of probabilities that far apart, among those near the level."""
        if self._found is None:
            twin = Rational.of(self._channel)
            columns: dict[int, list[Fraction]] = {}
            found: dict[int, Fraction] = {}
            for a, b in zip(*(part.tolist() for part in self._pairs), strict=True):
                k = int(self._metric.classes[a, b])
                differences = _differences(self._logs, np.array([a]), np.array([b]))[0]
                bound = self._least * float(self._metric.floats[k])
                for y in np.flatnonzero(np.abs(differences) >= bound - 2 * self._margin).tolist():
                    column = columns.setdefault(y, twin.column(y)) if y not in columns else columns[y]
                    high, low = (column[a], column[b]) if column[a] >= column[b] else (column[b], column[a])
                    if low:
                        found[k] = max(found.get(k, Fraction(1)), high / low)
            self._found = found or {1: Fraction(1)}
        return self._found

    def __call__(self) -> Any:
        balls = [exact.arb(ratio).log() / self._metric.length(k) for k, ratio in self.ratios.items()]
        largest = balls[0]
        for one in balls[1:]:
            largest = largest.max(one)
        return largest

    def cover(self) -> Fraction:
        """Return what covers float entries as they stand: that of a ratio, over the least distance."""
        return Rational.of(self._channel).cover / Fraction(self._metric.least) * 2


def _witness(channel: Channel, metric: Metric, a: int, b: int, y: int, top: float) -> Witness:
    x, other, outcome = channel.secrets[a], channel.secrets[b], channel.outcomes[y]
    apart = f"{metric.matrix[a, b]:.6g}" + (f" {metric.unit}" if metric.unit else "")
    one, two, seen = named(x), named(other), named(outcome)
    if top == np.inf:
        text = f"{seen} comes up under {one} and never under {two}, {apart} away."
        return Witness(outcome, x, other, text)
    high, low = (channel.matrix[[i]].toarray().ravel()[y] if channel.sparse else channel.matrix[i, y] for i in (a, b))
    ratio = high / low if low else 1
    per = f" per {metric.unit}" if metric.unit else " per unit of distance"
    text = (
        f"{seen} is {promised(ratio)} times as likely under {one} as under {two}, {apart} away: {promised(top)}{per}."
    )
    return Witness(outcome, x, other, text)
