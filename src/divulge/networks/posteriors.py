"""What fixed outputs say: forward and backward over a chain (Rabiner 1989), and the likeliest trajectory (Viterbi).

In doubles nothing cancels, as all terms are nonnegative: T steps of n states are off by at most about T (n + 3) units
in the last place, relative to the number itself. A likelihood that would underflow on the way, and may come back into
play later, is carried as a logarithm or a ball.
"""

import math
from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.networks.model import FAINT, Remembered, Steps, loses
from divulge.units import Unit, nats_per

_SMALL = 8
"""Up to so many states products of matrices take less than a loop over the steps."""
_MIDDLE, _HELD = 12, 2**24
"""Up to so many states they still do, where the numbers of all matrices are no more than this: 128 MB."""


def posterior_of(steps: Steps, t: int, outputs: Sequence[int | None]) -> np.ndarray:
    """Return P(x_t | outputs), shape (n,)."""
    return smoothed(steps, outputs)[t]


def smoothed(steps: Steps, outputs: Sequence[int | None]) -> np.ndarray:
    """Return P(x_t | outputs) for every step, shape (T, n)."""
    given = [*outputs, *[None] * (len(steps) - len(outputs))]
    likelihoods = [steps.likelihoods(t, y) for t, y in enumerate(given)]
    if steps.exact:
        forward, backward = _by_steps(steps, likelihoods)
        weights = forward * backward
    else:
        weights = _in_doubles(steps, likelihoods)
    totals = weights.sum(axis=1)
    if not all(total > 0 for total in totals):
        refuse_impossible(steps, outputs)
    return weights / totals[:, None]


def _in_doubles(steps: Steps, likelihoods: Sequence[np.ndarray]) -> np.ndarray:
    """Return P(x_t, outputs) up to a factor for each t; by logarithms where doubles would lose a state on the way."""
    many = len(steps.states)
    if steps.faint:
        return _by_logs(steps, likelihoods)
    if many <= _SMALL or (many <= _MIDDLE and len(steps) * many**2 <= _HELD):
        forward, backward, faint = _by_blocks(steps, np.array(likelihoods))
    else:
        forward, backward = _by_steps(steps, likelihoods)
        faint = loses(forward, FAINT) or loses(backward, FAINT)
    return forward * backward if not faint else _by_logs(steps, likelihoods)


