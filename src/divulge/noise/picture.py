"""The picture of a noise mechanism: pml(y) and pmc(y) over y, the outcome's density under them (extra: plot)."""

import math
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from divulge.extras import drawable
from divulge.noise.answers import outcomes
from divulge.noise.laws.law import Side
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDEST = 4.0
"""So many times the interval with 9/10 of the mass is drawn on either side of the middle at most."""

_COLORS = {"pml": "#b2182b", "pmc": "#2166ac", "density": "#d9d9d9"}

_LINES = {"pml": {"linewidth": 1.8}, "pmc": {"linewidth": 1.8, "linestyle": "--"}}
_POINTS = {
    "pml": {"marker": "o", "markersize": 3, "linestyle": "none"},
    "pmc": {"marker": "s", "markersize": 3.5, "linestyle": "none", "fillstyle": "none"},
}
"""What tells the two apart without color."""


def span(mechanism: Any) -> tuple[float, float]:
    """Return an interval of outcomes for drawing: all but 1e-4 of the mass, or of heavy tails what shows the middle."""
    law, noise = mechanism.law, mechanism.noise
    left, right = _shown(noise.frozen) if noise.frozen is not None else (-10 * noise.scale, 10 * noise.scale)
    low, high = law.low, law.high
    if not law.bounded and mechanism.secret.continuous is not None:
        low, high = _shown(mechanism.secret.continuous)
    return low + left + noise.loc, high + right + noise.loc


def _shown(distribution: Any) -> tuple[float, float]:
    middle, *ends = (float(v) for v in distribution.ppf([0.5, 5e-5, 0.05, 0.95, 1 - 5e-5]))
    far = _WIDEST * (ends[2] - ends[1])
    return max(ends[0], middle - far), min(ends[3], middle + far)


def plot(mechanism: Any, y: Any = None, ax: "Axes | None" = None, unit: Unit = "nats") -> "Axes":
    """Draw the mechanism on matplotlib axes and return them."""
    ax = drawable(ax, (7, 4.2))
    lattice = mechanism.noise.step is not None
    if y is None:
        first, last = span(mechanism)
        every = outcomes.points(mechanism) if lattice else np.linspace(first, last, 801)
        y = every[(every >= first) & (every <= last)]
    y = np.asarray(y, dtype=np.float64).ravel()
    under = ax.twinx()
    density = mechanism.density(y)
    if lattice:
        under.bar(y, density, width=0.8 * mechanism.noise.parameters["step"], color=_COLORS["density"], zorder=0)
    else:
        under.fill_between(y, density, color=_COLORS["density"], linewidth=0, zorder=0)
    under.set_ylim(0, 2.2 * float(density.max()))
    under.set_ylabel("probability of y" if lattice else "density of y", color="#767676")
    under.tick_params(axis="y", colors="#767676")
    for side in get_args(Side):
        found = mechanism.supremum(side)
        value = mechanism.pml(y, unit) if side == "pml" else mechanism.pmc(y, unit)
        style: dict[str, Any] = _POINTS[side] if lattice else _LINES[side]
        if np.isfinite(value).any():
            ax.plot(y, np.where(np.isfinite(value), value, np.nan), color=_COLORS[side], label=f"{side}(y)", **style)
        if math.isfinite(found.value):
            top = found.value / nats_per(unit)
            ax.axhline(top, color=_COLORS[side], linestyle=":", linewidth=1, label=f"largest {side}")
        elif not np.isfinite(value).any():
            ax.plot([], [], color=_COLORS[side], label=f"{side} is infinite everywhere", **style)
    ax.set_zorder(under.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.set_ylim(bottom=0)
    ax.margins(x=0)
    ax.set_xlabel("outcome y")
    ax.set_ylabel(f"leakage [{unit}]")
    ax.set_title(_title(mechanism), fontsize=10)
    ax.legend(loc="best", fontsize=8, framealpha=0.9)
    return ax


def _title(mechanism: Any) -> str:
    arguments = ", ".join(f"{k} {v:g}" for k, v in mechanism.noise.described.items())
    about = f", one of {mechanism.records} records" if mechanism.records > 1 else ""
    return f"{mechanism.noise.kind} noise ({arguments}) on {mechanism.secret.description}{about}"
