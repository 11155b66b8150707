"""Randomized functions U of the secret, and the two adversaries who guess U."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge import exact
from divulge.adversaries.adversary import Cost, Gain
from divulge.errors import DivulgeError
from divulge.model.accepted import LabelsLike
from divulge.model.arraylike import HasArray, Number
from divulge.model.channel import Channel, is_sparse
from divulge.model.convert import as_channel
from divulge.model.entries import entries, whole_number
from divulge.model.labels import Labels

MOST_ENTRIES = 10**7
"""Probabilities that are written out: 80 MB of doubles."""


@dataclass(frozen=True, repr=False)
class RandomizedFunction:
    """A randomized function U of the secret, K_xu = P(u | x): the thing an adversary wants to know.

    Parameters
    ----------
    kernel : Channel, or array_like of shape (N, symbols)

    Examples
    --------
    >>> function = RandomizedFunction([["1", "0"], ["1", "0"], ["0", "1"]])
    >>> joint = (["1/3", "1/3", "1/3"], Channel([["1", "0"], ["1/2", "1/2"], ["0", "1"]]))
    >>> dv.leakage(joint, function.opportunistic, case="max"), dv.leakage(joint, function.risk_averse, case="max")
    (Fraction(3, 2), inf)
    """

    kernel: Channel

    def __post_init__(self) -> None:
        object.__setattr__(self, "kernel", as_channel(self.kernel))

    @classmethod
    def spread(
        cls, misses: Sequence[Number] | HasArray, k: int = 1, secrets: Iterable[Hashable] | None = None
    ) -> "RandomizedFunction":
        """Return U that is the symbol k with probability 1 - misses_x, else one of 0, ..., k-1, evenly.

        A guesser who says k is wrong with probability E[misses(X)].

        Examples
        --------
        >>> RandomizedFunction.spread(["1/2", "0"], k=2).kernel.matrix.tolist()[0]
        [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
        """
        misses = entries(misses, "misses", 1, lambda index: f"entry {index[0]}")
        k = whole_number(k, "k", 1, MOST_ENTRIES)
        if not len(misses) * (k + 1) <= MOST_ENTRIES:
            raise DivulgeError.of(
                "k", f"give at most {MOST_ENTRIES} probabilities for {len(misses)} secrets", "it", str(k)
            )
        kernel = np.empty((len(misses), k + 1), dtype=misses.dtype)
        kernel[:, :k] = (misses / k)[:, None]
        kernel[:, k] = 1 - misses
        return cls(Channel(kernel, secrets))

    @classmethod
    def of(
        cls, secrets: LabelsLike, function: Callable[[Any], Hashable] | Mapping[Any, Hashable]
    ) -> "RandomizedFunction":
        """Return a function of the secret without randomness, given as a function or mapping from secret to value.

        Examples
        --------
        >>> RandomizedFunction.of(range(3), lambda x: x % 2).kernel.matrix.astype(int).tolist()
        [[1, 0], [0, 1], [1, 0]]
        """
        gain = Gain.property(secrets, function)
        return cls(Channel(gain.matrix.T, gain.secrets, gain.actions))

    @property
    def symbols(self) -> Labels:
        """The values of U."""
        return self.kernel.outcomes

    @property
    def _dense(self) -> np.ndarray:
        matrix: Any = self.kernel.matrix
        return matrix.toarray() if is_sparse(matrix) else matrix

    @property
    def opportunistic(self) -> Gain:
        """The gain g(u, x) = K_xu: the probability of guessing U right."""
        return Gain(self._dense.T, self.symbols, self.kernel.secrets)

    @property
    def risk_averse(self) -> Cost:
        """The cost c(u, x) = 1 - K_xu: the probability of guessing U wrong."""
        k = self._dense
        if exact.is_exact(k):
            return Cost((1 - k).T, self.symbols, self.kernel.secrets)
        wrong = 1 - k
        likely = k > 0.5
        others = k.sum(axis=1, keepdims=True, where=~likely)
        return Cost(np.where(likely, others, wrong).T, self.symbols, self.kernel.secrets)

    def __repr__(self) -> str:
        return f"RandomizedFunction with {len(self.symbols)} symbols\n" + repr(self.kernel).split("\n", 1)[1]
