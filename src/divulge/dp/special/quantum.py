"""Quantum differential privacy of small systems: sandwiched Renyi divergence of density matrices."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from divulge.dp.loss.numbers import order
from divulge.dp.variants.worst import Worst, largest
from divulge.errors import DivulgeError
from divulge.model.arraylike import HasArray
from divulge.model.convert import as_channel
from divulge.model.entries import TOLERANCE
from divulge.model.neighbors import NeighborsLike, ordered_pairs
from divulge.units import Unit, nats_per

_ZERO = 1e-12
"""Eigenvalues below this, of a state of trace 1, are 0."""


def quantum_renyi(rho: ArrayLike, sigma: ArrayLike, alpha: float, unit: Unit = "nats") -> float:
    """Return the sandwiched Renyi divergence of order alpha, in nats, in [0, +inf].

    log Tr[(s rho s)^alpha] / (alpha - 1) with s = sigma^((1 - alpha) / (2 alpha)); order 1 is the relative entropy
    Tr rho (log rho - log sigma), order +inf the max-divergence. Commuting states give the classical divergence of
    their eigenvalues. +inf where the support of rho is not in that of sigma.

    Parameters
    ----------
    rho, sigma : density matrices of shape (d, d)
    alpha : order, at least 1

    Returns
    -------
    float
        In [0, +inf], rising with alpha.

    Raises
    ------
    DivulgeError
        When `rho` or `sigma` is no density matrix, `alpha` is below 1, or `unit` is unknown.

    References
    ----------
    Müller-Lennert, Dupuis, Szehr, Fehr, Tomamichel, "On quantum Rényi entropies", arXiv:1306.3142.

    Examples
    --------
    >>> round(quantum_renyi([[0.5, 0.0], [0.0, 0.5]], [[0.25, 0.0], [0.0, 0.75]], 2.0), 12)  # log 4/3
    0.287682072452
    """
    alpha = order(alpha)
    a, b = _state(rho, "rho"), _state(sigma, "sigma")
    if a.shape != b.shape:
        raise DivulgeError.of("sigma", f"have the shape of rho, {a.shape}", "its shape", str(b.shape))
    values, vectors = np.linalg.eigh(b)
    shown = values > _ZERO
    inside = vectors[:, shown].conj().T @ a @ vectors[:, shown]
    if float(np.trace(a).real - np.trace(inside).real) > _ZERO * len(a):
        return math.inf
    kept = values[shown]
    if alpha == 1:
        own = np.linalg.eigvalsh(a)
        own = own[own > _ZERO]
        return max(0.0, float(own @ np.log(own) - np.real(np.diag(inside)) @ np.log(kept))) / nats_per(unit)
    power = -0.5 if alpha == math.inf else (1 - alpha) / (2 * alpha)
    ends = kept**power
    found = np.maximum(np.linalg.eigvalsh(ends[:, None] * inside * ends), 0.0)
    top = float(found.max())
    if alpha == math.inf:
        return max(0.0, math.log(top)) / nats_per(unit)
    total = alpha * math.log(top) + math.log(float(((found / top) ** alpha).sum()))
    return max(0.0, total / (alpha - 1)) / nats_per(unit)


def quantum_dp(
    states: Mapping[Any, HasArray] | Sequence[HasArray],
    alpha: float,
    neighbors: NeighborsLike = None,
    unit: Unit = "nats",
) -> Worst:
    """Return quantum Renyi DP: the largest sandwiched divergence of order alpha over ordered pairs of states, in nats.

    Parameters
    ----------
    states : mapping {secret: density matrix of shape (d, d)}, or sequence of density matrices
    alpha : float in [1, +inf], the order
    neighbors : which secrets are neighbors (default: all pairs); see `privacy_losses`

    Returns
    -------
    Worst
        A value in [0, +inf], and the ordered pair that reaches it.

    Raises
    ------
    DivulgeError
        When `states` are no density matrices of one size, `alpha` is below 1, `neighbors` is no relation between
        secrets, or `unit` is unknown.

    References
    ----------
    Müller-Lennert, Dupuis, Szehr, Fehr, Tomamichel, "On quantum Rényi entropies", arXiv:1306.3142; Desfontaines,
    "Lowering the cost of anonymization", 2020, Section 2.2.2 (QDP).

    Examples
    --------
    >>> plus, zero = [[0.5, 0.5], [0.5, 0.5]], [[1.0, 0.0], [0.0, 0.0]]
    >>> mixed = [[0.5, 0.0], [0.0, 0.5]]
    >>> quantum_dp({"plus": plus, "mixed": mixed}, 2.0, unit="bits")
    Worst(value=inf, pair=('mixed', 'plus'))
    """
    given = states_of(states)
    labels = tuple(given)
    pairs = ((labels[i], labels[j]) for i, j in ordered_pairs(labels, neighbors).tolist())
    return largest([Worst(quantum_renyi(given[x], given[y], alpha, unit), (x, y)) for x, y in pairs])


def states_of(released: Any) -> dict[Any, np.ndarray]:
    """Return {secret: density matrix} of a mapping or a sequence of them; a channel gives diagonal matrices."""
    if isinstance(released, Mapping):
        return {secret: _state(matrix, "states") for secret, matrix in released.items()}
    if isinstance(released, (list, tuple, np.ndarray)) and all(np.ndim(matrix) == 2 for matrix in released):
        return {secret: _state(matrix, "states") for secret, matrix in enumerate(released)}
    channel = as_channel(released)
    rows = channel.floats.toarray() if channel.sparse else channel.floats
    return {secret: np.diag(row).astype(np.complex128) for secret, row in zip(channel.secrets, rows, strict=True)}


def _state(matrix: Any, argument: str) -> np.ndarray:
    array = np.asarray(matrix, dtype=np.complex128)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or not np.isfinite(array).all():
        raise DivulgeError.of(argument, "be a finite square matrix", "its shape", str(array.shape))
    off = max(float(np.abs(array - array.conj().T).max()), abs(float(np.trace(array).real) - 1.0))
    if not off <= TOLERANCE or not float(np.linalg.eigvalsh(array).min()) >= -TOLERANCE:
        raise DivulgeError.of(argument, "be Hermitian, positive semidefinite and of trace 1", "it", "not")
    return array
