"""What is kept: utilities of a mechanism, as a table."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np

from divulge.errors import DivulgeError

Function = Callable[[np.ndarray], np.ndarray]
_LISTED = 1_000_000
"""Terms that are added up without an error of rounding, in a tenth of a second; of more, rows are added up first."""
UNIT = 2.0**-50
"""How far floating point moves the value of a function, as a share of its terms."""
_STEP = 1e-5
"""Half the width of central differences, near the cube root of 1e-16: error of truncation and rounding about equal."""


@dataclass(frozen=True)
class SubConvex:
    """U = sum_y q_y sum_x P_x f(v_xy) for a convex f of the lift v = P(y | x) / q_y with f(1) = 0, flat at 1.

    Lifts average to 1, so that f may be tilted by any line through f(1) = 0: flat there, it keeps the digits of
    mechanisms that say little.
    """

    name: str
    f: Function
    logarithmic: bool = False
    terms: tuple[float, float] = (0.0, 0.0)
    """How large the terms are, beside f itself, that f(v) is a sum of: at v = 1, and more per |v - 1|."""
    rise: Function | None = None
    """The derivative of f, where it is known; else differences of f, which have few digits near 0."""
    least: ClassVar[bool] = False
    leveled: ClassVar[bool] = True
    """Whether the mass on each level of a vertex decides its utility, whichever secrets are there."""

    @property
    def steep(self) -> bool:
        """Whether f falls so fast from 0 that turning a zero into a tiny probability costs utility."""
        at_zero, near = self.f(np.array([0.0, 2.0**-40])).tolist()
        return bool(at_zero - near > 2.0**-34)

    def of(self, prior: np.ndarray, channel: np.ndarray) -> float:
        """Return the utility of a float channel of shape (N, M)."""
        q = prior @ channel
        seen = q > 0
        lifts = channel[:, seen] / q[seen]
        terms = prior[:, None] * q[seen] * self.f(lifts)  # none is negative: what rounds is each by itself
        return max(0.0, math.fsum((terms if terms.size <= _LISTED else terms.sum(axis=1)).ravel().tolist()))

    def at(self, prior: np.ndarray, lifts: np.ndarray) -> np.ndarray:
        """Return mu(v) = sum_x P_x f(v_x) of each row of lifts, shape (n,)."""
        return self.f(lifts) @ prior

    def doubt(self, mass: np.ndarray, lifts: np.ndarray, off: np.ndarray, least: np.ndarray, unit: float) -> np.ndarray:
        """Return how far mu(v) of each row of lifts may be off, shape (n,): `slack`, at lifts of these masses."""
        return (self.slack(lifts, off, least[:, None], unit) * mass).sum(axis=-1)

    def added(self, prior: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return what each column (N, M) of a channel adds to the utility, shape (M,)."""
        q = prior @ columns
        return q * self.at(prior, np.where(q > 0, columns / np.where(q > 0, q, 1.0), 1.0).T)

    def slack(self, lifts: np.ndarray, off: Any = 0.0, least: Any = 0.0, unit: float = UNIT) -> np.ndarray:
        """Return how far f may be off at lifts, at least `least`, that are off by a unit of rounding and by `off`."""
        values, off = self.f(lifts), off + unit * lifts
        moved = np.maximum(self.f(lifts + off), self.f(np.maximum(lifts - off, least))) - values
        return unit * (np.abs(values) + self.terms[0] + self.terms[1] * np.abs(lifts - 1)) + np.maximum(moved, 0.0)

    @property
    def raised(self) -> "SubConvex":
        """The utility of an f that is surely no smaller, in spite of floating point."""
        return replace(self, f=lambda v: self.f(v) + self.slack(v))

    def slopes(self, prior: np.ndarray, channel: np.ndarray) -> np.ndarray:
        """Return scores s (N, M) whose mean, linear in the channel, is the utility here and never more elsewhere.

        At lifts below 2^-40 (2^-20 without a derivative) it is the tangent there, and a little less than the utility.
        """
        q = prior @ channel
        lifts = np.where(q > 0, channel / np.where(q > 0, q, 1.0), 1.0)
        v = np.maximum(lifts, 2.0**-20 if self.rise is None else 2.0**-40)
        step = _STEP * v
        rise = (self.f(v + step) - self.f(v - step)) / (2 * step) if self.rise is None else self.rise(v)
        return rise + prior @ (self.f(v) - v * rise)


