"""Optional libraries: imported where they are used, with one message when they are missing."""

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from divulge.errors import DivulgeError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def require(module: str, extra: str) -> Any:
    """Return the imported `module`, or raise MissingExtraError that names the extra which brings it.

    >>> round(require("math", "plot").pi, 9)
    3.141592654
    """
    try:
        __import__(module)  # of what is loaded already a fiftieth of the time of import_module: batches ask each time
        return sys.modules[module]
    except ModuleNotFoundError as error:
        raise _missing(module, extra) from error
    except Exception as error:  # what a library does with its settings, or without its own libraries, is open-ended
        raise DivulgeError(
            f"`{module}` cannot be loaded ({type(error).__name__}). Hint: its installation is damaged, or what the "
            "environment or a file of settings tells it."
        ) from error


def require_elsewhere(module: str, extra: str) -> None:
    """Raise MissingExtraError when there is no `module` for another process to import; here it is not run."""
    if find_spec(module) is None:
        raise _missing(module, extra)


def _missing(module: str, extra: str) -> MissingExtraError:
    library = module.partition(".")[0]
    return MissingExtraError(
        f"`{library}` must be installed for this; it is missing. Hint: pip install 'divulge[{extra}]'."
    )


def opendp(extra: str) -> SimpleNamespace:
    """Return what makes OpenDP's domains, metrics and measures, and its measurements as `m`.

    Its prelude holds the same, and loads scikit-learn, which takes longer than to publish a table.
    """
    require("opendp.mod", extra).enable_features("contrib")
    parts = [vars(require(f"opendp.{part}", extra)) for part in ("domains", "metrics", "measures")]
    return SimpleNamespace(**parts[0] | parts[1] | parts[2], m=require("opendp.measurements", extra))


def highs(**options: Any) -> Any:
    """Return a solver of HiGHS with these options, on one thread, that prints nothing.

    From 1.16 on the class in Python prints who made it while it is made, before an option can be set: it is silenced
    at its first step.
    """
    solver = _silent()()
    for option, value in options.items():
        solver.setOptionValue(option, value)
    return solver


@cache
def _silent() -> type:
    highspy = require("highspy", "science")

    class Silent(highspy.Highs):
        def enableCallbacks(self) -> None:  # by the name of what it replaces
            self.setOptionValue("output_flag", False)
            self.setOptionValue("threads", 1)
            super().enableCallbacks()

        def run(self) -> Any:
            """Solve; where another library of this process has HiGHS on more threads, which is an error, end those."""
            status = super().run()
            if status == highspy.HighsStatus.kError:
                highspy.Highs.resetGlobalScheduler(True)
                status = super().run()
            return status

    return Silent


def own_style(style: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Return what a picture is drawn in: the defaults of matplotlib and a style, whatever a `matplotlibrc` says.

    One in the working folder, which may lie beside a table that somebody sent, can ask for programs to be run.
    """
    plot = require("matplotlib", "plot")
    usual = {name: value for name, value in plot.rcParamsDefault.items() if name != "backend"}
    return plot.rc_context({**usual, **style})


def drawable(ax: "Axes | None" = None, size: tuple[float, float] = (6.4, 4.4)) -> "Axes":
    """Return the matplotlib axes `ax`, or new ones of this size in inches (extra: plot)."""
    if ax is not None:
        if not hasattr(ax, "set_xlabel"):
            hint = "matplotlib.pyplot.subplots makes them; without, new ones are made."
            raise DivulgeError.of("ax", "be matplotlib axes", "it", f"a {type(ax).__name__}", hint)
        return ax
    return require("matplotlib.pyplot", "plot").subplots(figsize=size, layout="constrained")[1]


def legend(ax: "Axes", most: int = 4) -> None:
    """Add the legend of axes: in them while it is short, below them where it would cover what is drawn."""
    labels = ax.get_legend_handles_labels()[1]
    if len(labels) <= most:
        ax.legend(fontsize=8)
    else:
        columns = 1 if max(map(len, labels)) > 40 else 2
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=columns, fontsize=8)
