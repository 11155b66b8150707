"""Draw the pictures of the documentation, where a page says <!-- name -->."""

import base64
import io
import re
from collections.abc import Callable
from typing import Any

import divulge as dv


def belief() -> Any:
    """A hundred people like this one: before, 1 of them has the secret; after, at most 2.7 may be taken for one."""
    import numpy as np
    from matplotlib import pyplot as plt

    after = dv.guarantees.posterior_bounds(dv.LDP(1), "1/100").upper * 100
    _, axes = plt.subplots(1, 2, figsize=(7.2, 1.45), layout="constrained")
    for ax, many, words in zip(axes, (1.0, after), ("before: 1 in 100", "after, at most: 2.7 in 100"), strict=True):
        x, y = np.arange(100) % 20, -(np.arange(100) // 20)
        share = np.clip(many - np.arange(100), 0, 1)
        ax.scatter(x, y, s=38, color="#9aa5ad", alpha=0.55, linewidths=0)
        ax.scatter(x, y, s=38 * share, color="#c8590f", linewidths=0)
        ax.set(title=words, xlim=(-0.7, 19.7), ylim=(-4.7, 0.7), aspect="equal")
        ax.set_axis_off()
    return axes


def implications() -> Any:
    """Which guarantee implies which."""
    from divulge.guarantees.theorems import INFORMATION_DENSITY

    return dv.guarantees.plot_implications(theorems=INFORMATION_DENSITY)


def variants() -> Any:
    """Which variant of differential privacy implies which."""
    from divulge.guarantees.theorems import DIFFERENTIAL_PRIVACY

    return dv.guarantees.plot_implications(theorems=DIFFERENTIAL_PRIVACY)


def plane() -> Any:
    """The plane of bounds on PML and PMC for p_min = 1/4."""
    return dv.guarantees.plot_alip_plane(p_min="1/4")


def plane4() -> Any:
    """Figure 1 of the paper: the plane of bounds for a uniform prior on four values."""
    return dv.guarantees.plot_alip_plane(p_min="1/4", n=4, uniform=True)


def plane2() -> Any:
    """The plane of bounds on PML and PMC for a fair coin: the two curves are one."""
    return dv.guarantees.plot_alip_plane(p_min="1/2", n=2, uniform=True)


def plane5() -> Any:
    """The plane of bounds on PML and PMC for p_min = 1/5: above both curves PML decides, below both PMC."""
    return dv.guarantees.plot_alip_plane(p_min="1/5")


def eyes() -> Any:
    """Lift of each eye color at each report: brown raises the belief, green lowers it."""
    from matplotlib import pyplot as plt

    rows = [["3/4", "1/4"], ["1/4", "3/4"], ["19/20", "1/20"]]
    channel = dv.Channel(rows, ["blue", "green", "blue-green"], ["reports blue", "reports green"])
    joint = dv.Joint(["1/4", "1/2", "1/4"], channel)
    _, ax = plt.subplots(figsize=(5.2, 2.2), layout="constrained")
    ax.imshow(joint.information_density, cmap="BrBG_r", vmin=-2.7, vmax=2.7, aspect="auto")
    ax.set(xticks=[0, 1], xticklabels=channel.outcomes, yticks=[0, 1, 2], yticklabels=channel.secrets)
    for (x, y), value in zip(((x, y) for x in range(3) for y in range(2)), joint.lift.ravel(), strict=True):
        ax.text(y, x, str(value), ha="center", va="center", color="#111111")
    return ax


def frontier() -> Any:
    """Mutual information against pointwise maximal leakage on the column of education, with named mechanisms."""
    from divulge.files import read_prior

    prior = read_prior(f"{dv.datasets.census_path()}:education")
    return dv.frontier(prior, dv.PML, [0.05 + 2.95 * i / 24 for i in range(25)]).plot()


def outcomes() -> Any:
    """The probability that more than t leaks, over t."""
    channel = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"], ["19/20", "1/20"]], ["b", "g", "bg"], ["b", "g"])
    return dv.pml((dv.Prior(["1/4", "1/2", "1/4"], ["b", "g", "bg"]), channel)).plot()


def noise() -> Any:
    """Density of the outcome and its leakage: Laplace noise on a secret with a rare value in the middle."""
    return dv.NoiseMechanism("laplace", "values(0:0.495, 0.5:0.01, 1:0.495)", scale=0.3).plot()


def losses() -> Any:
    """Delta and the tail of the privacy loss over epsilon, for a Gaussian mechanism with sigma = 2."""
    return dv.dp.GaussianMechanism(sigma=2.0).losses()[0].plot()


def growth() -> Any:
    """Expected pml of each secret over the number of releases, and the surprise in the secret that it tends to."""
    return dv.dp.leakage_growth(["1/10", "3/10", "6/10"], [[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]], range(1, 201, 5)).plot()


PICTURES: dict[str, Callable[[], Any]] = {
    function.__name__: function
    for function in (
        belief,
        implications,
        variants,
        plane,
        plane4,
        plane2,
        plane5,
        eyes,
        frontier,
        outcomes,
        noise,
        losses,
        growth,
    )
}


DARK = b"""<style>@media (prefers-color-scheme: dark) { svg { fill: #e4e9ec }
[style*="stroke: #000000"] { stroke: #c5ced4 !important } [style*="fill: #ffffff"] { fill: #1e2129 !important }
[style*="stroke: #ffffff"] { stroke: #1e2129 !important } [style*="stroke: #b0b0b0"] { stroke: #4a535b !important }
}</style>"""
"""Turns what is black to light where the reader's screen is dark."""


def drawn(picture: Callable[[], Any], alt: str = "") -> str:
    """Return the picture as an image in the page itself, with its docstring as what is read aloud."""
    found, buffer = picture(), io.BytesIO()
    axes = found if hasattr(found, "figure") else next(iter(found))
    axes.figure.savefig(buffer, format="svg", transparent=True)
    image = re.sub(rb"(<svg[^>]*>)", rb"\1" + DARK, buffer.getvalue(), count=1)
    return f"![{alt or picture.__doc__}](data:image/svg+xml;base64,{base64.b64encode(image).decode()})"


def on_page_markdown(markdown: str, **_: Any) -> str:
    mark = re.compile(rf"<!-- ({'|'.join(PICTURES)}) -->")
    return mark.sub(lambda found: drawn(PICTURES[found[1]]), markdown)