def _entropy(v: np.ndarray) -> np.ndarray:
    return v * np.log(np.where(v > 0, v, 1.0)) - (v - 1)


def _burg(v: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return (v - 1) - np.log(v)


SUBCONVEX: dict[str, SubConvex] = {
    u.name: u
    for u in (
        SubConvex("mutual-information", _entropy, True, (0.0, 1.0), np.log),
        SubConvex("total-variation", lambda v: np.abs(v - 1) / 2, rise=lambda v: np.sign(v - 1) / 2),
        SubConvex("chi-squared", lambda v: (v - 1) ** 2, rise=lambda v: 2 * (v - 1)),
        SubConvex("hellinger", lambda v: ((v - 1) / (np.sqrt(v) + 1)) ** 2, rise=lambda v: 1 - 1 / np.sqrt(v)),
        SubConvex("lautum-information", _burg, True, (0.0, 1.0), lambda v: 1 - 1 / v),
        SubConvex(
            "le-cam", lambda v: (v - 1) ** 2 / (2 * (v + 1)), rise=lambda v: (v - 1) * (v + 3) / (2 * (v + 1) ** 2)
        ),
    )
}
"""Name -> utility: I(X; Y), E|v - 1|/2, E(v - 1)^2, squared Hellinger, -E log v, Vincze-Le Cam."""


def custom(function: Function) -> SubConvex:
    """Return the utility of a caller's convex function of the lift, checked for convexity on a grid."""
    grid = np.concatenate([np.linspace(0, 4, 257), np.geomspace(4, 1e6, 128)[1:]])
    f, values = _of_arrays(function, grid)
    finite = grid[1:-1][np.isfinite(values[1:-1])]
    if len(finite) < len(grid) - 2:
        raise DivulgeError.of("utility", "be finite at every positive lift", "it", "infinite or NaN somewhere")
    left, middle, right = grid[1:-2], grid[2:-1], grid[3:]
    share = (right - middle) / (right - left)
    secant = share * values[1:-2] + (1 - share) * values[3:]
    excess = values[2:-1] - secant
    allowed = 1e-9 * (np.abs(secant) + np.abs(values[2:-1]) + 1e-9)
    if not (excess <= allowed).all():
        at = float(middle[int(np.argmax(excess - allowed))])
        raise DivulgeError.of(
            "utility", "be a convex function of the lift", f"it near {at:g}", "above its chord",
            "only convex functions of P(y | x) / P(y) lose by post-processing.",
        )  # fmt: skip
    left, at_one, right = f(1 + np.array([-(2.0**-20), 0.0, 2.0**-20])).tolist()
    slope = (right - left) * 2.0**19
    name = getattr(function, "__name__", "custom").strip("<>")
    return SubConvex(name, lambda v: f(v) - at_one - slope * (v - 1), terms=(2 * abs(at_one), 2 * abs(slope)))


def _of_arrays(function: Function, grid: np.ndarray) -> tuple[Function, np.ndarray]:
    """Return the function of arrays, though it may take single numbers only, and its values on a grid."""

    def whole(v: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            values = np.asarray(function(v.ravel()), dtype=np.float64)
        return values.reshape(v.shape) if values.size == v.size else values

    def each(v: np.ndarray) -> np.ndarray:
        return np.array([_single(function, x) for x in v.ravel().tolist()]).reshape(v.shape)

    try:
        values = whole(grid)
    except Exception:  # whatever a caller's function of one number raises on an array
        return each, each(grid)
    if values.shape == grid.shape:
        return whole, values
    raise DivulgeError.of(
        "utility", "map an array of lifts to an array of one shape", "its result", f"of shape {values.shape}"
    )


def _single(function: Function, x: float) -> float:
    try:
        return float(cast(Any, function)(x))
    except ArithmeticError:
        return math.inf
    except Exception as error:
        raise DivulgeError.of(
            "utility", "be a function of the lift", f"it at {x:g}", f"refused: {type(error).__name__}"
        ) from None
