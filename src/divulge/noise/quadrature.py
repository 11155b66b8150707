"""Integrals by the Gauss-Kronrod rule of 7 and 15 points (QUADPACK, Piessens et al. 1983), many at a time.

Each comes with an estimate of its error: the distance of the two rules. `scipy.integrate.quad_vec` does it for
one range, a point at a time; here each of thousands of integrals has a range of its own, halved where it is rough.
"""

from collections.abc import Callable

import numpy as np

from divulge.errors import DivulgeError

_TOLERANCE = 1e-12
"""Error that is aimed at, as a share of the integral: some thousand roundings, below the 9 digits that are shown."""

_HALVINGS, _MOST_ROUGH = 40, 32
"""Times that a rough panel is halved, and rough panels per integral beyond which none is halved further."""

NARROW = 1e-13
"""Panels shorter than this share of where they are have too few doubles inside for a rule."""


def finite_or_zero(values: np.ndarray) -> np.ndarray:
    """Return the values, 0 for those that are infinite or no number, as at singular ends."""
    return np.where(np.isfinite(values), values, 0.0)


def integral(f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> tuple[float, float]:
    """Return (integral of f over the panels between `edges`, estimate of its error); f is called on arrays."""
    value, error = integrals(lambda x, row: f(x), edges[None, :])
    return float(value[0]), float(error[0])


def integrals(
    f: Callable[[np.ndarray, np.ndarray], np.ndarray], edges: np.ndarray, beside: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return (integral, estimate of its error) for each row of panel edges, relative to the size of its row.

    Where something is added to the row, `beside`, the size is that of the larger.

    f(x, row) gives the integrand of `row` at x. Panels are integrated by the Kronrod rule and halved where they are
    rough, up to a number of panels per row: what error is left then is returned. Halving again and again puts up with
    densities that are singular at an end of a panel.
    """
    left, right = edges[:, :-1], edges[:, 1:]
    rows, at = np.nonzero(right - left > NARROW * np.maximum(np.abs(left), np.abs(right)))
    a, b = left[rows, at], right[rows, at]
    value, error, size = np.zeros(len(edges)), np.zeros(len(edges)), np.ones(len(edges))

    def finite(x: np.ndarray, row: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return finite_or_zero(f(x, row))

    for halving in range(_HALVINGS + 1):
        part, wrong = panels(lambda x, rows=rows: finite(x, rows[:, None]), a, b)
        if not halving:
            rough = np.bincount(rows, part, len(edges))
            size = np.maximum(np.where(rough > 0, rough, 0.0), beside)
            size = np.where(size > 0, size, 1.0)
        cut = (wrong > _TOLERANCE / 8 * size[rows]) & (b - a > NARROW * np.maximum(np.abs(a), np.abs(b)))
        if halving == _HALVINGS or cut.sum() > _MOST_ROUGH * len(edges):
            cut = np.zeros(len(rows), dtype=bool)
        value += np.bincount(rows[~cut], part[~cut], len(edges))
        error += np.bincount(rows[~cut], wrong[~cut], len(edges))
        if not cut.any():
            break
        middle = (a + b)[cut] / 2
        a, b, rows = np.concatenate([a[cut], middle]), np.concatenate([middle, b[cut]]), np.tile(rows[cut], 2)
    if not np.isfinite(value).all():
        raise DivulgeError.of("secret", "have a density that can be integrated", "an integral", "not finite")
    return value, error + _TOLERANCE * size


_NODES = np.array([
    0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926,
    0.741531185599394439863864773280788, 0.586087235467691130294144691693013, 0.405845151377397166906606412076961,
    0.207784955007898467600689403773245, 0.000000000000000000000000000000000,
])  # fmt: skip
_KRONROD = np.array([
    0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518,
    0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014,
    0.204432940075298892414161999234649, 0.209482141084727828012999174891714,
])  # fmt: skip
_GAUSS = np.array([
    0.0, 0.129484966168869693270611432679082, 0.0, 0.279705391489276667901467771423780,
    0.0, 0.381830050505118944950369775488975, 0.0, 0.417959183673469387755102040816327,
])  # fmt: skip


def _mirrored(half: np.ndarray, sign: float = 1.0) -> np.ndarray:
    return np.concatenate([half, sign * half[-2::-1]])


_X, _WEIGHTS, _COARSE = _mirrored(_NODES, -1.0), _mirrored(_KRONROD), _mirrored(_GAUSS)


def panels(f: Callable[[np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (integrals over the panels [a, b], their distances to those by the 7-point rule or to rounding)."""
    half = (b - a) / 2
    at = f((a + b)[:, None] / 2 + half[:, None] * _X)
    with np.errstate(over="ignore", invalid="ignore"):  # an integral that is not finite is refused
        value = at @ _WEIGHTS * half
        rounding = 4e-16 * (np.abs(at) @ _WEIGHTS) * half
        return value, np.maximum(np.abs(value - at @ _COARSE * half), rounding)


def adaptive(
    f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray, tolerance: float = 1e-11, budget: int = 400_000
) -> tuple[np.ndarray, np.ndarray]:
    """Return (integrals, estimates of their errors) over the panels between `edges` of f, which gives several at once.

    f maps an array of points to an array with one leading axis more. Each panel is integrated by the 15-point Kronrod
    rule; its whole distance to the 7-point Gauss rule counts as its error, which is far more than the error where f is
    smooth. Panels with the largest errors are halved (so a kink ends up in a panel too short to matter) until all
    errors add up to `tolerance` or f was called at `budget` points; what error is left then is returned.
    """
    a, b = edges[:-1], edges[1:]
    value, error = panels(f, a, b)
    done_value, done_error = np.zeros(len(value)), np.zeros(len(value))
    spent = len(_X) * len(a)
    while True:
        share = (tolerance - np.minimum(done_error, tolerance / 2)) / (2 * len(a))
        small = (error <= share[:, None]).all(axis=0) | (b - a <= 1e-13 * np.maximum(np.abs(a), np.abs(b)))
        done_value, done_error = done_value + value[:, small].sum(axis=1), done_error + error[:, small].sum(axis=1)
        a, b, value, error = a[~small], b[~small], value[:, ~small], error[:, ~small]
        if not len(a) or (done_error + error.sum(axis=1) <= tolerance).all() or spent + 30 * len(a) > budget:
            return done_value + value.sum(axis=1), done_error + error.sum(axis=1)
        middle = (a + b) / 2
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
        value, error = panels(f, a, b)
        spent += len(_X) * len(a)
