"""The entries and labels of a channel as the cells of a file."""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.channel import Channel
from divulge.model.labels import text_of


def cells(channel: Channel) -> list[list[Any]]:
    """Return the entries as floats, or as fractions in text; 1 is then 1/1, so that the file says it is exact."""
    matrix = np.asarray(channel).tolist()
    return [[f"{v.numerator}/{v.denominator}" for v in row] for row in matrix] if channel.exact else matrix


def texts(labels: Iterable[Hashable], axis: str) -> list[str]:
    """Return labels as the text by which values are known; refuse labels that only differ in what they were before."""
    found = [text_of(label) or "" for label in labels]
    if len(set(found)) != len(found):
        raise DivulgeError.of(axis, "differ as text to be written to a file", "one label", "there twice")
    return found
