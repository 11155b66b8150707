"""What is protected: variables S of which the data X tells P(s | x), and the cone of columns that keep limits for them.

With c_x = P(y | x) a column says P(y | s) = sum_x P(x | s) c_x. Limits on the lifts of S limit these sums, beside the
weight q = sum_x P_x c_x; t is the largest of them, m the least, one pair for each variable.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from divulge import exact
from divulge.designing.polytope.corners import extreme_rays
from divulge.designing.polytope.limits import Limits
from divulge.designing.rounding import Checker
from divulge.errors import DivulgeError
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.joint import Joint
from divulge.model.labels import Labels
from divulge.model.prior import Prior

_SIMPLE = 10**6
"""A double that is the nearest to a fraction of a denominator up to this one stands for that fraction."""
_NEAREST = Fraction(1, 2**50)
"""How near: a few units of the last place, as after a sum and a division."""


def _fraction(value: Any) -> Fraction:
    if not isinstance(value, float):
        return Fraction(value)
    near = Fraction(value).limit_denominator(_SIMPLE)
    return near if abs(near - Fraction(value)) <= _NEAREST * near else Fraction(value)


def _distribution(values: Iterable[Any]) -> list[Fraction]:
    found = [_fraction(v) for v in values]
    total = sum(found)
    return [v / total for v in found]


@dataclass(frozen=True, eq=False)
class Law:
    """The prior of X in fractions (N,), P(s, x) of each protected variable (S, N), and limits on the lifts of each s.

    Only x and s that occur are here.
    """

    prior: np.ndarray
    joints: tuple[np.ndarray, ...]
    limits: Limits

    @classmethod
    def of(cls, prior: Prior, support: np.ndarray, given: tuple[Channel, ...], limits: Limits) -> "Law":
        """Return the law of a prior and the channels P(s | x), with exact limits.

        Of floats the limits are a little tighter, so that guarantees survive the rounding of whoever measures in them.
        """
        p = _distribution(prior.probabilities[support].tolist())
        tables = [np.array(channel.matrix.todense() if channel.sparse else channel.matrix) for channel in given]
        joints = [
            exact.as_fractions(
                [[q * v for v in _distribution(row)] for q, row in zip(p, table[support], strict=True)]
            ).T
            for table in tables
        ]
        rough = any(values.dtype != object for values in (prior.probabilities, *tables))
        slack = Fraction(len(p) + 16, 2**50) if rough else Fraction(0)
        kept = tuple(joint[(joint != 0).any(axis=1)] for joint in joints)
        return cls(exact.as_fractions(p), kept, limits.exactly_within(slack))

    @property
    def floats(self) -> np.ndarray:
        """The prior of X as floats."""
        return self.prior.astype(np.float64)

    @cached_property
    def forms(self) -> tuple[np.ndarray, ...]:
        """P(x | s) of each variable, shape (S, N), in fractions."""
        return tuple(joint / joint.sum(axis=1)[:, None] for joint in self.joints)

    @cached_property
    def weights(self) -> tuple[np.ndarray, ...]:
        """Whole numbers in proportion to P(s, x) of each variable, shape (S, N): their sums take no common divisors."""
        scales = [math.lcm(*(v.denominator for v in joint.ravel())) for joint in self.joints]
        as_integer = np.vectorize(int, otypes=[object])
        return tuple(as_integer(joint * scale) for joint, scale in zip(self.joints, scales, strict=True))

    @cached_property
    def float_forms(self) -> tuple[np.ndarray, ...]:
        """The same as floats."""
        return tuple(form.astype(np.float64) for form in self.forms)

    def rays(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (extreme columns, sums 1, shape (R, N); t of each variable, shape (R, J)) of the cone in (c, t, m).

        Under these limits any channel is a mixture of them; DivulgeError where they are too many.
        """
        n, many, limits = len(self.prior), len(self.joints), self.limits.floats()
        tops, bottoms = limits.capacity < math.inf or limits.ratio < math.inf, limits.ratio < math.inf
        size = n + many * (tops + bottoms)
        rows: list[np.ndarray] = []

        def rule(c: Any = None, t: Any = None, m: Any = None, j: int = 0) -> None:
            row = exact.as_fractions(np.zeros(size, dtype=int))
            row[:n] += 0 if c is None else c
            if t is not None:
                row[n + j] += Fraction(t)
            if m is not None:
                row[n + many + j] += Fraction(m)
            rows.append(row)

        for j, forms in enumerate(self.forms):
            for form in forms:
                if limits.high < math.inf:
                    rule(Fraction(limits.high) * self.prior - form)
                if limits.low > 0:
                    rule(form - Fraction(limits.low) * self.prior)
                if tops:
                    rule(-form, t=1, j=j)
                if bottoms:
                    rule(form, m=-1, j=j)
            if bottoms:
                rule(t=-1, m=limits.ratio, j=j)
        found = extreme_rays(rows, size)
        found = found[found[:, :n].sum(axis=1) > 0]
        columns = found[:, :n] / found[:, :n].sum(axis=1)[:, None]
        return columns, self.tops(columns)

    def tops(self, columns: np.ndarray) -> np.ndarray:
        """Return max_s P(y | s) of each variable for each row of columns (R, N), shape (R, J)."""
        return np.stack([(columns @ form.T).max(axis=1) for form in self.float_forms], axis=1)


