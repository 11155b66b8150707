"""How many were in each cell, estimated from points that were moved by a distance: maximum likelihood by expectation
maximization, which for a convolution is the method of Richardson (1972) and Lucy (1974)."""

import math
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.model.entries import whole_number
from divulge.releasing.drawing.coding import dictionary_of
from divulge.releasing.drawing.placed import PlacePart
from divulge.releasing.estimating.estimate import Frequencies, doubts
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.records.receipt import Receipt
from divulge.releasing.reports.collected import opened_by

MOST_CELLS = 1 << 23
"""So many cells, with a margin for noise, are convolved: half a second a round."""

ROUNDS = 200
"""Rounds of expectation maximization; fewer blur more, many follow chance."""

FAR = 37.0
"""Noise beyond this over the rate of a cell has a chance below 1e-15."""


def densities(
    released: Any, receipt: Receipt, noise: MetricNoise, top: Any = None, engine: Any = "local"
) -> Frequencies:
    """Return the estimated share of each cell, biased and without intervals, for the middles of cells."""
    top = None if top is None else whole_number(top, "top")
    counts = _counts(released, receipt, noise, engine)
    across, up = noise.size if noise.box else (*noise.size, 1)
    shares = unblurred(counts.reshape(up, across).astype(float), float(noise.a)).ravel()
    order = np.argsort(-shares, kind="stable")[: len(shares) if top is None else top]
    middles = PlacePart(noise).middles(np.column_stack([order % across, order // across]))
    names = tuple(zip(*(axis.tolist() for axis in middles), strict=True)) if noise.box else tuple(middles[0].tolist())
    none = np.full(len(order), math.nan)
    rows = int(counts.sum())
    return Frequencies(names, shares[order], none, none, rows, 0.95, True, "em", 1.0,
                       doubts=doubts(receipt, released, rows, engine))  # fmt: skip


def _counts(released: Any, receipt: Receipt, noise: MetricNoise, engine: Any) -> np.ndarray:
    """Return how many points each cell has, in the order of its number."""
    source, names, part = opened_by(released, engine), receipt.names_of(noise), PlacePart(noise)
    source.require_values(names)
    found = np.zeros(math.prod(noise.size), dtype=np.int64)
    for batch in source.batches(list(names)):
        coded = part.coded({own: dictionary_of(batch.column(name))
                            for own, name in zip(noise.columns, names, strict=True)})  # fmt: skip
        if (coded.rows < 0).any():
            raise DivulgeError.of("released", "have a published point in every row", "it", "something else",
                                  "is this the table the receipt was written for?")  # fmt: skip
        found += np.bincount(coded.rows, minlength=len(found))
    if not found.sum():
        raise DivulgeError.of("released", "have at least one row", "it", "empty")
    return found


def unblurred(counts: np.ndarray, a: float) -> np.ndarray:
    """Return the shares that make counts of clamped noise of a rate per cell most likely, after `ROUNDS` rounds.

    >>> unblurred(np.array([[0.0, 10.0, 0.0]]), 50.0).round(6).tolist()  # hardly any noise
    [[0.0, 1.0, 0.0]]
    """
    convolve = require("scipy.signal", "science").oaconvolve
    reach = math.ceil(FAR / a)
    wide = [reach if n > 1 else 0 for n in counts.shape]
    if math.prod(n + 2 * m for n, m in zip(counts.shape, wide, strict=True)) > MOST_CELLS:
        raise DivulgeError.of("released", f"be on at most {MOST_CELLS:,} cells with a margin", "they", "more",
                              "larger cells (grid=, --grid) can be estimated.")  # fmt: skip
    axes = [np.arange(-m, m + 1) for m in wide]
    kernel = np.exp(-a * np.hypot(axes[0][:, None], axes[1][None, :]))
    kernel /= kernel.sum()
    rows, columns = counts.shape
    up, along = wide

    def forward(p: np.ndarray) -> np.ndarray:
        """Move, and clamp: what leaves the region comes to its border."""
        out = np.maximum(convolve(p, kernel), 0)
        out[up, :] += out[:up, :].sum(axis=0)
        out[up + rows - 1, :] += out[up + rows :, :].sum(axis=0)
        out = out[up : up + rows, :]
        out[:, along] += out[:, :along].sum(axis=1)
        out[:, along + columns - 1] += out[:, along + columns :].sum(axis=1)
        return out[:, along : along + columns]

    def back(w: np.ndarray) -> np.ndarray:
        """Return the mean of w where a cell is moved to: the transpose of `forward`."""
        return convolve(np.pad(w, ((up, up), (along, along)), mode="edge"), kernel, mode="valid")

    q = counts / counts.sum()
    p = np.full(counts.shape, 1 / counts.size)
    for _ in range(ROUNDS):
        seen = forward(p)
        p = p * np.maximum(back(np.divide(q, seen, out=np.zeros_like(q), where=seen > 1e-300)), 0)
        p /= p.sum()
    return p
