"""Integrals over a continuous secret, vectorized over outcomes, each with an estimate of its error."""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.secrets import SMALLEST

if TYPE_CHECKING:
    from divulge.noise.families import Noise
    from divulge.noise.secrets import Secret

_LEVELS = np.array([1e-30, 1e-18, 1e-12, 1e-8, 1e-5, 1e-3, 0.03, 0.2])
"""Quantile levels (from either end) at which an integral over the secret is split."""

_TOLERANCE = 1e-12
_CHUNK = 256

_HALVINGS, _MOST_ROUGH = 40, 32
"""Times that a rough panel is halved, and rough panels per integral beyond which none is halved further."""

_MOST_MISSED = 1e-3
"""A density whose integral is further than this from 1 is none."""

NARROW = 1e-13
"""Panels shorter than this share of where they are have too few doubles inside for a rule."""


def window(secret: "Secret") -> tuple[float, float]:
    """Return the support, cut where an unbounded one has 1e-30 of its mass left on either side."""
    dist = secret.continuous
    low = secret.low if math.isfinite(secret.low) else float(dist.ppf(_LEVELS[0]))
    high = secret.high if math.isfinite(secret.high) else float(dist.isf(_LEVELS[0]))
    return low, high


def quantile_marks(secret: "Secret") -> np.ndarray:
    """Return the ends of the window and the places inside it where the secret's density changes; kept on the secret.

    Those are quantiles, and the ends of panels that were halved until the density was smooth in them: kinks of the
    density are then met between panels, not inside.
    """
    kept = secret.__dict__.get("_marks")
    if kept is None:
        dist = secret.continuous
        inside = np.concatenate([dist.ppf(_LEVELS), [dist.ppf(0.5)], dist.isf(_LEVELS)])
        ends = window(secret)
        edges = np.unique(np.concatenate([np.clip(inside[np.isfinite(inside)], *ends), ends]))
        kept = secret.__dict__["_marks"] = _smooth_panels(lambda x: finite_or_zero(secret.density(x)), edges)
    return kept


def _slivers(secret: "Secret") -> tuple[list[tuple[float, float]], float]:
    """Return (the panels too narrow for a rule, as pairs (place, mass), and the mass in doubt); kept on the secret.

    Beside an end other than 0 that a density grows at without bound, doubles are too far apart to integrate it: what
    the other panels leave of the mass of 1 is there.
    """
    kept = secret.__dict__.get("_thin")
    if kept is None:
        marks, x = quantile_marks(secret), secret.continuous
        thin = np.diff(marks) <= NARROW * np.maximum(np.abs(marks[1:]), np.abs(marks[:-1]))
        pairs = [(float(a), float(b)) for a, b in zip(marks[:-1][thin], marks[1:][thin], strict=True)]
        middle = float(x.ppf(0.5))
        masses = [float(x.cdf(b) - x.cdf(a) if a < middle else x.sf(a) - x.sf(b)) for a, b in pairs]
        value, error = integral(secret.density, marks)
        over = math.fsum([value, *masses, *(p for _, p in secret.atoms)]) - 1
        if not abs(over) <= _MOST_MISSED:
            raise DivulgeError.of(
                "secret", "have a density with an integral of 1", "that integral", f"{1 + over:.6g}",
                "some scipy.stats names are periodic (use vonmises_line); else give the secret as a sample.",
            )  # fmt: skip
        share = math.fsum(masses)
        found = [(a, max(0.0, p * (1 - over / share))) for (a, _), p in zip(pairs, masses, strict=True) if share]
        kept = secret.__dict__["_thin"] = found, abs(over) + error if found else 0.0
    return kept


