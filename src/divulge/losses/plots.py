"""Pictures of privacy losses, drawn with matplotlib (extra: plot)."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.extras import require

if TYPE_CHECKING:
    from divulge.losses.loss import PrivacyLoss


def curves(loss: "PrivacyLoss", ax: Any = None) -> Any:
    """Draw delta(epsilon) and the tail P(L > epsilon) over epsilon >= 0 and return the axes."""
    pyplot = require("matplotlib.pyplot", "plot")
    ax = pyplot.subplots()[1] if ax is None else ax
    top = loss.highest if math.isfinite(loss.highest) else loss.epsilon(1e-12)
    epsilons = np.linspace(0.0, 1.05 * max(top, 1e-9), 400)
    ax.plot(epsilons, loss.delta(epsilons), label="delta(epsilon)")
    ax.plot(epsilons, loss.tail(epsilons), label="P(loss > epsilon)", linestyle="--", drawstyle="steps-post")
    ax.set_xlabel("epsilon [nats]")
    ax.set_ylim(0, 1.02)
    ax.legend()
    return ax