def _by_steps(steps: Steps, likelihoods: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return P(x_t, outputs so far) and P(outputs after t | x_t), each up to a factor for each t."""
    forward = [_scaled(steps.start * likelihoods[0])]
    for t, move in enumerate(steps.moves):
        steps.in_time()
        forward.append(_scaled((forward[-1] @ move) * likelihoods[t + 1]))
    backward = [steps.ones]
    for t in range(len(steps) - 2, -1, -1):
        steps.in_time()
        backward.append(_scaled(steps.moves[t] @ (likelihoods[t + 1] * backward[-1])))
    return np.array(forward), np.array(backward[::-1])


def _by_logs(steps: Steps, likelihoods: Sequence[np.ndarray]) -> np.ndarray:
    """Return P(x_t, outputs) up to a factor for each t, from sums of exponentials: no state underflows on the way."""
    with np.errstate(divide="ignore"):
        given = np.log(np.array(likelihoods))
        moves = {id(move): np.log(move) for move in steps.moves}
        forward, backward = [np.log(steps.start) + given[0]], [np.zeros(len(steps.states))]
    for t, move in enumerate(steps.moves):
        steps.in_time()
        onward = np.logaddexp.reduce(forward[-1][:, None] + moves[id(move)], axis=0)
        forward.append(_centered(onward + given[t + 1]))
    for t in range(len(steps) - 2, -1, -1):
        steps.in_time()
        later = moves[id(steps.moves[t])] + (given[t + 1] + backward[-1])[None, :]
        backward.append(_centered(np.logaddexp.reduce(later, axis=1)))
    return np.exp([_centered(a + b) for a, b in zip(forward, reversed(backward), strict=True)])


def _centered(logs: np.ndarray) -> np.ndarray:
    """Return logarithms less the largest of them; of zeros alone as they are."""
    top = logs.max()
    return logs if top == -np.inf else logs - top


def _scaled(vector: np.ndarray) -> np.ndarray:
    """Return doubles divided by their sum; fractions, which never overflow, as they are."""
    if vector.dtype == object:
        return vector
    total = vector.sum()
    return vector / total if total > 0 else vector


def _by_blocks(steps: Steps, likelihoods: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return what `_by_steps` does, and whether a number on the way is nearly lost.

    A block of steps is a product of matrices, and all blocks go side by side.
    """
    first = steps.start * likelihoods[0]
    if len(steps) == 1:
        return first[None], steps.ones[None], False
    moves = np.array(steps.moves) * likelihoods[1:, None, :]
    forward, faint = _products(first, moves)
    backward, other = _products(steps.ones, moves[::-1].transpose(0, 2, 1))
    return forward, backward[::-1], faint or other


def _products(start: np.ndarray, matrices: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return start, start M_1, start M_1 M_2, ..., each scaled to sum 1, (T, n); and whether one is nearly lost."""
    moves, n = len(matrices), len(start)
    width = max(1, int(np.sqrt(moves)))
    blocks = -(-moves // width)
    padded = np.concatenate([matrices, np.broadcast_to(np.eye(n), (blocks * width - moves, n, n))])
    padded = padded.reshape(blocks, width, n, n)
    inside = np.empty_like(padded)
    product = np.broadcast_to(np.eye(n), (blocks, n, n))
    for s in range(width):
        product = product @ padded[:, s]
        product = product / np.maximum(product.max(axis=(1, 2), keepdims=True), np.finfo(float).tiny)
        inside[:, s] = product
    carried = np.empty((blocks, n))
    for b in range(blocks):
        carried[b] = start
        start = _scaled(start @ inside[b, -1])
    out = np.einsum("bi,bsij->bsj", carried, inside).reshape(-1, n)[:moves]
    totals = out.sum(axis=1, keepdims=True)
    scaled = np.divide(out, totals, out=np.zeros_like(out), where=totals > 0)
    faint = any(loses(numbers, FAINT) for numbers in (inside, carried, scaled))
    return np.concatenate([_scaled(carried[0])[None], scaled]), faint


def refuse_impossible(steps: Steps, outputs: Sequence[int | None]) -> None:
    """Raise for outputs of probability 0, with the first step at which they cannot go on."""
    alpha = steps.start
    for t, y in enumerate(outputs):
        alpha = _scaled((alpha if t == 0 else alpha @ steps.moves[t - 1]) * steps.likelihoods(t, y))
        if not alpha.sum() > 0:
            raise DivulgeError.of(
                "outputs", "be possible", f"that of step {t}", "one that cannot occur after the others"
            )


def probability_of(steps: Steps, outputs: Sequence[int | None]) -> Any:
    """Return P(outputs), a Fraction for exact chains; it may underflow in doubles."""
    alpha = steps.start * steps.likelihoods(0, outputs[0] if outputs else None)
    for t in range(1, len(outputs)):
        alpha = (alpha @ steps.moves[t - 1]) * steps.likelihoods(t, outputs[t])
    return alpha.sum()


def beliefs_of(known: Remembered, outputs: Sequence[int | None]) -> dict[Hashable, tuple[Any, Any]]:
    """Return for each value of a secret its probability before and after the outputs."""
    faint = known.steps.faint

    def scale(alpha: np.ndarray, _: int) -> np.ndarray:
        nonlocal faint
        scaled = _scaled(alpha)
        faint = faint or (not known.steps.exact and loses(scaled, FAINT))
        return scaled

    before = known.by_value(known.run([], scale))
    after = known.by_value(known.run(outputs, scale))
    if faint:
        wide = beliefs_of(Remembered(known.steps.wide, known.secret), outputs)
        return {value: (float(share), float(then)) for value, (share, then) in wide.items()}
    total = sum(after.values())
    if not total > 0:
        refuse_impossible(known.steps, outputs)
    whole = sum(before.values())
    return {value: (share / whole, after[value] / total) for value, share in before.items()}


def trajectory_lift(given_steps: Steps, outputs: Sequence[int | None], *, least: bool = False) -> Any:
    """Return max (or min) over trajectories x that occur of P(outputs | x) / P(outputs), by Viterbi's recursion.

    Of a chain in doubles it is a ball: the ratio soon leaves what doubles hold.
    """
    steps, pick = given_steps if given_steps.exact else given_steps.wide, min if least else max
    given = [*outputs, *[None] * (len(steps) - len(outputs))]
    alpha, best = steps.start, [steps.ones[0] if p > 0 else None for p in steps.start]
    for t, y in enumerate(given):
        steps.in_time()
        likelihood = steps.likelihoods(t, y)
        if t > 0:
            alpha = alpha @ steps.moves[t - 1]
            best = [_best(best, steps.moves[t - 1][:, x], pick) for x in range(len(best))]
        alpha = alpha * likelihood
        best = [None if value is None else value * likelihood[x] for x, value in enumerate(best)]
    total = alpha.sum()
    if not total > 0:
        refuse_impossible(steps, outputs)
    return pick(value for value in best if value is not None) / total


def _best(before: list[Any], column: np.ndarray, pick: Any) -> Any:
    reached = [value for value, p in zip(before, column, strict=True) if value is not None and p > 0]
    return pick(reached) if reached else None


def ratio(above: Any, below: Any) -> Any:
    """Return above / below, infinite over 0; a Fraction of whole numbers or fractions."""
    if below == 0:
        return float("inf")
    whole = isinstance(above, (int, Fraction)) and isinstance(below, (int, Fraction))
    return Fraction(above) / Fraction(below) if whole else above / below


def middle(value: Any) -> float | Fraction:
    """Return a fraction or double as it is, and a ball as the double in its middle."""
    return float(value) if hasattr(value, "mid") else value


def pinned(value: Any) -> float | Fraction:
    """Return a fraction or double as it is, and a ball as the fraction in its middle, however small; 0 as a double."""
    return value if not hasattr(value, "mid") else exact.fraction(value.mid()) if value > 0 else 0.0


def log_of(value: Any, unit: Unit) -> float:
    """Return the logarithm of a ratio of at least 0: correctly rounded for a Fraction; log 0 and infinity as they are.

    That of a ball is rounded.

    >>> log_of(Fraction(8), "bits"), log_of(0.0, "nats"), log_of(float("inf"), "nats")
    (3.0, -inf, inf)
    """
    per = nats_per(unit)
    if isinstance(value, float):
        return math.log(value) / per if 0 < value < math.inf else value or -math.inf
    if hasattr(value, "mid"):
        return float(value.log()) / per if value > 0 else -math.inf
    return exact.log(value, unit)
