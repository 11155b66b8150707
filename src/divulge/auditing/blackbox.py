"""Black boxes with numeric outcomes: how well a secret can be guessed, estimated from examples alone."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.arraylike import HasArray
from divulge.model.entries import open_share, whole_number
from divulge.model.labels import text_of
from divulge.model.shown import Shown
from divulge.releasing.estimating.intervals import clopper_pearson

_LARGEST = 1e100
"""Larger outcomes are scaled down: the square of one, and a sum of 1e108 of them, are doubles."""


@dataclass(frozen=True)
class Guessability(Shown):
    """The chance of guessing the secret in one try from the outcome (posterior Bayes vulnerability), from examples.

    Attributes
    ----------
    accuracy : float
        Share of held-out rows guessed right: an estimate of what this guesser achieves, hence biased downward as an
        estimate of the best one.
    lower : float
        With the stated confidence, the best guesser is right at least this often.
    upper : float
        Where nearest neighbors have converged, Cover and Hart's bound 1 - (1 - accuracy) / 2 on the best guesser; an
        estimate, not a bound with confidence. 1 for other methods.
    before : float
        How often the likeliest secret is right without seeing anything (prior Bayes vulnerability).
    leakage : float
        log(accuracy / before) in nats, at least 0: an estimate of min-entropy leakage, biased downward.
    method : str
    rows : int
        Held-out rows.

    Examples
    --------
    >>> found = guessability([0, 0, 1, 1] * 50, [0.0, 0.1, 5.0, 5.1] * 50)
    >>> found.accuracy, found.before, round(math.exp(found.leakage), 9)  # from one half to always
    (1.0, 0.5, 2.0)
    """

    accuracy: float
    lower: float
    upper: float
    before: float
    leakage: float
    method: str
    rows: int
    confidence: float


def _nearest(train_y: np.ndarray, train_x: np.ndarray, test_y: np.ndarray, neighbors: int) -> np.ndarray:
    """Guess the secret that most of the neighbors have; of those that tie, the nearest one's or the first."""
    tree = require("scipy.spatial", "science").cKDTree(train_y)
    _, at = tree.query(test_y, k=neighbors)
    votes = train_x[np.asarray(at).reshape(len(test_y), neighbors)]
    labels = np.unique(train_x)
    tally = np.stack([2 * (votes == label).sum(axis=1) + (votes[:, 0] == label) for label in labels], axis=1)
    return labels[tally.argmax(axis=1)]


def _frequentist(train_y: np.ndarray, train_x: np.ndarray, test_y: np.ndarray, neighbors: int) -> np.ndarray:
    """Guess the commonest secret of the training rows with this very outcome; of all rows for a new outcome."""
    outcomes, codes = np.unique(np.vstack([train_y, test_y]), axis=0, return_inverse=True)
    codes = codes.ravel()
    tally = np.zeros((len(outcomes), int(train_x.max()) + 1), dtype=np.int64)
    np.add.at(tally, (codes[: len(train_y)], train_x), 1)
    tally[tally.sum(axis=1) == 0] = np.bincount(train_x, minlength=tally.shape[1])
    return tally.argmax(axis=1)[codes[len(train_y) :]]


METHODS = {"nearest": _nearest, "frequentist": _frequentist}
"""Name -> guesser: trained on half of the rows, tried on the other half."""