def _smooth_panels(f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> np.ndarray:
    """Return edges with more between them: panels with a kink inside are halved up to 30 times if it matters."""
    for _ in range(30):
        a, b = edges[:-1], edges[1:]
        rough = _panels(lambda x: f(x)[None], a, b)[1][0] > 1e-12
        rough &= b - a > 1e-8 * (edges[-1] - edges[0])
        if not rough.any() or len(edges) > 48:
            break
        edges = np.sort(np.concatenate([edges, ((a + b) / 2)[rough]]))
    return edges


def finite_or_zero(values: np.ndarray) -> np.ndarray:
    """Return the values, 0 for those that are infinite or no number, as at singular ends."""
    return np.where(np.isfinite(values), values, 0.0)


def expectation(
    secret: "Secret", f: Callable[[np.ndarray], np.ndarray], marks: np.ndarray | None = None
) -> tuple[float, float]:
    """Return (E f(X), bound on its error) for a non-negative function of a continuous secret."""
    edges, (thin, missed) = quantile_marks(secret), _slivers(secret)
    if marks is not None:
        edges = np.unique(np.concatenate([edges, np.clip(marks, edges[0], edges[-1])]))
    value, error = integral(lambda x: secret.density(x) * f(x), edges)
    there = f(np.array([place for place, _ in thin]))
    masses = np.array([mass for _, mass in thin])
    return value + float(masses @ there), error + missed * float(there.max(initial=0.0))


LogGiven = Callable[[np.ndarray, np.ndarray], np.ndarray]


def log_mixture(
    secret: "Secret", noise: "Noise", y: np.ndarray, log_scale: np.ndarray, log_given: LogGiven
) -> tuple[np.ndarray, np.ndarray]:
    """Return (log E exp(g(X, i)), estimate of its error) for each y_i; g(x, i) = `log_given` is about log f(y_i | x).

    `log_scale` is about max_x g(x, i): it is taken out so that nothing underflows.
    """
    fixed = quantile_marks(secret)
    out, err = np.empty(len(y)), np.empty(len(y))
    for start in range(0, len(y), _CHUNK):
        part = slice(start, start + _CHUNK)
        near = y[part, None] + noise.marks(float(fixed[-1] - fixed[0]))
        edges = np.hstack([np.broadcast_to(fixed, (len(near), len(fixed))), near])

        def given(x: np.ndarray, row: np.ndarray, start: int = start) -> np.ndarray:
            return log_given(x, start + row)

        def integrand(x: np.ndarray, row: np.ndarray, start: int = start) -> np.ndarray:
            return secret.density(x) * np.exp(log_given(x, start + row) - log_scale[start + row])

        value, error = integrals(integrand, np.sort(np.clip(edges, fixed[0], fixed[-1]), axis=1))
        out[part], err[part] = _log_with_slivers(secret, value, error, log_scale[part], given)
    return out, err


def _log_with_slivers(
    secret: "Secret", value: np.ndarray, error: np.ndarray, top: np.ndarray, log_given: LogGiven
) -> tuple[np.ndarray, np.ndarray]:
    """Return the log of (value + what the slivers add) e^top, and its error."""
    (thin, missed), row = _slivers(secret), np.arange(len(top))
    for place, mass in thin:
        there = np.exp(log_given(np.full(len(top), place), row) - top)
        value, error = value + mass * there, error + missed * there
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(value) + top, np.where(value > 0, error / value, math.inf)


def beyond(secret: "Secret", y: np.ndarray) -> np.ndarray:
    """Return whether y lies further out than all secrets but 1e-30 of them."""
    outermost = secret.__dict__.get("_outermost")
    if outermost is None:
        x = secret.continuous
        outermost = secret.__dict__["_outermost"] = float(x.ppf(_LEVELS[0])), float(x.isf(_LEVELS[0]))
    return (y < outermost[0]) | (y > outermost[1])


def window_matters(secret: "Secret", log_f: np.ndarray, log_best: np.ndarray) -> np.ndarray:
    """Return whether what lies outside the window can be more than 1e-13 of f(y): 1e-30 of the mass on either side."""
    with np.errstate(invalid="ignore"):  # an outcome that cannot occur
        return (log_best - log_f > math.log(1e-13 / _LEVELS[0])) & (not secret.bounded)


def log_far(secret: "Secret", noise: "Noise", y: np.ndarray, log_given: LogGiven) -> tuple[np.ndarray, np.ndarray]:
    """Return the same as `log_mixture` for y far from nearly all secrets, where those that count may lie anywhere.

    They are looked for first. Of secrets nearer to a possible y than to the median, the noise y - x is integrated over:
    doubles are too far apart there to tell the secrets from each other.
    """
    fixed, middle = quantile_marks(secret), float(secret.continuous.ppf(0.5))
    inside, right = (y > secret.low) & (y < secret.high), y > middle
    half = np.where(inside, (y + middle) / 2, np.clip(y, fixed[0], fixed[-1]))

    def log_at_secret(x: np.ndarray, row: np.ndarray) -> np.ndarray:
        return secret.log_density(x) + log_given(x, row)

    ends = np.where(right, np.minimum(fixed[0], half), half), np.where(right, half, np.maximum(fixed[-1], half))
    edges, top, x = _peaks(log_at_secret, _between(np.broadcast_to(fixed, (len(y), len(fixed))), *ends))

    at, v, h = np.flatnonzero(inside), y[inside], (y - half)[inside]
    start = float(noise.log_density(np.zeros(1))[0]) if noise.log_ratio is not None else 0.0

    def log_at_noise(z: np.ndarray, row: np.ndarray) -> np.ndarray:
        return secret.log_density(v[row] - z) + noise.log_density(z) - start

    z = np.hstack([np.broadcast_to(noise.far_marks, (len(at), len(noise.far_marks))), v[:, None] - fixed])
    z = _between(z, np.where(h > 0, z.min(axis=1), h), np.where(h > 0, h, z.max(axis=1)))
    near_edges, near_top, best = _peaks(log_at_noise, z)

    x[at] = np.where(near_top > top[at], v - best, x[at])
    if secret.ends_with_doubles and (secret.log_density(x) <= SMALLEST).any():
        raise DivulgeError.of(
            "y", "be an outcome near enough to the secrets", "the density of a secret", "below the smallest double",
            "scipy.stats has no log density for this distribution: ask about outcomes less far out.",
        )  # fmt: skip
    top[at] = np.maximum(top[at], near_top)
    value, error = integrals(lambda x, row: np.exp(log_at_secret(x, row) - top[row]), edges)
    more = integrals(lambda z, row: np.exp(log_at_noise(z, row) - top[at][row]), near_edges, beside=value[at])
    value[at], error[at] = value[at] + more[0], error[at] + more[1]
    return _log_with_slivers(secret, value, error, top, log_given)


def _between(edges: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the edges in [low, high] and these ends, in rising order along each row."""
    return np.sort(np.clip(np.column_stack([low, edges, high]), low[:, None], high[:, None]), axis=1)


_ZOOMS = 9


def _peaks(log_f: LogGiven, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (edges and shorter and shorter panels around the peak of log f, log f there, where), each row on its own.

    No panel is cut that is near too short for a rule.
    """
    rows, x, nested = np.arange(len(edges)), edges, [edges]
    top, where = np.full(len(edges), -math.inf), edges[:, 0]
    for _ in range(_ZOOMS):
        found = log_f(x, rows[:, None])
        found = np.where(np.isfinite(found), found, -math.inf)
        at = found.argmax(axis=1)
        higher = found[rows, at] > top
        top, where = np.where(higher, found[rows, at], top), np.where(higher, x[rows, at], where)
        low, high = x[rows, np.maximum(at - 1, 0)], x[rows, np.minimum(at + 1, x.shape[1] - 1)]
        wide = high - low > 100 * NARROW * np.maximum(np.abs(low), np.abs(high))
        x = low[:, None] + (high - low)[:, None] * np.linspace(0, 1, 17)
        nested.append(np.where(wide[:, None], x[:, [0, 8, 16]], edges[:, :1]))
    return np.sort(np.hstack(nested), axis=1), np.where(np.isfinite(top), top, 0.0), where


def integral(
    f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray, tolerance: float = _TOLERANCE
) -> tuple[float, float]:
    """Return (integral of f over the panels between `edges`, estimate of its error); f is called on arrays."""
    value, error = integrals(lambda x, row: f(x), edges[None, :], tolerance)
    return float(value[0]), float(error[0])


def integrals(
    f: Callable[[np.ndarray, np.ndarray], np.ndarray],
    edges: np.ndarray,
    tolerance: float = _TOLERANCE,
    beside: np.ndarray | float = 0.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return (integral, estimate of its error) for each row of panel edges, relative to the size of its row.

    Where something is added to the row, `beside`, the size is that of the larger.

    f(x, row) gives the integrand of `row` at x. Panels are integrated by the Kronrod rule and halved where they are
    rough, up to a number of panels per row: what error is left then is returned. Halving again and again puts up with
    densities that are singular at an end of a panel.
    """
    left, right = edges[:, :-1], edges[:, 1:]
    rows, panels = np.nonzero(right - left > NARROW * np.maximum(np.abs(left), np.abs(right)))
    a, b = left[rows, panels], right[rows, panels]
    value, error, size = np.zeros(len(edges)), np.zeros(len(edges)), np.ones(len(edges))

    def finite(x: np.ndarray, row: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            return finite_or_zero(f(x, row))

    for halving in range(_HALVINGS + 1):
        part, wrong = _panels(lambda x, rows=rows: finite(x, rows[:, None]), a, b)
        if not halving:
            rough = np.bincount(rows, part, len(edges))
            size = np.maximum(np.where(rough > 0, rough, 0.0), beside)
            size = np.where(size > 0, size, 1.0)
        cut = (wrong > tolerance / 8 * size[rows]) & (b - a > NARROW * np.maximum(np.abs(a), np.abs(b)))
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
    return value, error + tolerance * size


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


def _panels(f: Callable[[np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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
    value, error = _panels(f, a, b)
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
        value, error = _panels(f, a, b)
        spent += len(_X) * len(a)
