"""Pictures of privacy losses, drawn with matplotlib (extra: plot)."""

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.extras import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curves(loss: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw delta(epsilon) and the tail P(L > epsilon) over epsilon >= 0 and return the axes."""
    ax = drawable(ax)
    ends = (loss.highest, loss.epsilon(1e-12), loss.epsilon(min(1.0, 1.001 * loss.infinite + 1e-12)))
    top = max(next((end for end in ends if math.isfinite(end)), 0.0), 0.0) or 1.0
    epsilons = np.linspace(0.0, 1.05 * top, 400)
    ax.plot(epsilons, loss.delta(epsilons), label="delta(epsilon)")
    ax.plot(epsilons, loss.tail(epsilons), label="P(loss > epsilon)", linestyle="--", drawstyle="steps-post")
    if loss.infinite > 0:
        ax.axhline(loss.infinite, color="0.5", linestyle=":", label=f"P(loss = inf) = {loss.infinite:.3g}")
    ax.set_xlabel("epsilon [nats]")
    ax.set_ylabel("probability")
    ax.set_ylim(0, 1.02)
    ax.legend()
    return ax


def composed(composition: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw the bracket on delta(epsilon) of a composition, on a logarithmic scale, and return the axes."""
    ax = drawable(ax)
    rough = composition.roughly(1e-3)
    top = min(rough.epsilon(1e-12).upper, rough.pure_epsilon, rough.epsilon(min(1.0, 2 * rough.infinite + 1e-9)).upper)
    epsilons = np.linspace(0.0, top, 60)
    brackets = [rough.delta(float(e)) for e in epsilons]
    ax.fill_between(epsilons, [b.lower for b in brackets], [b.upper for b in brackets], alpha=0.4)
    ax.plot(epsilons, [b.upper for b in brackets], label="delta(epsilon), upper bound")
    ax.set_yscale("log")
    ax.set_ylim(max(1e-13, 0.5 * min(b.upper for b in brackets)), 1.5)
    ax.set_xlabel("epsilon [nats]")
    ax.set_ylabel("delta")
    ax.legend()
    return ax


def growth(found: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw E[pml | X = x] over the number of releases with -log P_x dashed, and return the axes."""
    ax = drawable(ax)
    curves = zip(found.by_secret.T, found.limits, found.secrets, strict=True)
    for (values, limit, secret), mark in zip(curves, itertools.cycle("os^Dv<>P")):
        (line,) = ax.plot(found.counts, values, marker=mark, markersize=4, label=f"secret {secret}")
        ax.axhline(limit, color=line.get_color(), linestyle="--", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xlabel("releases about the same secret")
    ax.set_ylabel("E[pml | X = x] [nats]; dashed: its limit")
    ax.legend(loc="center right")
    return ax
