"""The order of the values of a column, the same for every order of rows: numbers by size, else texts; missing last."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from divulge.model.labels import number_of_label, text_of


def ranks(labels: Sequence[Hashable]) -> np.ndarray:
    """Return for each label its place in the order of the column; a missing one, None, comes last.

    >>> ranks(["9", "10", None]).tolist(), ranks(["b", "a", "10"]).tolist()
    ([0, 1, 2], [2, 1, 0])
    """
    known = [label for label in labels if label is not None]
    numbers = [number_of_label(label) for label in known]
    if None in numbers:
        keys: list[Any] = [text_of(label) for label in known]
    else:
        keys = [(number, text_of(label)) for number, label in zip(numbers, known, strict=True)]
    order = sorted(range(len(known)), key=keys.__getitem__)
    place = {known[i]: rank for rank, i in enumerate(order)}
    return np.array([len(known) if label is None else place[label] for label in labels], dtype=np.int64)