@dataclass(frozen=True, eq=False)
class LawChecker(Checker):
    """Exact checks of integer columns (N, M) for what they say of the protected variables."""

    law: Law

    @classmethod
    def over(cls, law: Law) -> "LawChecker":
        """Return the checker of a law."""
        base = Checker.of(law.prior, Limits(Fraction(0)))
        return cls(base.prior, base.limits, law)

    def said(self, columns: np.ndarray) -> list[np.ndarray]:
        """Return P(y | s) of each variable for columns of integers, in fractions, shape (S, M)."""
        whole = columns.astype(object)
        return [exact.as_fractions(weights @ whole) / weights.sum(axis=1)[:, None] for weights in self.law.weights]

    def keeps(self, columns: np.ndarray) -> np.ndarray:
        """Say for each column whether it keeps low, high and ratio for every variable, exactly; shape (M,)."""
        limits, mean = self.law.limits, self.law.prior @ columns.astype(object)
        good = np.ones(columns.shape[1], dtype=bool)
        for said in self.said(columns):
            top, bottom = said.max(axis=0), said.min(axis=0)
            if limits.high != math.inf:
                good &= (top <= limits.high * mean).astype(bool)
            if limits.low > 0:
                good &= (bottom >= limits.low * mean).astype(bool)
            if limits.ratio != math.inf:
                good &= (top <= limits.ratio * bottom).astype(bool)
        return good

    def keeps_all(self, integers: np.ndarray) -> bool:
        """Say whether rows with one sum keep all limits, also the mean of the largest lifts, exactly."""
        capacity, whole = self.law.limits.capacity, int(integers[0].sum())
        within = capacity == math.inf or all(
            sum(said.max(axis=0).tolist()) <= capacity * whole for said in self.said(integers)
        )
        return within and bool(self.keeps(integers).all())


def independent(columns: np.ndarray, checker: LawChecker, bits: int) -> np.ndarray | None:
    """Return integers near a float channel (N, M) on which no protected variable depends at all; None where none is.

    What says nothing of S is a lattice of integer columns: the kernel of P(s, x) - P(s) P(x), with a basis of short
    vectors by the algorithm of Lenstra, Lenstra and Lovasz (1982). Entries are rounded in that basis, with a share of
    the column that says nothing, which leaves room.
    """
    from flint import fmpz_mat

    law, whole = checker.law, 2**bits
    rows = np.concatenate([joint - joint.sum(axis=1)[:, None] * law.prior for joint in law.joints])
    common = math.lcm(*(v.denominator for v in rows.ravel().tolist()))
    kernel, rank = fmpz_mat([[int(v * common) for v in row] for row in rows.tolist()]).nullspace()
    basis = [[int(kernel[x, k]) for x in range(kernel.nrows())] for k in range(rank)]
    basis = [[v // math.gcd(*row) for v in row] for row in basis]
    short = [[int(v) for v in row] for row in fmpz_mat(basis).lll().tolist()]
    if max(abs(v) for row in short for v in row) >= 2 ** (bits // 2):
        return None
    lattice = np.array(short, dtype=np.int64).T
    weights = law.floats @ columns
    share = 2.0 ** (4 - bits) * len(columns) * columns.shape[1] * float(np.abs(lattice).max())
    while share < 0.5:
        mixed = (1 - share) * columns + share * weights
        out = lattice @ np.rint(np.linalg.lstsq(lattice.astype(float), mixed * whole, rcond=None)[0]).astype(np.int64)
        last = int(weights.argmax())
        out[:, last] += whole - out.sum(axis=1)
        if (out >= 0).all() and checker.keeps_all(out):
            return out[:, out.any(axis=0)]
        share *= 4
    return None


def as_protected(protect: Any, secrets: Labels) -> tuple[Channel, ...]:
    """Return the channels P(s | x) of the variables that are protected, the rows of each in the order of the data.

    A tuple holds several; a Joint is one of S and X, of which P(s | x) is taken.
    """
    several = protect if isinstance(protect, tuple) else (protect,)
    found = tuple(
        as_channel(Joint.from_matrix(one.matrix.T, one.outcomes, one.secrets) if isinstance(one, Joint) else one)
        for one in several
    )
    if not found:
        raise DivulgeError.of("protect", "be P(s | x), or a tuple of several", "it", "empty")
    return tuple(one.aligned(secrets, "protect", "the data") for one in found)


def joint_of(prior: Prior, given: Channel, channel: Channel) -> Joint:
    """Return the joint of S and Y of a mechanism that sees X, in fractions, of the s that occur."""
    p = _distribution(prior.probabilities.tolist())
    table = given.matrix.todense() if given.sparse else given.matrix
    both = exact.as_fractions([[q * v for v in _distribution(row)] for q, row in zip(p, np.array(table), strict=True)])
    mass = both.sum(axis=0)
    occurs = np.flatnonzero(mass != 0)
    entries = exact.as_fractions(channel.matrix)
    said = (both[:, occurs] / mass[occurs]).T @ entries
    labels = [given.outcomes[s] for s in occurs.tolist()]
    return Joint(Prior(mass[occurs], labels), Channel(said, labels, channel.outcomes))
