"""What is kept, linear in the channel: scores s(x, y) of releasing y when the secret is x; named ones as a table."""

import math
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np

from divulge.adversaries.adversary import Adversary, Gain
from divulge.errors import DivulgeError
from divulge.model import labels as _labels
from divulge.model.accepted import ChannelLike
from divulge.model.arraylike import Matrix, Number
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.labels import Labels
from divulge.model.record import Record

MOST_SCORES = 100_000_000
"""Scores there are at most: of 10,000 secrets, in 3 GiB with what is computed from them."""


@dataclass(frozen=True, eq=False)
class Score(Record):
    """The utility sum_xy P_x C_xy s(x, y), or min_x sum_y C_xy s(x, y) when `worst`; a distortion when `least`.

    Parameters
    ----------
    of : function of (secret, outcome), or array_like of shape (N, M)
        The score, to be large; or with `least` the distortion, to be small. A score of -inf (a distortion of +inf)
        forbids the outcome for that secret: the entry of the channel is exactly 0.
    least : bool
        Whether `of` is a distortion, of which the least is wanted.
    worst : bool
        Whether the score of the worst secret counts, instead of the mean over the prior.
    about : Channel, optional
        P(w | x) of another variable W: `of` then scores outcomes against w, and the mean over w counts.
    name : str

    Examples
    --------
    >>> close = dv.Score(lambda x, y: abs(x - y) <= 1, name="within one")  # 1 covers 0, 1, 2 and 3 covers 2, 3, 4
    >>> round(dv.design(dv.Prior.uniform(5), dv.LDP(1), utility=close).utility, 6)  # (1 + 4 e / (1 + e)) / 5
    0.784847
    >>> close
    Score 'within one' by a function: the most on average
    """

    of: Callable[[Any, Any], Number] | Matrix
    least: bool = False
    worst: bool = False
    about: ChannelLike | None = None
    name: str = "score"

    def __repr__(self) -> str:
        of = "a function" if callable(self.of) else "a table"
        whose = "for the worst secret" if self.worst else "on average"
        about = "" if self.about is None else ", about another variable"
        return f"Score {self.name!r} by {of}: the {'least' if self.least else 'most'} {whose}{about}"

    @property
    def sign(self) -> float:
        """1 for a score, -1 for a distortion."""
        return -1.0 if self.least else 1.0

    def table(self, secrets: Labels, outcomes: Labels | None) -> tuple[np.ndarray, Labels]:
        """Return (scores to be large, of shape (N, M), labels of the outcomes).

        Examples
        --------
        >>> hit = Score(lambda secret, outcome: float(secret == outcome), name="hit")
        >>> hit.table(["a", "b"], None)[0].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        if self.about is None:
            return self._entries(secrets, outcomes)
        channel = as_channel(self.about)
        scores, names = self._entries(channel.outcomes, outcomes)
        return _mixed(given_secret(channel, secrets), scores), names

    def _entries(self, targets: Labels, outcomes: Labels | None) -> tuple[np.ndarray, Labels]:
        fresh = callable(self.of) and not hasattr(self.of, "__array__")
        if callable(self.of) and fresh:
            _check_size(len(targets) * len(targets if outcomes is None else outcomes))
            names, at_once = targets if outcomes is None else outcomes, _AT_ONCE.get(self.of)
            values = [[self.of(x, y) for y in names] for x in targets] if at_once is None else at_once(targets, names)
        else:
            values, names = self.of, outcomes
        try:
            scores = np.array(values, dtype=np.float64, copy=None if fresh else True)
        except (TypeError, ValueError, OverflowError):
            raise DivulgeError.of("utility", "be a table of numbers", "a score", "something else") from None
        if scores.ndim != 2 or scores.shape[0] != len(targets) or not scores.shape[1]:
            raise DivulgeError.of(
                "utility", f"have one row for each of {len(targets)} values", "its shape", str(scores.shape)
            )
        return self._checked(scores), _labels.alphabet(names, scores.shape[1], "outcomes")

    def _checked(self, scores: np.ndarray) -> np.ndarray:
        signed = -scores if self.least else scores
        if not (signed < math.inf).all():
            where = np.argwhere(~(signed < math.inf))[0]
            refused = "-inf" if self.least else "+inf"
            raise DivulgeError.of(
                "utility", f"hold numbers, none of them NaN or {refused}", f"the score at {tuple(where.tolist())}",
                str(scores[tuple(where)]),
            )  # fmt: skip
        return signed

    def value(self, prior: np.ndarray, scores: np.ndarray, channel: np.ndarray) -> float:
        """Return the utility of a float channel of shape (N, M), from signed scores of the same shape.

        Examples
        --------
        >>> hit = Score(lambda secret, outcome: float(secret == outcome), name="hit")
        >>> scores, _ = hit.table(["a", "b"], None)
        >>> hit.value(np.array([0.5, 0.5]), scores, np.array([[0.75, 0.25], [0.25, 0.75]]))
        0.75
        """
        used = channel.any(axis=0)
        scores, channel = (scores, channel) if used.all() else (scores[:, used], channel[:, used])
        terms = np.where(channel > 0, scores, 0.0) * channel
        each = np.array([math.fsum(row[row != 0].tolist()) for row in terms])
        seen = prior > 0
        return self.sign * (float(each[seen].min()) if self.worst else math.fsum((prior * each)[seen].tolist()))

    def decided(self, prior: np.ndarray, channel: Channel, secrets: Labels, outcomes: Labels | None) -> float | None:
        """Return the utility of another channel: each of its outcomes is read as the best one; None when it has none.

        Under `worst` the outcomes must bear the names of those that are scored.

        Examples
        --------
        >>> hit = Score(lambda secret, outcome: float(secret == outcome), name="hit")
        >>> hit.decided(np.array([0.5, 0.5]), Channel([[0.1, 0.9], [0.9, 0.1]]), ["a", "b"], None)  # 1 is read as a
        0.9
        """
        scores, names = self.table(secrets, outcomes)
        matrix = dense(channel)
        if not self.worst:
            pooled = (prior[:, None] * matrix).T @ np.where(np.isfinite(scores), scores, -1e300)
            best = math.fsum(pooled.max(axis=1).tolist())
            return self.sign * best if best > -1e200 else None
        if not set(channel.outcomes) <= set(names):
            return None
        place = [list(names).index(y) for y in channel.outcomes]
        return self.value(prior, scores[:, place], matrix)


def given_secret(about: Any, secrets: Labels) -> np.ndarray:
    """Return P(w | x) of shape (N, W) of a channel, its rows in the order of the secrets."""
    return dense(as_channel(about).aligned(secrets, "about"))


def dense(channel: Channel) -> np.ndarray:
    """Return the entries of a channel as an array of floats."""
    return np.asarray(channel.floats.toarray() if channel.sparse else channel.floats)


def _mixed(given: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return sum_w P(w | x) s(w, y); -inf where a possible w forbids y."""
    mean = given @ np.where(np.isfinite(scores), scores, 0.0)
    return np.where((given > 0).astype(float) @ np.isneginf(scores) > 0, -math.inf, mean)


