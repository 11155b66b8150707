"""What a chain of releases says of each state, step by step: its own release, all so far, and all there are."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge import exact
from divulge.extras import drawable, legend
from divulge.measures.numeric.bracket import Bracket
from divulge.model.shown import Table, Tabled, raised
from divulge.networks.cones import Cone
from divulge.networks.model import Steps
from divulge.networks.temporal import backward, leakages
from divulge.networks.worst import backward_cones, between, forward_cones

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Step:
    """One step of a chain: leakages of its state in nats.

    Attributes
    ----------
    step : int
    local : float
        The level of LDP of its own release; 0 where nothing goes out.
    online : Bracket
        log max P(y_0 .. y_t | u) / P(y_0 .. y_t | v) of two values u, v of the state: from the outputs so far.
    exact : Bracket
        The same from all outputs, earlier and later: what somebody can make of it in the end.
    pml, pmc : Bracket
        The greatest pointwise maximal leakage and cost from all outputs, under the chain itself as prior.
    bpl, fpl, tpl : float
        Backward, forward and total leakage of Cao et al.: bounds for all mechanisms of the local levels.

    Examples
    --------
    >>> row = dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.75, 0.25], [0.25, 0.75]], steps=3).over_time()[1]
    >>> round(row.local, 6), round(row.online.upper, 6), round(row.bpl, 6)  # log 3, log 7
    (1.098612, 1.94591, 1.94591)
    """

    step: int
    local: float
    online: Bracket
    exact: Bracket
    pml: Bracket
    pmc: Bracket
    bpl: float
    fpl: float
    tpl: float


@dataclass(frozen=True, repr=False)
class OverTime(Tabled):
    """The steps of a chain with what is known of each; a sequence of `Step`.

    Examples
    --------
    >>> table = dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.75, 0.25], [0.25, 0.75]], steps=3).over_time()
    >>> len(table), round(table[1].tpl, 6)  # log 49/3
    (3, 2.793208)
    """

    rows: tuple[Step, ...]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, step: int) -> Step:
        return self.rows[step]

    def _shown(self) -> tuple[str, Table]:
        columns = ["local", "online", "exact", "pml", "pmc", "BPL", "FPL", "TPL"]
        cells = [
            [r.local, r.online.upper, r.exact.upper, r.pml.upper, r.pmc.upper, r.bpl, r.fpl, r.tpl] for r in self.rows
        ]
        head = "leakage of the state at each step [nats], at most: from its own output, those so far, all of them"
        return head, ([f"step {r.step}" for r in self.rows], columns, raised(cells))

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the rows as plain records, brackets as {"lower":, "upper":}.

        Examples
        --------
        >>> chain = dv.Chain([0.5, 0.5], [[0.5, 0.5]] * 2, [[0.75, 0.25], [0.25, 0.75]], steps=1)
        >>> chain.over_time().to_dict()[0]["step"]
        0
        """
        return [
            {
                key: {"lower": value.lower, "upper": value.upper} if isinstance(value, Bracket) else value
                for key, value in vars(row).items()
            }
            for row in self.rows
        ]

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw the leakage of each state in nats: of its own output, of those so far, of all; return the axes.

        Examples
        --------
        >>> chain = dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.75, 0.25], [0.25, 0.75]], steps=3)
        >>> chain.over_time().plot().get_xlabel()
        'step'
        """
        ax = drawable(ax)
        steps = [row.step for row in self.rows]
        ax.plot(steps, [row.local for row in self.rows], "o:", color="tab:gray", label="its own output")
        ax.plot(steps, [row.online.upper for row in self.rows], "s--", color="tab:blue", label="outputs so far")
        ax.plot(steps, [row.exact.upper for row in self.rows], "o-", color="tab:red", label="all outputs")
        ax.plot(steps, [row.tpl for row in self.rows], "x:", color="black", label="bound of Cao et al.")
        ax.set_xlabel("step")
        ax.set_ylabel("leakage of the state [nats]")
        ax.set_ylim(bottom=0)
        ax.locator_params(axis="x", integer=True)
        legend(ax)
        return ax


def over_time(steps: Steps) -> OverTime:
    """Return the table of a chain."""
    futures = backward_cones(steps)
    nothing = Cone([tuple(1 if steps.exact else 1.0 for _ in steps.states)], [()])
    marginals = [exact.as_floats(one) for one in steps.marginals]
    moves = [exact.as_floats(one) for one in steps.moves]
    levels = [_local(steps, t) for t in range(len(steps))]
    bpl = leakages(levels, [backward(marginals[t], move) for t, move in enumerate(moves)])
    fpl = leakages(levels[::-1], [_occurring(marginals[t], moves[t]) for t in range(len(moves) - 1, -1, -1)])[::-1]
    rows: list[Step] = []
    for t, past in enumerate(forward_cones(steps)):
        steps.in_time()
        name = f"step {t}"
        online = between(steps, t, past, nothing, "ldp", name).leakage
        total, top, bottom = (between(steps, t, past, futures[t], side, name).leakage for side in ("ldp", "pml", "pmc"))
        rows.append(
            Step(
                t,
                levels[t],
                online,
                total,
                top,
                bottom,
                bpl[t],
                fpl[t],
                math.inf if math.isinf(levels[t]) else bpl[t] + fpl[t] - levels[t],
            )
        )
    return OverTime(tuple(rows))


def _local(steps: Steps, t: int) -> float:
    channel = steps.channels[t]
    if channel is None:
        return 0.0
    from divulge.measures.pointwise.density import ldp

    here = [i for i, p in enumerate(steps.marginals[t]) if p > 0]
    return float(ldp(np.asarray(steps.tables[t])[here]))


def _occurring(marginal: np.ndarray, move: np.ndarray) -> np.ndarray:
    return move[marginal > 0]
