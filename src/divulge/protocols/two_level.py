"""A channel of two levels over many values, which is never written out: its levels, and what needs no prior."""

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError, number_of
from divulge.late import late
from divulge.model.arraylike import Number
from divulge.model.channel import Channel
from divulge.model.entries import scalar
from divulge.model.labels import Labels, labels_at
from divulge.model.shown import Shown, promised
from divulge.protocols.sets.family import Sets

WRITTEN = 1 << 20
"""Entries up to which a protocol is written out as a channel: a thousand values, a second of work."""

TEXTS = 1 << 62
"""The size of what stands for all texts; no list of values is as long."""


@dataclass(frozen=True, repr=False)
class TwoLevel(Shown):
    """P(y | x) = mu(y) a where x is in the set S_y of the outcome, else mu(y) b; see `Protocol`."""

    name: str
    values: Labels
    epsilon: float
    ratio: Fraction
    sets: Sets

    def __repr__(self) -> str:
        over = "text" if self.of_text else number_of(self.size, "value")
        return f"{self.name} over {over}: ldp at most {promised(self.ldp)}"

    @property
    def size(self) -> int:
        """The number of values K."""
        return self.sets.size

    @property
    def of_text(self) -> bool:
        """Whether there is no list of values: any text goes through."""
        return len(self.values) == TEXTS

    @property
    def hashed(self) -> bool:
        """Whether a report has the seed of a hash, and the bucket of a value or of its prefix."""
        return self.name in ("local-hashing", "prefix-extension")

    def __len__(self) -> int:
        return self.size

    @property
    def q(self) -> Fraction:
        """mu(x in S), the same for every value."""
        return self.sets.q

    @cached_property
    def b(self) -> Fraction:
        """The lower level, 1 / (1 + q (a/b - 1))."""
        return 1 / (1 + self.q * (self.ratio - 1))

    @property
    def a(self) -> Fraction:
        """The upper level."""
        return self.ratio * self.b

    @cached_property
    def ldp(self) -> float:
        """The epsilon of local differential privacy, log a/b rounded up, in nats; never above the one asked for."""
        import flint

        with flint.ctx.workprec(256):
            return exact.round_up(exact.ball(self.ratio).log()) if self.ratio > 1 else 0.0

    @property
    def bits(self) -> float:
        """How many bits a report has (of local hashing with a seed of its own for each)."""
        return self.sets.bits

    @property
    def p_star(self) -> Fraction:
        """P(x in S | x): how often a report supports the value of its sender."""
        return self.a * self.q

    @property
    def q_star(self) -> Fraction:
        """P(x' in S | x): how often a report supports another value."""
        return (self.a - self.b) * self.sets.both + self.b * self.q

    def variance(self, frequency: Number = 0, n: int = 1) -> float:
        """Return the variance of the estimate of a frequency from n reports, for fixed values.

        [f p*(1 - p*) + (1 - f) q*(1 - q*)] / (n (p* - q*)^2). Of prefixes of m lengths a whole text stands in n/m
        reports alone: m times as much, and f(1 - f)(m - 1)/n for whose these are.

        Parameters
        ----------
        frequency : float or Fraction in [0, 1]
        n : int
            Number of reports.

        Returns
        -------
        float

        References
        ----------
        Wang, Blocki, Li, Jha, "Locally differentially private protocols for frequency estimation", 2017.

        Examples
        --------
        >>> round(dv.protocols.unary(10, 1.0).variance(0), 6)  # 4 e / (e - 1)^2
        3.682694
        """
        f = Fraction(scalar(frequency, "frequency")) if not isinstance(frequency, Fraction) else frequency
        if not 0 <= f <= 1:
            raise DivulgeError.of("frequency", "be in [0, 1]", "it", str(frequency))
        p, q, m = self.p_star, self.q_star, self.sets.levels
        drawn, chosen = m * (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (p - q) ** 2, (m - 1) * f * (1 - f)
        return float((drawn + chosen) / n)

    def bayes_capacity(self) -> Fraction:
        """Return sum_y max_x P(y | x) = a (1 - mu(empty)) + b mu(empty), a Fraction in [1, e^epsilon].

        Examples
        --------
        >>> round(float(dv.protocols.randomized_response(2, 1.0).bayes_capacity()), 6)  # 2 e / (e + 1)
        1.462117
        """
        empty = self.sets.empty
        return self.a * (1 - empty) + self.b * empty

    @property
    def written(self) -> bool:
        """Whether the matrix has so few entries that it is written out where there is no closed form."""
        count = self.sets.count()
        return count is not None and count * self.size <= WRITTEN

    def channel(self) -> Channel:
        """Return the matrix, exact: of local hashing with an ideal hash; refused beyond a million entries.

        Examples
        --------
        >>> dv.protocols.randomized_response(2, 1.0).channel().shape
        (2, 2)
        """
        count = self.sets.count()
        if not self.written or count is None:
            raise DivulgeError.of(
                "protocol", f"have at most {WRITTEN:,} entries to be written out as a matrix", "their number",
                f"{self.size:,} values times {'2^' + str(self.size) if count is None else format(count, ',')} reports",
                "pml, pmc, lift, lip, alip, ldp, mutual_information, bayes_capacity, maximal_leakage, "
                "bayes_vulnerability and guarantees of them have closed forms, which need no matrix.",
            )  # fmt: skip
        names, weights, members = self.sets.listed()
        high, low = (np.array([w * level for w in weights], dtype=object) for level in (self.a, self.b))
        return Channel(np.where(members, high[:, None], low[:, None]).T, self.values, [self.named(y) for y in names])

    def named(self, outcome: Hashable) -> Hashable:
        """Return an outcome under the labels of the values: a value, a tuple of values, or the number of a report.

        Examples
        --------
        >>> dv.protocols.randomized_response(["a", "b"], 1.0).named(1)
        'b'
        """
        if isinstance(outcome, tuple):
            return labels_at(self.values, np.array(outcome, dtype=np.int64))
        return labels_at(self.values, np.array([outcome]))[0] if self.sets.outcomes_are_values else outcome

    def losses(self) -> tuple[Any, ...]:
        """Return the privacy losses of every two values, which are those of one pair: what `dv.dp` takes.

        Examples
        --------
        >>> round(dv.dp.delta_from_epsilon(dv.protocols.hadamard(10**6, 1.0), 0.5).value, 6)  # (a - e^0.5 b) / 4
        0.143825
        """
        alone = self.q - self.sets.both
        one = [self.a * alone, self.b * alone]
        rows = [np.array([*pair, 1 - sum(pair)], dtype=object) for pair in (one, one[::-1])]
        atoms: Any = late("divulge.dp.loss.atoms:AtomicLoss")
        loss = atoms.of_rows(*rows, tuple(labels_at(self.values, np.arange(2))))
        return loss, loss.reverse()
