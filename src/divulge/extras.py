"""Optional libraries: imported where they are used, with one message when they are missing."""

from importlib import import_module
from typing import Any

from divulge.errors import MissingExtraError


def require(module: str, extra: str) -> Any:
    """Return the imported `module`, or raise MissingExtraError that names the extra which brings it.

    Examples
    --------
    >>> round(require("math", "plot").pi, 9)
    3.141592654
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        raise MissingExtraError(
            f"`{library}` must be installed for this; it is missing. Hint: pip install 'divulge[{extra}]'."
        ) from error


def drawable(ax: Any = None, size: tuple[float, float] = (6.4, 4.4)) -> Any:
    """Return the matplotlib axes `ax`, or new ones of this size in inches (extra: plot)."""
    if ax is not None:
        return ax
    return require("matplotlib.pyplot", "plot").subplots(figsize=size, layout="constrained")[1]
