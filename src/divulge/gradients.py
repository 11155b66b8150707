"""Accelerated projected gradients: one step of a projected gradient after another, with momentum."""

import math
from collections.abc import Callable, Iterator

import numpy as np


def accelerated(onward: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> Iterator[np.ndarray]:
    """Yield `start` and what comes after it, without end; momentum starts anew where it leads uphill.

    `onward` takes one step of the projected gradient. Source: Beck, Teboulle, "A fast iterative shrinkage-thresholding
    algorithm for linear inverse problems", 2009; the new starts: O'Donoghue, Candes, "Adaptive restart for accelerated
    gradient schemes", 2015.

    >>> from itertools import islice
    >>> goal = np.array([0.5, -1.0])
    >>> *_, last = islice(accelerated(lambda z: np.maximum(z - 0.1 * (z - goal), 0.0), np.zeros(2)), 200)
    >>> last.round(9).tolist()
    [0.5, 0.0]
    """
    z = ahead = start
    momentum = 1.0
    while True:
        yield z
        new = onward(ahead)
        if ((ahead - new) * (new - z)).sum() > 0:
            momentum = 1.0
        grown = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead, z, momentum = new + (momentum - 1) / grown * (new - z), new, grown
