"""Projective space over a prime field: its points in base-s order, and the sums of weights over all hyperplanes.

A point is a vector whose first nonzero entry is 1. Points are numbered as numbers in base s: those with m entries after
the 1 come after those with fewer, so that point number (s^m - 1)/(s - 1) + f is 0..0 1 and the m digits of f.
"""

import numpy as np


def points(field: int, dimension: int) -> int:
    """Return how many points the projective space of vectors of this dimension has, (s^t - 1)/(s - 1).

    >>> points(3, 3), points(3, 2), points(3, 1), points(3, 0)
    (13, 4, 1, 0)
    """
    return (field**dimension - 1) // (field - 1)


def _canonical(field: int, dimension: int, numbers: np.ndarray) -> np.ndarray:
    """Return the vectors of points as numbers in base s: s^m + f of point (s^m - 1)/(s - 1) + f."""
    firsts = np.array([points(field, m) for m in range(dimension)])
    powers = np.array([field**m for m in range(dimension)])
    free = np.searchsorted(firsts, numbers, side="right") - 1
    return numbers + (powers - firsts)[free]


def vectors(field: int, dimension: int, numbers: np.ndarray) -> np.ndarray:
    """Return the vectors of points, shape (points, t).

    >>> vectors(3, 2, np.arange(4)).tolist()
    [[0, 1], [1, 0], [1, 1], [1, 2]]
    """
    left = _canonical(field, dimension, np.asarray(numbers, dtype=np.int64))
    out = np.empty((len(left), dimension), dtype=np.int64)
    for j in reversed(range(dimension)):
        left, out[:, j] = np.divmod(left, field)
    return out


def numbers_of(field: int, found: np.ndarray) -> np.ndarray:
    """Return the numbers of the points that nonzero vectors (rows) stand for, whatever they are multiplied by.

    >>> numbers_of(3, np.array([[0, 2], [2, 1]])).tolist()
    [0, 3]
    """
    first = (found != 0).argmax(axis=1)
    scale = inverses(field, found[np.arange(len(found)), first])
    value = np.zeros(len(found), dtype=np.int64)
    for j in range(found.shape[1]):
        value = np.where(j > first, value * field + found[:, j] * scale % field, value)
    return np.array([points(field, m) for m in range(found.shape[1])])[found.shape[1] - 1 - first] + value


def inverses(field: int, values: np.ndarray) -> np.ndarray:
    """Return the inverses of nonzero elements, v^(s-2).

    >>> inverses(7, np.array([1, 2, 3])).tolist()
    [1, 4, 5]
    """
    out, base, power = np.ones_like(values), values % field, field - 2
    while power > 0:
        if power & 1:
            out = out * base % field
        base, power = base * base % field, power >> 1
    return out


def products(field: int, dimension: int, numbers: np.ndarray, other: int) -> np.ndarray:
    """Return the inner products <x, u> of points with one, in 0..s-1."""
    with_one = vectors(field, dimension, np.array([other]))[0]
    left, found = _canonical(field, dimension, numbers), np.zeros(len(numbers), dtype=np.int64)
    for j in reversed(range(dimension)):
        left, digit = np.divmod(left, field)
        if with_one[j]:
            found = (found + digit * with_one[j]) % field
    return found


def hyperplane_sums(weights: np.ndarray, field: int, dimension: int) -> np.ndarray:
    """Return for every point u the sum of the weights of the points x with <x, u> = 0, in memory of a few times theirs.

    The points x = 0..0 1 f with m free entries f contribute where <f, last m entries of u> = -(the entry before them):
    the Radon transform of their weights, which by the Fourier slice theorem is an inverse transform along each line
    k v through 0 of their m-dimensional one. As a number in base s, u ends in those m digits and the one before, so
    what a block contributes repeats with period s^(m+1).

    >>> hyperplane_sums(np.array([1.0, 2.0, 4.0, 8.0]), 3, 2).round(9).tolist()  # of a line: each its own point
    [2.0, 1.0, 8.0, 4.0]
    """
    from scipy import fft

    s = field
    sums = np.zeros(points(s, dimension))
    before = np.zeros(1)  # what the blocks so far contribute, by the digits of u after its first 1
    inverse = np.concatenate([[0], inverses(s, np.arange(1, s))])
    multiples = np.zeros((s, 1), dtype=np.int64)  # [k, f]: the number whose digits are those of f times k
    lines = np.zeros((0, s), dtype=np.int64)  # [v, k]: the number of k v, for points v of dimension m
    for m in range(dimension):
        block, own = weights[points(s, m) : points(s, m + 1)], sums[points(s, m) : points(s, m + 1)]
        own += before
        radon = np.zeros((0, s))
        if m > 0:
            whole: np.ndarray = np.asarray(fft.fftn(block.reshape((s,) * m)))
            radon = np.real(np.asarray(fft.ifft(whole.ravel()[lines], axis=1)))  # [v, c]: the sum where <f, v> = c
            sums[: points(s, m)] += radon[:, 0]
            own[lines[:, 1:]] += radon[:, -inverse[1:] % s]  # u = 0..0 1 k v, where <f, k v> = -1
        if m + 1 == dimension:
            break
        every = np.zeros((s, s**m))  # [entry before, last m digits]
        every[0, 0] = block.sum()
        for entry in range(s):
            every[entry, lines[:, 1:]] = radon[:, -entry * inverse[1:] % s]
        before = (every + before).ravel()
        lines = np.concatenate([lines, (np.arange(s)[:, None] * s**m + multiples).T])
        digits = np.arange(s)[:, None] * np.arange(s) % s * s**m
        multiples = (digits[:, :, None] + multiples[:, None, :]).reshape(s, -1) if m + 2 < dimension else multiples
    return sums
