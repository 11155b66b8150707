"""Many small channels at once: a stack of shape (B, N, M), each with a prior, measured in a few passes of NumPy."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from divulge.errors import DivulgeError
from divulge.measures.numeric.convex import kl_term
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.measures.pointwise.density import log_ratio, pmc, pml
from divulge.model.accepted import Claim
from divulge.model.channel import Channel
from divulge.model.entries import CLEAN, FAINT, normalized
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.units import Unit, nats_per

_NEAR_MEAN = 1e-2
"""Within this relative distance of the mean of its column, an end is measured from it with more care."""

_SMALL = 1e-2
"""Below this share of its terms, or so many nats, a difference of sums is computed anew from non-negative terms."""

_DECIDED = 1e-9
"""A level that is this near to a bound is decided exactly, one channel at a time."""


class Stack:
    """Channels of one shape, each with its prior: float64 arrays, measured together as each alone would be.

    A single call on a small mechanism costs tens of microseconds in names, checks and labels; who compares thousands
    of them asks a stack. Fractions are rounded; what is decided exactly is decided by the doubles that the entries are.

    Parameters
    ----------
    channels : array_like of shape (B, N, M), or a list of Channel of one shape
        Entries at least 0, rows of sum 1 within 1e-9.
    priors : array_like of shape (B, N) or (N,), optional
        Uniform when not given.

    Raises
    ------
    DivulgeError
        Naming the channel, the row and the column, or the prior, where an entry or a sum is none of a distribution.

    Examples
    --------
    >>> two = Stack([[[0.75, 0.25], [0.25, 0.75]], [[1.0, 0.0], [0.5, 0.5]]])
    >>> two.pml().max(axis=1).round(6).tolist(), two.ldp().round(6).tolist()
    ([0.405465, 0.693147], [1.098612, inf])
    """

    def __init__(self, channels: Sequence[Channel] | ArrayLike, priors: ArrayLike | None = None) -> None:
        given: Any = channels
        listed = isinstance(given, (list, tuple)) and any(isinstance(one, Channel) for one in given)
        c = _floats([one.floats if isinstance(one, Channel) else one for one in given] if listed else given,
                    "channels", 3)  # fmt: skip
        count, n, m = c.shape
        _normalized(c.reshape(-1, m), "channels", lambda i: "have rows that sum to" if i < 0 else _row(i, n))
        self.c: np.ndarray = c
        if priors is None:
            p = np.full((count, n), 1.0 / n)
        else:
            p = _floats(priors, "priors", np.ndim(priors) if np.ndim(priors) in (1, 2) else 2)
            if p.shape not in ((n,), (count, n)):
                raise DivulgeError.of("priors", f"have the shape ({n},) or ({count}, {n})", "it", str(p.shape))
            _normalized(
                p.reshape(-1, n), "priors", lambda i: "have rows that sum to" if i < 0 else f"prior {i} sums to"
            )
        self.p: np.ndarray = np.ascontiguousarray(np.broadcast_to(p, (count, n)))

    def __len__(self) -> int:
        return len(self.c)

    @cached_property
    def outer(self) -> np.ndarray:
        """The distributions of the outcomes, shape (B, M)."""
        found = np.einsum("bn,bnm->bm", self.p, self.c)
        return np.clip(found, self._ends[1], self._ends[0])

    @cached_property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest and the smallest entry of each column over the secrets that can occur, shape (B, M)."""
        if (self.p > 0).all():
            return self._all_ends
        out = (self.p == 0)[:, :, None]
        return _over_secrets(np.maximum, np.where(out, -np.inf, self.c)), _over_secrets(
            np.minimum, np.where(out, np.inf, self.c)
        )

    @cached_property
    def _all_ends(self) -> tuple[np.ndarray, np.ndarray]:
        """The same over all secrets."""
        return _over_secrets(np.maximum, self.c), _over_secrets(np.minimum, self.c)

    def _from_mean(self, ends: np.ndarray) -> np.ndarray:
        """Return |ends - q|, where they nearly meet as a mean of distances."""
        gap = np.abs(ends - self.outer)
        close = np.nonzero(gap < _NEAR_MEAN * self.outer)
        if len(close[0]):
            columns = self.c[close[0], :, close[1]]
            gap[close] = np.einsum("ij,ij->i", self.p[close[0]], np.abs(columns - ends[close][:, None]))
        return gap

    def _where(self, logs: np.ndarray, measure: Callable[[Joint, Unit], Pointwise], unit: Unit) -> np.ndarray:
        """Return logarithms of ratios to q, NaN where it is 0; of channels in which q loses digits what each says."""
        found = np.where(self.outer > 0, logs, np.nan)
        for i in np.flatnonzero(((self.outer < FAINT) & (self._ends[0] > 0)).any(axis=1)).tolist():
            alone = measure(Joint(Prior(self.p[i]), Channel(self.c[i])), unit)
            positions: Any = list(alone.outcomes)
            found[i] = np.nan
            found[i, positions] = alone.values
        return found

    def pml(self, unit: Unit = "nats") -> np.ndarray:
        """Return the pointwise maximal leakage of each outcome, shape (B, M); NaN of one that never occurs.

        Examples
        --------
        >>> Stack([[[1.0, 0.0], [0.5, 0.5]]], [0.5, 0.5]).pml("bits").round(6).tolist()
        [[0.415037, 1.0]]
        """
        top = self._ends[0]
        return self._where(log_ratio(top, self.outer, unit, self._from_mean(top)), pml, unit)

    def pmc(self, unit: Unit = "nats") -> np.ndarray:
        """Return the pointwise maximal cost of each outcome, shape (B, M); NaN of one that never occurs.

        Examples
        --------
        >>> Stack([[[1.0, 0.0], [0.5, 0.5]]], [0.5, 0.5]).pmc("bits").round(6).tolist()
        [[0.584963, inf]]
        """
        bottom = self._ends[1]
        return self._where(log_ratio(self.outer, bottom, unit, self._from_mean(bottom)), pmc, unit)

    def lip(self, unit: Unit = "nats") -> np.ndarray:
        """Return the local information privacy of each channel, shape (B,).

        Examples
        --------
        >>> Stack([[[0.75, 0.25], [0.25, 0.75]]]).lip("bits").tolist()
        [1.0]
        """
        return np.fmax(np.nanmax(self.pml(unit), axis=1), np.nanmax(self.pmc(unit), axis=1))

    def ldp(self, unit: Unit = "nats") -> np.ndarray:
        """Return the local differential privacy of each channel, whatever the priors, shape (B,).

        Examples
        --------
        >>> Stack([[[0.75, 0.25], [0.25, 0.75]]]).ldp().round(6).tolist()
        [1.098612]
        """
        top, bottom = self._all_ends
        return np.where(top > 0, log_ratio(top, bottom, unit), 0.0).max(axis=1)

    def maximal_leakage(self, unit: Unit = "nats") -> np.ndarray:
        """Return log sum_y max_x C_xy of each channel, shape (B,).

        Examples
        --------
        >>> Stack([[[0.75, 0.25], [0.25, 0.75]]]).maximal_leakage().round(6).tolist()
        [0.405465]
        """
        top, first = self._all_ends[0], self.c[:, 0]
        return np.log1p((top - first).sum(axis=1)) / nats_per(unit)

    def mutual_information(self, unit: Unit = "nats") -> np.ndarray:
        """Return the mutual information of each pair, shape (B,).

        Examples
        --------
        >>> Stack([[[1.0, 0.0], [0.0, 1.0]]]).mutual_information("bits").tolist()
        [1.0]
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            inner = np.where(self.c > 0, self.c * np.log(self.c), 0.0)
            free = np.where(self.outer > 0, self.outer * np.log(self.outer), 0.0).sum(axis=1)
        found = np.einsum("bn,bnm->b", self.p, inner) - free
        near = np.flatnonzero(~(found > _SMALL * np.maximum(1.0, -free)))
        if len(near):
            found[near] = self._information_of(near)
        return found / nats_per(unit)

    def _information_of(self, some: np.ndarray) -> np.ndarray:
        """Return sum q sum p (u log u - u + 1), u = C / q, with C - q from differences of rows: no digit is lost."""
        c, p, q = self.c[some], self.p[some], self.outer[some]
        rows = np.argmax(p, axis=1)
        from_one = c - c[np.arange(len(c)), rows][:, None, :]
        distance = from_one - np.matmul(p[:, None, :], from_one)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.where(q[:, None, :] > 0, distance / q[:, None, :], 0.0)
        terms = np.maximum(kl_term(t, np.maximum(1 + t, 0.0)), 0.0)
        return np.einsum("bn,bm,bnm->b", p, q, terms)

    def holds(self, guarantee: Claim) -> np.ndarray:
        """Return whether each keeps a guarantee, shape (B,): pml, pmc, lip and ldp together, others one by one.

        What is near to the bound is decided exactly, as `holds_for` does.

        Examples
        --------
        >>> Stack([[[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]]).holds(dv.LDP(1)).tolist()
        [False, True]
        """
        asked: Any = guarantee
        if not hasattr(asked, "holds_for"):
            raise DivulgeError.of("guarantee", "be a guarantee", "it", f"a {type(asked).__name__}")
        measure = _LEVELS.get(asked.kind)
        if measure is None:
            return np.array([self._alone(i, asked) for i in range(len(self))], dtype=bool)
        level, bound = measure(self), float(asked.values()["epsilon"])
        holds = level <= bound
        for i in np.flatnonzero(np.abs(level - bound) <= _DECIDED * max(1.0, bound)).tolist():
            holds[i] = self._alone(i, asked)
        return holds

    def _alone(self, i: int, guarantee: Any) -> bool:
        return bool(guarantee.holds_for(Joint(Prior(self.p[i]), Channel(self.c[i]))))


_LEVELS: dict[str, Callable[[Stack], np.ndarray]] = {
    "pml": lambda stack: np.nanmax(stack.pml(), axis=1),
    "pmc": lambda stack: np.nanmax(stack.pmc(), axis=1),
    "lip": Stack.lip,
    "ldp": Stack.ldp,
}
"""Kind of guarantee -> what a stack has of it."""


def _over_secrets(extreme: np.ufunc, c: np.ndarray) -> np.ndarray:
    """Return the extremes over the middle axis, secret by secret: of short rows NumPy's own way takes twice as long."""
    found = c[:, 0].copy()
    for x in range(1, c.shape[1]):
        extreme(found, c[:, x], out=found)
    return found


def _floats(given: Any, argument: str, axes: int) -> np.ndarray:
    """Return a fresh float64 array of so many axes, none of length 0, all entries finite and at least 0."""
    try:
        found = np.add(np.asarray(given, dtype=np.float64), 0.0, order="C")
    except (TypeError, ValueError, OverflowError):
        raise DivulgeError.of(argument, "be numbers, all of one shape", "it", f"a {type(given).__name__}") from None
    if found.ndim != axes or 0 in found.shape:
        raise DivulgeError.of(argument, f"have {axes} axes, none of length 0", "its shape", str(found.shape))
    if not (found.min() >= 0 and found.max() < np.inf):
        place = np.argwhere(~((found >= 0) & (found < np.inf)))[0].tolist()
        where = ", ".join(f"{name} {i}" for name, i in zip(("channel", "row", "column")[-axes:], place, strict=True))
        raise DivulgeError.of(argument, "have finite entries of at least 0", where, str(found[tuple(place)]))
    return found


def _normalized(rows: np.ndarray, argument: str, what: Callable[[int], str]) -> None:
    """Make every row sum to 1 where it stands; of many short rows the sums are taken as fast as the rows are read."""
    if not np.abs(np.einsum("ij->i", rows) - 1.0).max() <= CLEAN:
        normalized(rows, argument, what)


def _row(i: int, rows: int) -> str:
    return f"row {i % rows} of channel {i // rows} sums to"
