"""Pictures of a report, drawn with matplotlib (extra: plot), the same bytes for the same input."""

import base64
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from divulge.extras import own_style, require
from divulge.guarantees.kinds import ALIP
from divulge.guarantees.pictures import plot_alip_plane
from divulge.measures.pictures.plots import pointwise
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.networks.bayesian.network import Network
from divulge.networks.over_time import OverTime
from divulge.reporting.statements.voice import Voice
from divulge.units import Unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAIN, LOSS = "#D55E00", "#0072B2"

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "divulge",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "legend.framealpha": 0.9,
    "legend.edgecolor": "none",
}


def as_address(draw: Callable[[Any], Any], size: tuple[float, float]) -> str:
    """Return what `draw` puts on axes as the address of an SVG image that holds all of it.

    >>> as_address(lambda ax: ax.plot([0, 1]), (2, 1))[:26]
    'data:image/svg+xml;base64,'
    """
    figures = require("matplotlib.figure", "plot")
    buffer = io.BytesIO()
    with own_style(_STYLE):
        figure = figures.Figure(figsize=size)
        axes = figure.subplots()
        draw(axes)
        if axes.get_title():
            figure.set_layout_engine("constrained")  # finds room for what stands outside of the axes; takes its time
        else:
            figure.subplots_adjust(**_margins(*size))
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return f"data:image/svg+xml;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _margins(width: float, height: float) -> dict[str, float]:
    """Return where the axes are: as far from the edges as ticks and their names take, which a layout need not find."""
    left, right, bottom, top = 0.72, 0.18, 0.56, 0.16
    return {"left": left / width, "right": 1 - right / width, "bottom": bottom / height, "top": 1 - top / height}


def tails(pml: Pointwise, pmc: Pointwise, envelope: Sequence[tuple[float, float]], ax: "Axes", voice: Voice) -> None:
    """Draw the chance of an outcome that reveals more than t, and the worst of it after merging outcomes."""
    for variable, color, line, name in ((pml, GAIN, "-", "p_gain"), (pmc, LOSS, "-.", "p_loss")):
        pointwise(variable, ax)
        ax.lines[-1].set(color=color, linestyle=line, label=voice.text(name))
    for note in ax.texts:
        note.set_text(voice.text("p_infinite", share=voice.numeral(note.get_text().rpartition(" ")[2])))
    if envelope:
        places, heights = zip((0.0, 1.0), *envelope, strict=True)
        # The envelope falls: what it is at a place bounds it up to the next one, so that steps never lie below it.
        ax.step(places, heights, where="post", color=GAIN, ls="--", lw=1, label=voice.text("p_merged"))
    ax.set_xlim(left=0)
    ax.set_xlabel(f"t [{voice.text(f'unit_{pml.unit}')}]")
    ax.set_ylabel(voice.text("p_chance"))
    ax.legend()
    _numbers(ax, voice)


def sensitivity(
    points: Sequence[tuple[float, float, float]], limit: float, unit: str, ax: "Axes", voice: Voice
) -> None:
    """Draw (share of belief moved, pml, pmc), and the limit for every prior."""
    moved, gains, losses = zip(*points, strict=True)
    across = [100 * share for share in moved]
    ax.plot(across, gains, color=GAIN, label=voice.text("p_gain"))
    ax.plot(across, losses, color=LOSS, ls="-.", label=voice.text("p_loss"))
    ax.axhline(limit, color="0.4", ls=":", lw=1, label=voice.text("p_every"))
    ax.set_xlabel(voice.text("p_moved"))
    ax.set_ylabel(voice.text("p_largest", unit=unit))
    ax.set_xlim(0, 100)
    ax.set_ylim(bottom=0)
    ax.legend(loc="lower right")
    _numbers(ax, voice)


def plane(point: ALIP, prior: Any, ax: "Axes", voice: Voice) -> None:
    """Draw where a release lies among bounds on gain and loss, in the words of a language."""
    plot_alip_plane(point, ax=ax, labels=[voice.text("p_this")], prior=prior)
    if voice.language == "en":
        return
    legend: Any = ax.get_legend()
    for words in legend.get_texts():
        words.set_text(voice.known(words.get_text()))
    head, sign, end = ax.get_title().partition(":")
    ax.set_title(voice.numeral(head) + voice.known(sign + end), fontsize=10)
    ax.set_xlabel(voice.known(ax.get_xlabel()))
    ax.set_ylabel(voice.known(ax.get_ylabel()))
    _numbers(ax, voice)


def over_time(table: OverTime, per: float, unit: str, ax: "Axes", voice: Voice) -> None:
    """Draw the leakage of the state at each step: of its own output, of those so far, of all."""
    steps = [row.step for row in table]
    drawn = (
        ("n_own", "o:", "0.5", [row.local for row in table]),
        ("n_so_far", "s--", LOSS, [row.online.upper for row in table]),
        ("n_all", "o-", GAIN, [row.exact.upper for row in table]),
    )
    for name, line, color, levels in drawn:
        ax.plot(steps, [level / per for level in levels], line, color=color, label=voice.text(name))
    ax.set_xlabel(voice.text("n_state"))
    ax.set_ylabel(f"LDP [{unit}]")
    ax.set_ylim(bottom=0)
    ax.legend()
    _numbers(ax, voice)
    ax.set_xticks(steps, [str(step) for step in steps])


def network(drawn: Network, ax: "Axes", voice: Voice, unit: Unit) -> None:
    """Draw a network, each variable shaded by its greatest leakage, in the words of a language."""
    drawn.plot(ax, unit)
    ax.set_title(voice.text("n_network", unit=voice.text(f"unit_{unit}")), fontsize=10)
    ax.set_xlabel(voice.text("n_rings"))
    for text in ax.texts:
        name, _, level = text.get_text().rpartition("\n")
        text.set_text(f"{name}\n{voice.numeral(level)}")


def _numbers(ax: "Axes", voice: Voice) -> None:
    """Write the numbers at axes as the language does; English ones are matplotlib's own."""
    if voice.language != "en":
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: voice.numeral(f"{value:.4g}"))
