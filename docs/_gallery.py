"""The gallery: what draws each picture is what the page shows, where it says <!-- gallery -->."""

import importlib.util
import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import divulge as dv

MARK = "<!-- gallery -->"


def several_mechanisms() -> Any:
    """What three mechanisms leak: the probability that pml exceeds t

    A line further left gives away less; where lines cross, neither mechanism is safer in this respect.
    """
    race = dv.Prior.from_column(dv.datasets.census("race"))
    asked = dv.mechanisms.randomized_response(race, epsilon=1)
    kept = dv.mechanisms.resample(race, keep=0.35)
    best = dv.design(race, dv.LDP(1), utility="mutual-information").channel
    named = {"randomized response": (race, asked), "resample": (race, kept), "designed": (race, best)}
    return dv.measures.plot_pointwise(named)


def beliefs() -> Any:
    """A hundred people like one person: what may be believed before and after

    The guarantee bounds how many of a hundred may be taken for somebody with the secret, whatever is known besides.
    """
    import matplotlib.pyplot as plt
    import numpy as np

    after = dv.guarantees.posterior_bounds(dv.LDP(1.5), "5/100").upper * 100
    _, axes = plt.subplots(1, 2, figsize=(7.2, 2.6), layout="constrained")
    people, titles = np.arange(100), ("before: 5 in 100", f"after: at most {after:.1f} in 100")
    for ax, many, words in zip(axes, (5, after), titles, strict=True):
        ax.scatter(people % 10, -(people // 10), s=70, c="#ced3d7")
        ax.scatter(people % 10, -(people // 10), s=70 * np.clip(many - people, 0, 1), c="#c8590f")
        ax.set(title=words, aspect="equal", xticks=[], yticks=[], frame_on=False)
    return axes[0]


def gain_and_cost() -> Any:
    """What one mechanism gives away at each outcome: how far a belief rises, and how far one falls

    pml is the largest gain of an attacker who may guess anything, pmc how surely one who bets against something wins.
    """
    import matplotlib.pyplot as plt

    race = dv.Prior.from_column(dv.datasets.census("race"))
    joint = dv.Joint(race, dv.mechanisms.randomized_response(race, epsilon=1.5))
    gain, cost = dv.pml(joint), dv.pmc(joint)
    _, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
    ax.bar(range(len(gain)), [float(v) for v in gain.values], label="pml: a belief rises by e to the …")
    ax.bar(range(len(cost)), [-float(v) for v in cost.values], label="pmc: a belief falls by e to the …")
    ax.set(xlabel="outcome", ylabel="nats", xticks=range(len(gain)))
    ax.legend()
    return ax


def regions() -> Any:
    """Privacy regions: how many values an outcome may rule out under a bound on pml

    In region 0 nothing can be ruled out, so that a bound on gain bounds the loss too; each step lets one value more go.
    """
    import matplotlib.pyplot as plt

    _, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
    for column in ("race", "marital_status"):
        prior = dv.Prior.from_column(dv.datasets.census(column))
        edges = dv.guarantees.region_boundaries(prior)
        ax.step(
            [*edges, 2.5], [*range(len(edges)), len(edges) - 1], where="post", label=f"{column}, {len(prior)} values"
        )
    ax.set(xlabel="bound on pml, nats", ylabel="values an outcome may rule out")
    ax.legend()
    return ax


def alip_plane() -> Any:
    """The plane of bounds on gain and on cost, with a mechanism in it

    Right and above: more leaks. The curves are what one bound implies about the other when the rarest secret has
    probability 1/4; between them both matter.
    """
    prior = dv.Prior(["1/4", "1/2", "1/4"])
    channel = dv.mechanisms.randomized_response(3, epsilon=0.4)
    return dv.guarantees.plot_alip_plane(dv.Joint(prior, channel), labels=["randomized response"], p_min="1/4")


def lift_map() -> Any:
    """A map of information density: which outcome speaks for which secret

    Red raises the belief, blue lowers it, in nats; white says nothing.
    """
    import matplotlib.pyplot as plt

    education = dv.contingency(dv.datasets.census(["education", "income"]), ["education", "income"])
    joint = dv.Joint.from_counts(education.dense())
    _, ax = plt.subplots(figsize=(7, 2.2), layout="constrained")
    image = ax.imshow(joint.information_density.T, cmap="RdBu_r", vmin=-2.5, vmax=2.5, aspect="auto")
    ax.set(xlabel="education (17 values)", yticks=[0, 1], yticklabels=education.labels[1])
    ax.figure.colorbar(image, label="i(x; y), nats")
    return ax


def frontier() -> Any:
    """The frontier: no mechanism keeps the promise and is more useful than the line

    Points are named mechanisms, tuned to the same promise.
    """
    sex = dv.Prior.from_column(dv.datasets.census("marital_status"))
    levels = [0.1, 0.25, 0.5, 0.75, 1, 1.5, 2]
    return dv.frontier(sex, dv.PML, levels, named=["randomized response", "resample"]).plot()


def envelope() -> Any:
    """The tail of a leakage, and what is left of it however outcomes are merged

    "At most t except with probability delta" can break when rare outcomes are merged; the envelope cannot.
    """
    import matplotlib.pyplot as plt
    import numpy as np

    race = dv.Prior.from_column(dv.datasets.census("race"))
    joint = dv.Joint(race, dv.mechanisms.randomized_response(race, epsilon=2))
    t = np.linspace(0, 2, 81)
    _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    ax.step(t, [dv.pml(joint).tail(v) for v in t], label="raw tail", where="post")
    ax.step(t, [dv.tail_envelope(joint, v).upper for v in t], "--", where="post", label="however outcomes are merged")
    ax.set(xlabel="t, nats", ylabel="probability that more than t leaks")
    ax.legend()
    return ax


def trade_off() -> Any:
    """The trade-off between errors: how well neighbors can be told apart

    Every test of "was it she?" has errors on or above the curve; the diagonal is perfect privacy.
    """
    return dv.dp.trade_off(dv.dp.GaussianMechanism(sigma=1.5)).plot()


def composition() -> Any:
    """Thirty releases: epsilon and delta of all together, between two curves

    What thirty Laplace and ten Gaussian releases add up to; both ends are sound.
    """
    return dv.compose((dv.dp.LaplaceMechanism(8.0), 30), (dv.dp.GaussianMechanism(10.0), 10)).plot()


def noise() -> Any:
    """Noise on a number: each outcome and what it gives away

    The rare value in the middle is what an outcome near it betrays; far out the leakage stays constant.
    """
    return dv.NoiseMechanism("laplace", "values(0:0.495, 0.5:0.01, 1:0.495)", scale=0.3).plot()


def privacy_loss() -> Any:
    """The privacy loss of a Gaussian mechanism: its delta and its tail over epsilon"""
    return dv.dp.GaussianMechanism(sigma=2.0).losses()[0].plot()


def growth() -> Any:
    """The same question again and again: what expected leakage tends to"""
    rows = [[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]]
    return dv.dp.leakage_growth(["1/10", "3/10", "6/10"], rows, range(1, 201, 5)).plot()


PICTURES: tuple[Callable[[], Any], ...] = (
    beliefs, gain_and_cost, several_mechanisms, alip_plane, regions,
    lift_map, frontier, envelope, trade_off, composition, noise, privacy_loss, growth,
)  # fmt: skip


def program(picture: Callable[[], Any]) -> str:
    """Return the lines that draw a picture, as they are run."""
    lines = inspect.getsource(picture).split('"""')[2]
    return textwrap.dedent(lines).strip().replace("return ", "")


def shown(picture: Callable[[], Any]) -> str:
    """Return the section of a picture: title, words, image, program."""
    title, _, words = inspect.cleandoc(picture.__doc__ or "").partition("\n")
    image = _pictures().drawn(picture, alt=title)
    return f"## {title}\n\n{words.strip()}\n\n{image}\n\n```py\n{program(picture)}\n```"


def _pictures() -> Any:
    spec = importlib.util.spec_from_file_location("_pictures", Path(__file__).with_name("_pictures.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put the gallery into its page."""
    return markdown.replace(MARK, "\n\n".join(map(shown, PICTURES))) if MARK in markdown else markdown