def guessability(
    secrets: Sequence[Hashable] | HasArray,
    outcomes: ArrayLike,
    *,
    method: str = "nearest",
    neighbors: int | None = None,
    confidence: float = 0.95,
) -> Guessability:
    """Return how often a secret is guessed from a numeric outcome, from n observed pairs.

    Half of the rows train the guesser, the others try it: those whose position has an even number of binary ones, for
    no order of the secrets keeps step with that (Thue and Morse). Any guesser is right at most as often as the best
    one, so the Clopper-Pearson lower bound on their accuracy is one on posterior Bayes vulnerability.

    Parameters
    ----------
    secrets : n labels
    outcomes : array_like of shape (n,) or (n, d)
        Finite numbers.
    method : "nearest" (majority of the nearest neighbors) or "frequentist" (for outcomes that repeat)
    neighbors : int, optional
        From 1 to the number of training rows; log2 of it when not given.
    confidence : float in (0, 1)
        Of the lower bound.

    Returns
    -------
    Guessability
        Probabilities in [0, 1]: an estimate of the accuracy, biased downward, and a lower bound on the best one.

    Raises
    ------
    DivulgeError
        For missing secrets, outcomes that are no finite numbers, and neighbors that are no such whole number.

    References
    ----------
    Cherubin, Chatzikokolakis, Palamidessi, "F-BLEAU: fast black-box leakage estimation", arXiv:1902.01350.
    Cover, Hart, "Nearest neighbor pattern classification", 1967.

    Examples
    --------
    >>> found = guessability([0, 0, 1, 1] * 50, [0.0, 0.1, 5.0, 5.1] * 50)
    >>> found.accuracy, found.before
    (1.0, 0.5)
    """
    if method not in METHODS:
        raise DivulgeError.unknown("method", method, METHODS)
    confidence = open_share(confidence, "confidence")
    x, y = _coded(secrets), _numbers(outcomes)
    if not len(x) == len(y) >= 4:
        raise DivulgeError.of(
            "outcomes", "have one row for each of at least 4 secrets", "their number", f"{len(y)} for {len(x)}"
        )
    test = _odd(len(x))
    train = ~test
    count = _neighbors(neighbors, len(x[train]))
    guess = METHODS[method](y[train], x[train], y[test], count)
    right, n = int((guess == x[test]).sum()), len(guess)
    low = clopper_pearson(np.array([right]), np.array([n]), 2 * (1 - confidence))[0][0]
    before = float(np.bincount(x).max() / len(x))
    accuracy = right / n
    upper = 1 - (1 - accuracy) / 2 if method == "nearest" else 1.0
    leakage = max(0.0, math.log(accuracy / before)) if right else 0.0
    return Guessability(accuracy, float(low), upper, before, leakage, method, n, confidence)


def _coded(secrets: Any) -> np.ndarray:
    """Return the secrets as positions of an alphabet; refuse missing ones."""
    given = np.asarray(secrets, dtype=object)
    labels = given.tolist() if given.ndim == 1 else [None]
    if any(text_of(label) is None for label in labels):
        raise DivulgeError.of("secrets", "be a column of labels, none missing", "one of them", "none")
    places: dict[Any, int] = {}
    return np.array([places.setdefault(label, len(places)) for label in labels], dtype=np.int64)


def _numbers(outcomes: Any) -> np.ndarray:
    """Return the outcomes as floats of shape (n, d)."""
    try:
        y = np.asarray(outcomes, dtype=np.float64)
    except (TypeError, ValueError):
        y = np.array(math.nan)
    if y.ndim == 0 or not np.isfinite(y).all():
        raise DivulgeError.of("outcomes", "be finite numbers, one row for each secret", "one of them", "none")
    largest = float(np.abs(y).max(initial=0.0))
    if largest > _LARGEST:  # squares of distances are finite; the nearest are the same
        y = y * 2.0 ** -math.frexp(largest)[1]
    return y.reshape(len(y), -1) if y.size else np.empty((0, 1))


def _odd(n: int) -> np.ndarray:
    """Return whether each position below n has an odd number of binary ones."""
    bits = np.arange(n)
    for shift in (32, 16, 8, 4, 2, 1):
        bits = bits ^ (bits >> shift)
    return (bits & 1).astype(bool)


def _neighbors(given: Any, most: int) -> int:
    """Return how many neighbors vote."""
    if given is None:
        return max(1, round(math.log2(most)))
    return whole_number(given, "neighbors", 1, most)