def _hamming(x: Hashable, y: Hashable) -> float:
    return float(x == y)


def _error(x: Hashable, y: Hashable) -> float:
    return float(x != y)


def _absolute(x: Any, y: Any) -> float:
    return abs(_number(x) - _number(y))


def _squared(x: Any, y: Any) -> float:
    return (_number(x) - _number(y)) ** 2


def _equal(targets: Labels, names: Labels) -> np.ndarray:
    """Return 1 where labels are equal, shape (N, M)."""
    places: dict[Hashable, list[int]] = {}
    for column, y in enumerate(names):
        places.setdefault(y, []).append(column)
    out = np.zeros((len(targets), len(names)))
    for row, x in zip(out, targets, strict=True):
        row[places.get(x, [])] = 1.0
    return out


def _differences(targets: Labels, names: Labels) -> np.ndarray:
    """Return the differences of numbers that labels are, shape (N, M)."""
    return np.subtract.outer(*(np.array([_number(label) for label in labels]) for labels in (targets, names)))


def _check_size(entries: int) -> None:
    if entries > MOST_SCORES:
        raise DivulgeError.of(
            "utility", f"be a score of at most {MOST_SCORES:,} pairs of a secret and an outcome", "their number",
            f"{entries:,}", "merge values into fewer groups, or take a utility such as mutual-information.",
        )  # fmt: skip


_AT_ONCE: dict[Any, Callable[[Labels, Labels], np.ndarray]] = {
    _hamming: _equal,
    _error: lambda targets, names: 1.0 - _equal(targets, names),
    _absolute: lambda targets, names: np.abs(_differences(targets, names)),
    _squared: lambda targets, names: _differences(targets, names) ** 2,
}
"""Score of two labels -> the table of all: of 2,000 secrets one by one takes seconds."""


def _number(label: Any) -> float:
    if isinstance(label, str):
        with suppress(ValueError, ZeroDivisionError):
            return float(Fraction(label))
    if isinstance(label, bool) or not isinstance(label, Real):
        raise DivulgeError.of(
            "utility", "be a distance between numbers", "a label", repr(label),
            "name the secrets by numbers, or give a Score of your own.",
        )  # fmt: skip
    return float(label)


SCORES: dict[str, Callable[[], Score]] = {
    "hamming": lambda: Score(_hamming, name="hamming"),
    "error": lambda: Score(_error, least=True, name="error"),
    "absolute-distance": lambda: Score(_absolute, least=True, name="absolute-distance"),
    "squared-distance": lambda: Score(_squared, least=True, name="squared-distance"),
    "worst-hamming": lambda: Score(_hamming, worst=True, name="worst-hamming"),
    "worst-absolute-distance": lambda: Score(_absolute, least=True, worst=True, name="worst-absolute-distance"),
}
"""Name -> score: P(Y = X), P(Y != X), E|X - Y|, E(X - Y)^2, min_x P(Y = x | x), max_x E[|x - Y| | x]."""


def as_score(utility: Any) -> Score | None:
    """Return a Score, a name of one, a Gain or Cost of the reader, or a matrix as a Score; None for anything else."""
    if isinstance(utility, Score):
        return utility
    if isinstance(utility, str):
        return SCORES[utility]() if utility in SCORES else None
    if isinstance(utility, Adversary):
        payoffs = np.array(utility.matrix.T, dtype=np.float64)
        return Score(payoffs, least=not isinstance(utility, Gain), name=utility.name)
    if isinstance(utility, (list, tuple)) or hasattr(utility, "__array__"):
        return Score(utility)
    return None
