"""Black boxes with numeric outcomes: how well a secret can be guessed, estimated from examples alone."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge.auditing.bounds import clopper_pearson
from divulge.errors import DivulgeError
from divulge.extras import require


@dataclass(frozen=True)
class Guessability:
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
    tree = require("scipy.spatial", "science").cKDTree(train_y)
    _, at = tree.query(test_y, k=neighbors)
    votes = train_x[np.asarray(at).reshape(len(test_y), neighbors)]
    tally = np.stack([(votes == label).sum(axis=1) for label in np.unique(train_x)], axis=1)
    return np.unique(train_x)[tally.argmax(axis=1)]


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
    secrets: Any, outcomes: Any, *, method: str = "nearest", neighbors: int | None = None, confidence: float = 0.95
) -> Guessability:
    """Return how often a secret is guessed from a numeric outcome, from n observed pairs.

    Half of the rows (every second one) train the guesser, the others try it. Any guesser is right at most as often as
    the best one, so the Clopper-Pearson lower bound on his accuracy is one on posterior Bayes vulnerability.

    Parameters
    ----------
    secrets : n labels
    outcomes : array_like of shape (n,) or (n, d)
        Finite numbers.
    method : "nearest" (majority of the nearest neighbors) or "frequentist" (for outcomes that repeat)
    neighbors : int, optional
        log2 of the training rows when not given.

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
    labels, x = np.unique(np.asarray(secrets), return_inverse=True)
    try:
        y = np.asarray(outcomes, dtype=np.float64)
    except (TypeError, ValueError):
        raise DivulgeError.of("outcomes", "be numbers, one row for each secret", "one of them", "none") from None
    y = y.reshape(y.shape[0] if y.ndim else 1, -1) if y.size else np.empty((0, 1))
    if method not in METHODS:
        raise DivulgeError.of("method", f"be one of {', '.join(METHODS)}", "it", repr(method))
    if not 0 < confidence < 1:
        raise DivulgeError.of("confidence", "be between 0 and 1", "it", str(confidence))
    if not (len(x) == len(y) >= 4 and np.isfinite(y).all()):
        raise DivulgeError.of(
            "outcomes", "be finite numbers, one row for each of at least 4 secrets", "they", "are not"
        )
    train, test = slice(0, None, 2), slice(1, None, 2)
    count = neighbors or max(1, round(math.log2(len(x[train]))))
    guess = METHODS[method](y[train], x[train], y[test], min(count, len(x[train])))
    right, n = int((guess == x[test]).sum()), len(guess)
    low = clopper_pearson(np.array([right]), np.array([n]), 2 * (1 - confidence))[0][0]
    before = float(np.bincount(x, minlength=len(labels)).max() / len(x))
    accuracy = right / n
    upper = 1 - (1 - accuracy) / 2 if method == "nearest" else 1.0
    leakage = max(0.0, math.log(accuracy / before)) if right else 0.0
    return Guessability(accuracy, float(low), upper, before, leakage, method, n, confidence)
