"""Do the rows look like draws from the mechanism they are said to come from?"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.channel import Channel
from divulge.releasing.drawing.coding import finder


@dataclass(frozen=True)
class Conformity:
    """An exact test of the rows against a channel.

    p_value : probability, under the channel, of a cell as far from its expectation as the farthest one; Bonferroni over
        cells, at most 1. Valid for any number of rows.
    conforms : whether p_value is at least the risk asked for
    secret, outcome : labels of the farthest cell
    observed, expected : its count, and what the channel makes of the rows with that secret
    """

    p_value: float
    conforms: bool
    secret: Hashable
    outcome: Hashable
    observed: int
    expected: float

    def to_dict(self) -> dict[str, Any]:
        """Return the test as plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def conformity(
    counts: np.ndarray, secrets: tuple[Hashable, ...], outcomes: tuple[Hashable, ...], channel: Channel, risk: float
) -> Conformity:
    """Return the test of `counts` of shape (N, M) against `channel`: two-sided binomial, Bonferroni over cells."""
    binom = require("scipy.stats", "science").binom
    full = aligned(counts, secrets, outcomes, channel)
    seen = np.flatnonzero(full.any(axis=1))
    matrix = exact.as_floats(channel.matrix.toarray() if channel.sparse else channel.matrix)[seen]
    full = full[seen]
    n = full.sum(axis=1, keepdims=True)
    below, above = binom.cdf(full, n, matrix), binom.sf(full - 1, n, matrix)
    cell = np.minimum(1.0, 2 * np.minimum(below, above))
    i, j = (int(k) for k in np.unravel_index(cell.argmin(), cell.shape))
    p_value = min(1.0, float(cell[i, j]) * int((matrix < 1).sum() or 1))
    return Conformity(
        p_value,
        p_value >= risk,
        channel.secrets[seen[i]],
        channel.outcomes[j],
        int(full[i, j]),
        float(n[i, 0] * matrix[i, j]),
    )


def aligned(
    counts: np.ndarray, secrets: tuple[Hashable, ...], outcomes: tuple[Hashable, ...], channel: Channel
) -> np.ndarray:
    """Return the counts in the order of the channel's secrets and outcomes, matched by their text, or what it means."""
    rows = _positions(secrets, channel.secrets, "secret")
    columns = _positions(outcomes, channel.outcomes, "outcome")
    full = np.zeros(channel.shape, dtype=np.int64)
    np.add.at(full, np.ix_(rows, columns), counts)
    return full


def _positions(mine: tuple[Hashable, ...], theirs: Any, name: str) -> list[int]:
    found = list(map(finder(theirs), mine))
    missing = found.count(None)
    if missing:
        raise DivulgeError.of(
            "mechanism", f"have every {name} of the data as a label", f"the number of {name}s it lacks", str(missing),
            "labels are matched by their text; null_as names the one that stands for a missing value.",
        )  # fmt: skip
    return [i for i in found if i is not None]
