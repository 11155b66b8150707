"""Named mechanisms without a privacy parameter."""

from collections.abc import Hashable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.accepted import PriorLike
from divulge.model.arraylike import Number, Seed
from divulge.model.channel import Channel
from divulge.model.convert import as_prior
from divulge.model.mechanisms.arguments import Secrets, filled, letters_of, positive, share_of


def resample(prior: PriorLike, keep: Number) -> Channel:
    r"""Return the mechanism that releases x with probability `keep`, else a fresh draw from the prior.

    C_xy = keep 1{x = y} + (1 - keep) P_y, shape (N, N); q = P.

    Parameters
    ----------
    prior : Prior, or what converts to one, of N secrets
    keep : number in [0, 1]; exact where it is a Fraction, int or text

    Returns
    -------
    Channel
        Of shape (N, N); exact when both are.

    Raises
    ------
    DivulgeError
        When `prior` is no distribution, or `keep` is not in [0, 1].

    Examples
    --------
    >>> resample(["1/4", "3/4"], keep="1/2").matrix.tolist()[0]
    [Fraction(5, 8), Fraction(3, 8)]
    """
    prior, share = as_prior(prior), share_of(keep, "keep")
    p = prior.probabilities if isinstance(share, Fraction) else prior.floats
    return Channel(resample_rows(p, share), prior.secrets, prior.secrets)


def resample_rows(p: np.ndarray, share: Any) -> np.ndarray:
    """Return the matrix that keeps x with probability `share`, else draws anew from p; exact where both are.

    >>> resample_rows(np.array([0.25, 0.75]), 0.5)[0].tolist()
    [0.625, 0.375]
    """
    rows = np.tile((1 - share) * p, (len(p), 1))
    rows[np.diag_indices(len(p))] = rows.diagonal() + share
    return rows


def erasure(secrets: Secrets, probability: Number, erased: Hashable = "erased") -> Channel:
    r"""Return the channel that releases x, or with `probability` only that it was erased; shape (N, N + 1).

    Parameters
    ----------
    secrets : int, labels or Prior
    probability : number in [0, 1]; exact where it is a Fraction, int or text
    erased : label

    Returns
    -------
    Channel
        Of shape (N, N + 1); the last outcome is `erased`.

    Raises
    ------
    DivulgeError
        When `probability` is not in [0, 1], or `erased` is a secret.

    Examples
    --------
    >>> erasure(2, "1/3").matrix.tolist()[0]
    [Fraction(2, 3), Fraction(0, 1), Fraction(1, 3)]
    """
    letters, share = letters_of(secrets), share_of(probability, "probability")
    n = len(letters)
    rows = filled(n, n + 1, share * 0, 1 - share)
    rows[:, n] = share
    return Channel(rows, letters, [*letters, erased])


def symmetric(secrets: Secrets, error: Number) -> Channel:
    r"""Return the symmetric channel: wrong with probability `error`, all wrong values equally likely; shape (N, N).

    Parameters
    ----------
    secrets : int, labels or Prior
    error : number in [0, 1]; exact where it is a Fraction, int or text

    Returns
    -------
    Channel
        Of shape (N, N); exact where `error` is.

    Raises
    ------
    DivulgeError
        When `error` is not in [0, 1].

    Examples
    --------
    >>> symmetric(3, "1/2").matrix.tolist()[0]
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    """
    letters, share = letters_of(secrets), share_of(error, "error")
    n = len(letters)
    if n == 1 and share != 0:
        raise DivulgeError.of("error", "be 0 for a single secret", "it", str(share))
    return Channel(filled(n, n, share / max(n - 1, 1), 1 - share), letters, letters)


def identity(secrets: Secrets) -> Channel:
    """Return the channel that releases the secret itself, exact, shape (N, N).

    Parameters
    ----------
    secrets : int, labels or Prior

    Returns
    -------
    Channel
        Of shape (N, N); exact.

    Raises
    ------
    LabelError
        When `secrets` are no labels.

    Examples
    --------
    >>> identity(2).matrix.tolist()
    [[Fraction(1, 1), Fraction(0, 1)], [Fraction(0, 1), Fraction(1, 1)]]
    """
    return symmetric(secrets, 0)


def constant(secrets: Secrets, outcome: Hashable = "released") -> Channel:
    """Return the channel that says the same whatever the secret is, exact, shape (N, 1).

    Parameters
    ----------
    secrets : int, labels or Prior
    outcome : label

    Returns
    -------
    Channel
        Of shape (N, 1); exact.

    Raises
    ------
    LabelError
        When `secrets` or `outcome` are no labels.

    Examples
    --------
    >>> constant(2).matrix.tolist()
    [[Fraction(1, 1)], [Fraction(1, 1)]]
    """
    letters = letters_of(secrets)
    return Channel([[Fraction(1)]] * len(letters), letters, [outcome])


def random(
    secrets: Secrets, outcomes: int | Iterable[Hashable], *, concentration: float = 1.0, rng: Seed | None = None
) -> Channel:
    """Return a random channel: rows are independent Dirichlet draws (1: uniform on the simplex), shape (N, M).

    Parameters
    ----------
    secrets : int, labels or Prior
    outcomes : int or labels
    concentration : float > 0
        The parameter of the Dirichlet distribution; small ones make rows uneven.
    rng : numpy Generator or seed, optional

    Returns
    -------
    Channel
        Of shape (N, M), float64.

    Raises
    ------
    DivulgeError
        When `concentration` is not positive, or labels are none.

    Examples
    --------
    >>> random(3, 4, rng=0).shape
    (3, 4)
    """
    rows, columns = letters_of(secrets), letters_of(outcomes)
    weight = float(positive(concentration, "concentration"))
    rng = np.random.default_rng(rng)
    weights = rng.gamma(weight, size=(len(rows), len(columns)))
    empty = weights.sum(axis=1) == 0
    weights[empty] = np.eye(len(columns))[rng.integers(len(columns), size=int(empty.sum()))]
    return Channel(weights / weights.sum(axis=1, keepdims=True), rows, columns)
