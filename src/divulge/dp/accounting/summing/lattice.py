"""Losses that are whole multiples of one step, and the types of repeated draws."""

import itertools
import math
from functools import lru_cache

import numpy as np

_FINEST = 1 << 20
"""A lattice finer than this share of its range is no lattice: any losses would lie on it."""

_OFF = 2.0**-48
"""How far, relative to the largest loss, a value may lie from its lattice point (rounding of the loss)."""


def common_step(losses: np.ndarray) -> float:
    """Return the largest d with every loss a whole multiple of d, to within rounding; 0 where there is none."""
    sizes = np.unique(np.abs(losses[losses != 0]))
    if not len(sizes):
        return 0.0
    top = float(sizes[-1])
    step, finest = float(sizes[0]), float(sizes[-1]) / _FINEST
    while len(off := sizes[np.abs(sizes - step * np.round(sizes / step)) > finest]):
        a, b = float(off[0]), step
        while b > finest:
            a, b = b, abs(a - b * round(a / b))
        step = a
        if step <= finest:
            return 0.0
    step = top / round(top / step)
    off = np.abs(sizes - step * np.round(sizes / step))
    return step if bool((off <= _OFF * top).all()) else 0.0


def number_of_types(draws: int, letters: int) -> int:
    """Return how many ways there are to split `draws` among `letters`, binom(draws + letters - 1, letters - 1)."""
    return math.comb(draws + letters - 1, letters - 1) if letters else int(draws == 0)


@lru_cache(maxsize=32)
def types(draws: int, letters: int) -> np.ndarray:
    """Return every type of `draws` draws from `letters` letters: how often each letter came; shape (T, letters)."""
    if letters == 1:
        return np.array([[draws]])
    if letters == 2:
        up = np.arange(draws + 1)
        return np.column_stack([up, draws - up])
    bars = itertools.chain.from_iterable(itertools.combinations(range(draws + letters - 1), letters - 1))
    size = number_of_types(draws, letters)
    at = np.fromiter(bars, dtype=np.int64, count=size * (letters - 1)).reshape(size, letters - 1)
    ends = np.full((size, 1), draws + letters - 1)
    return np.diff(np.concatenate([np.full((size, 1), -1), at, ends], axis=1), axis=1) - 1


def sums_over_types(draws: int, logs: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the log probability and the loss of every type of `draws` draws, in the order of `types`; shapes (T,).

    logs, losses: of each letter, shape (letters,), finite. Letter by letter, so that no list of counts is held.
    """
    from scipy.special import gammaln

    of_factorial = gammaln(np.arange(1, draws + 2))
    left, log, loss = np.array([draws]), np.array([of_factorial[draws]]), np.zeros(1)
    for letter in range(len(logs) - 1):  # each type goes on with 0, 1, ... of the draws that are left
        ways = left + 1
        taken = np.arange(ways.sum()) - np.repeat(np.cumsum(ways) - ways, ways)
        left = np.repeat(left, ways) - taken
        log = np.repeat(log, ways) + (taken * logs[letter] - of_factorial[taken])
        loss = np.repeat(loss, ways) + taken * losses[letter]
    return log + (left * logs[-1] - of_factorial[left]), loss + left * losses[-1]


def log_multinomial(counts: np.ndarray) -> np.ndarray:
    """Return log(n! / prod_k n_k!) for every row of whole numbers, shape (T,)."""
    from scipy.special import gammaln

    return gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
