"""Draw the pictures of the documentation, where a page says <!-- name -->.

With DIVULGE_DRAFT a page shows an empty picture in their places: a draft of the site is there in half of the time.
"""

import base64
import io
import os
import re
from collections.abc import Callable
from functools import cache
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


def places() -> Any:
    """What one blurred place says: where people live who are said to be at the cross, at 1 per km."""
    town = dv.Metric.grid(17, 13, step="500m")
    lively = [1 + 400 // (4 + (x - 6) ** 2 + (y - 5) ** 2) + 160 // (3 + (x - 12) ** 2 + (y - 9) ** 2)
              for y in range(13) for x in range(17)]  # fmt: skip
    noisy = dv.mechanisms.planar_geometric(town, "1/km")
    here = 9 + 17 * 6
    return town.plot(dv.Joint(dv.Prior.from_counts(lively), noisy).posteriors[:, here], around=here)


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


def _eyes() -> dv.Joint:
    """Return eye colors with their reports, the example of several pages."""
    rows = [["3/4", "1/4"], ["1/4", "3/4"], ["19/20", "1/20"]]
    channel = dv.Channel(rows, ["blue", "green", "blue-green"], ["reports blue", "reports green"])
    return dv.Joint(["1/4", "1/2", "1/4"], channel)


def eyes() -> Any:
    """Lift of each eye color at each report: brown raises the belief, green lowers it."""
    from matplotlib import pyplot as plt

    joint = _eyes()
    _, ax = plt.subplots(figsize=(5.2, 2.2), layout="constrained")
    ax.imshow(joint.information_density, cmap="BrBG_r", vmin=-4, vmax=4, aspect="auto")
    ax.set(xticks=[0, 1], xticklabels=joint.outcomes, yticks=[0, 1, 2], yticklabels=joint.secrets)
    for (x, y), value in zip(((x, y) for x in range(3) for y in range(2)), joint.lift.ravel(), strict=True):
        ax.text(y, x, str(value), ha="center", va="center", color="#111111")
    return ax


def promises() -> Any:
    """What three promises make of a chance, at most and at least, in turn ldp = 1, pml = 1 and pmc = 1."""
    from matplotlib import pyplot as plt

    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    before = [i / 100 for i in range(1, 100)]
    for promise, style in ((dv.LDP(1), "-"), (dv.PML(1), "--"), (dv.PMC(1), ":")):
        bounds = [dv.guarantees.posterior_bounds(promise, chance) for chance in before]
        (line,) = ax.plot(before, [one.upper for one in bounds], style, label=str(promise))
        ax.plot(before, [one.lower for one in bounds], style, color=line.get_color())
    ax.plot([0, 1], [0, 1], color="#7d878f", linewidth=1, label="nothing is told")
    ax.set(xlabel="chance before", ylabel="chance afterwards: most and least", xlim=(0, 1), ylim=(0, 1))
    ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return ax


def attackers() -> Any:
    """How many times as much four attackers gain by a report of eye colors: on average, and at their best outcome."""
    import numpy as np
    from matplotlib import pyplot as plt

    joint, gain = _eyes(), dv.Gain
    some = {
        "one try at the color": gain.identity(joint.secrets), "two tries": gain.tries(joint.secrets, 2),
        "blue-green or not": gain.membership(joint.secrets, ["blue-green"]),
        "is paid 1/P(color)": gain.reciprocal(joint.prior),
    }  # fmt: skip
    _, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
    place = np.arange(len(some))
    cases: Any = ((-0.2, "average", "on average"), (0.2, "max", "at the outcome that serves them best"))
    for shift, case, words in cases:
        more = [float(dv.leakage(joint, one, case=case)) - 1 for one in some.values()]
        ax.barh(place + shift, more, 0.38, left=1, label=words)
    ax.axvline(float(dv.profile(joint).lift), color="#3b444b", linestyle="--", label="nobody gains more: e^pml")
    ax.set(yticks=place, yticklabels=list(some), xlim=(1, 1.8), xlabel="times as much as without the report")
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(0.4, -0.22), ncols=3)
    return ax


def _drawn(column: Any, mechanism: Any, prior: Any) -> Any:
    """Return a column put through a mechanism with numbers that are the same at every build."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(1)
    counts = [round(float(p) * len(column)) for p in prior]
    drawn = np.sum([rng.multinomial(n, row) for n, row in zip(counts, mechanism.floats, strict=True)], axis=0)
    return pa.table({"said": np.repeat(np.array(mechanism.outcomes, dtype=object), drawn)})


def estimated() -> Any:
    """Races of 199,523 people, estimated with bounds from answers that were drawn at epsilon 1; crosses are true."""
    from matplotlib import pyplot as plt

    column = dv.datasets.census("race")
    prior = dv.Prior.from_column(column)
    asked = dv.mechanisms.randomized_response(prior, epsilon=1.0)
    found = dv.estimate_frequencies(_drawn(column, asked, prior), asked, column="said")
    _, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
    share, place = 100 * found.frequency, range(len(prior))
    ax.errorbar(share, place, xerr=[share - 100 * found.lower, 100 * found.upper - share], fmt="o", capsize=4,
                label="estimated, with bounds that hold for all at once, 95 times in 100")  # fmt: skip
    ax.plot(100 * prior.floats, place, "x", color="#c8590f", label="true")
    ax.set(yticks=list(place), yticklabels=prior.secrets, xscale="log", xlim=(0.2, 130), xlabel="people in 100")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize=8)
    return ax


def groups() -> Any:
    """Rows of the census in groups of a size or less: by age, sex and education, as told and as coarsened to k = 5."""
    import numpy as np

    table = dv.datasets.census(["age", "sex", "education", "income"])
    known = ["age", "sex", "education"]
    curves: dict[str, tuple[Any, Any]] = {}
    now = dv.assess(table, known, "income", pairs=False)
    then = dv.generalize(table, known, "income", guarantees="k=5", per_row=True).assessment
    for name, one in (("as it is", now), ("coarsened until k = 5", then)):
        sizes, many = np.unique(one.by_group.sizes, return_counts=True)
        curves[name] = (sizes, np.cumsum(sizes * many) / one.rows * 100)
    return _lines(curves, xlabel="so many rows or fewer are alike", ylabel="rows in 100", xscale="log", yscale="log")


def measured() -> Any:
    """One mechanism, six measures, in nats: race in the census, asked by randomized response at epsilon 1."""
    from matplotlib import pyplot as plt

    race = dv.Prior.from_column(dv.datasets.census("race"))
    joint = dv.Joint(race, dv.mechanisms.randomized_response(race, epsilon=1))
    pml, leak = dv.pml(joint), dv.profile(joint)
    some = {
        "ldp: whatever is known": leak.ldp, "pml: at the outcome that tells most": pml.max(),
        "pmc: how surely something is ruled out": dv.pmc(joint).max(), "pml: over outcomes, the mean": pml.mean(),
        "maximal leakage: the mean, whatever is known": dv.maximal_leakage(joint),
        "mutual information": dv.mutual_information(joint),
    }  # fmt: skip
    _, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
    bars = ax.barh(list(some), [float(one) for one in some.values()], 0.7)
    ax.bar_label(bars, fmt="{:.3f}", padding=3, fontsize=8)
    ax.set(xlim=(0, 1.15), xlabel="nats")
    ax.invert_yaxis()
    return ax


def scores() -> Any:
    """How far off a released age is on the mean, over epsilon: the design, and the mechanisms that have a name."""
    ages = dv.Prior.from_counts({20: 50, 30: 30, 40: 15, 70: 5})
    return dv.frontier(ages, dv.LDP, [0.25, 0.5, 1, 1.5, 2, 3], utility="absolute-distance").plot()


def religions() -> Any:
    """How close estimates come to the religions of 1,200 people, before anything is drawn: at epsilon 0.5, 1 and 2."""
    import pyarrow as pa

    people = {"Catholic": 700, "None": 300, "Muslim": 100, "Other": 52, "Buddhist": 30, "Jewish": 18}
    answers = [religion for religion, count in people.items() for _ in range(count)]
    return dv.preview(pa.table({"religion": answers}), column="religion", guarantee="ldp=1", per_row=True).plot()


def lines() -> Any:
    """A file as an office has it, line by line: a title above, the names, the rows, a total below that is no row."""
    from matplotlib import pyplot as plt

    text = ["Clinic, as of March", "", "age;illness", "34;none", "51;asthma", "46;none", "Total;3"]
    words = {0: "left out: header = 3", 2: "names of the columns", 3: "rows; the semicolon is guessed",
             6: "left out: footer = 1"}  # fmt: skip
    shade = {2: "#f5d9c3", 3: "#d3e9e6", 4: "#d3e9e6", 5: "#d3e9e6"}
    _, ax = plt.subplots(figsize=(6.4, 1.9), layout="constrained")
    for line, said in enumerate(text):
        ax.barh(line, 1, 0.92, color=shade.get(line, "#e3e6e8"))
        ax.text(0.02, line, f"{line + 1}   {said}", va="center", family="monospace", fontsize=9, color="#111111")
        ax.text(1.04, line, words.get(line, ""), va="center", fontsize=9)
    ax.set(xlim=(0, 2.4))
    ax.invert_yaxis()
    ax.set_axis_off()
    return ax


def _lines(curves: dict[str, tuple[Any, Any]], *, xlabel: str, ylabel: str, **axes: Any) -> Any:
    """Return axes with a line for each name."""
    from matplotlib import pyplot as plt

    _, ax = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
    for (name, (x, y)), style in zip(curves.items(), ("-", "--", "-.", ":"), strict=False):
        ax.plot(x, y, style, label=name)
    ax.set(xlabel=xlabel, ylabel=ylabel, **axes)
    ax.legend(frameon=False)
    return ax


def regions() -> Any:
    """Privacy regions: errors of tests lie above the curve; for epsilon = 1, with and without a delta of 0.1."""
    import numpy as np

    alpha = np.linspace(0, 1, 201)
    kinds = {"(1, 0)-DP": dv.dp.RandomizedResponse(epsilon=1), "(1, 0.1)-DP": dv.dp.AdpRelease(1.0, 0.1)}
    curves = {name: (alpha, [dv.dp.trade_off(kind)(a) for a in alpha]) for name, kind in kinds.items()}
    return _lines(curves | {"no privacy lost": (alpha, 1 - alpha)}, xlabel="false alarm", ylabel="missed detection")


def tradeoffs() -> Any:
    """Trade-off curves of Gaussian noise with mu = 0.5, 1 and 2: the larger mu, the easier neighbors are told apart."""
    import numpy as np

    alpha = np.linspace(0, 1, 201)
    noise = {f"mu = {mu}": dv.dp.trade_off(dv.dp.GaussianMechanism(sigma=1 / mu)) for mu in (0.5, 1, 2)}
    curves = {name: (alpha, [curve(a) for a in alpha]) for name, curve in noise.items()}
    return _lines(curves, xlabel="error of the first kind", ylabel="of the second")


def renyi() -> Any:
    """Renyi divergence over the order: randomized response and Laplace noise level off, Gaussian noise does not."""
    import numpy as np

    orders = np.geomspace(1, 32, 40)
    kinds = {
        "randomized response, epsilon 1": dv.dp.RandomizedResponse(epsilon=1),
        "Laplace noise, scale 1": dv.dp.LaplaceMechanism(scale=1.0),
        "Gaussian noise, sigma 2": dv.dp.GaussianMechanism(sigma=2.0),
    }
    curves = {name: (orders, [dv.dp.renyi_dp(kind, a).value for a in orders]) for name, kind in kinds.items()}
    return _lines(curves, xlabel="order", ylabel="epsilon of (order, epsilon)-RDP", xscale="log", ylim=(0, 2))


def composed() -> Any:
    """Epsilon of k releases with epsilon 0.1 and delta 1/1000 each: added up, by the older formula, and exactly."""
    import numpy as np

    def older(k: float) -> float:
        return float(0.1 * np.sqrt(2 * k * np.log(1e3)) + k * 0.1 * np.expm1(0.1))

    many = np.array([1, 2, 5, 10, 20, 40, 70, 100, 150, 200])
    lists = [dv.compose((dv.dp.AdpRelease(0.1, 1e-3), int(k))) for k in many]
    best = [one.epsilon(1 - 0.999 ** (k + 1)).upper for one, k in zip(lists, many, strict=True)]
    curves = {
        "added up": (many, 0.1 * many),
        "advanced composition, 2010": (many, [older(k) for k in many]),
        "the theorem": (many, best),
    }
    return _lines(curves, xlabel="releases", ylabel="epsilon of all", ylim=(0, 10))


def hyper() -> Any:
    """A hyper-distribution among all distributions on x1, x2, x3: four posteriors by size, and the prior, a cross."""
    import numpy as np
    from matplotlib import pyplot as plt

    rows = [["1/2", "1/2", 0, 0], [0, "1/4", "1/2", "1/4"], ["1/2", "1/3", "1/6", 0]]
    joint = dv.Joint(["1/4", "1/2", "1/4"], dv.Channel(rows, ["x1", "x2", "x3"], ["y1", "y2", "y3", "y4"]))
    corners = np.array([[0, 0], [1, 0], [0.5, 3**0.5 / 2]])
    points = np.array([joint.posterior(y).floats @ corners for y in joint.outcomes])
    _, ax = plt.subplots(figsize=(4.4, 3.4), layout="constrained")
    ax.plot(*corners[[0, 1, 2, 0]].T, color="#7d878f")
    ax.scatter(*points.T, s=1500 * joint.outer.astype(float), alpha=0.6)
    ax.plot(*(joint.prior.floats @ corners), "x", color="#c8590f", markersize=9)
    for y, point in zip(joint.outcomes, points, strict=True):
        ax.annotate(y, point, (0, -4), textcoords="offset points", ha="center")
    for name, place, (x, y) in zip(joint.secrets, corners, [(-14, -4), (14, -4), (-5, 6)], strict=True):
        ax.annotate(name, place, (x, y), textcoords="offset points")
    ax.set(aspect="equal", xlim=(-0.12, 1.12), ylim=(-0.1, 1))
    ax.set_axis_off()
    return ax


def calibration() -> Any:
    """Standard deviation of Gaussian noise for delta = 1e-5: the classical formula, and the least that will do."""
    import numpy as np

    def delta(sigma: float, epsilon: float) -> float:
        return float(dv.dp.delta_from_epsilon(dv.dp.GaussianMechanism(sigma), epsilon).value)

    def least(epsilon: float) -> float:
        low, high = 0.1, 1e3
        for _ in range(40):
            middle = (low * high) ** 0.5
            low, high = (middle, high) if delta(middle, epsilon) > 1e-5 else (low, middle)
        return high

    epsilons = np.geomspace(0.05, 1, 25)
    curves = {
        "classical": (epsilons, np.sqrt(2 * np.log(1.25e5)) / epsilons),
        "analytic": (epsilons, [least(e) for e in epsilons]),
    }
    return _lines(curves, xlabel="epsilon", ylabel="sigma", xscale="log", yscale="log")


def envelope() -> Any:
    """How often randomized response leaks more than t, and how often after the worst post-processing."""
    import numpy as np

    joint = dv.Joint(["1/2", "3/10", "1/5"], dv.mechanisms.randomized_response(3, epsilon=0.5))
    t, pml = np.linspace(0, 0.45, 91), dv.pml(joint)
    curves = {
        "tail": (t, [pml.tail(v) for v in t]),
        "envelope": (t, [dv.tail_envelope(joint, v).upper for v in t]),
    }
    return _lines(curves, xlabel="t, nats", ylabel="probability")


def frontier() -> Any:
    """Mutual information against pointwise maximal leakage on the column of education, with named mechanisms."""
    from divulge.files import read_prior

    prior = read_prior(f"{dv.datasets.census_path()}:education")
    return dv.frontier(prior, dv.PML, [0.05 + 0.6 * i for i in range(6)]).plot()


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


def over_time() -> Any:
    """What seven answers say of each day: its own, those so far, all of them."""
    chain = dv.Chain(["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]], steps=7)
    return chain.over_time().plot()


def family() -> Any:
    """A child's genotype, told truly four times as often as each other: what it says of each of the family."""
    told = [["2/3", "1/6", "1/6"], ["1/6", "2/3", "1/6"], ["1/6", "1/6", "2/3"]]
    return dv.networks.family().release("child", told).plot()


def membership() -> Any:
    """Who was in the data of a model: members named over others named, what is proved of it, and a promise."""
    import numpy as np

    member = np.arange(600) < 300
    scores = np.random.default_rng(1).normal(2.0 * member)
    return dv.audit_membership(scores, member, base_rate=0.01, claim="dp=1").plot()


def protocols() -> Any:
    """Six protocols over 10,000 values, as rare as words are: what a report tells of its sender, and the error."""
    import numpy as np
    from matplotlib import pyplot as plt

    shares = 1 / np.arange(1, 10_001)
    prior, p = dv.Prior(shares / shares.sum()), dv.protocols
    made = {
        "randomized response": p.randomized_response, "subset selection": p.subset_selection, "unary (OUE)": p.unary,
        "local hashing": p.local_hashing, "Hadamard": p.hadamard, "projective": p.projective,
    }  # fmt: skip
    _, ax = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
    for (name, make), marker in zip(made.items(), "osD^vP", strict=True):
        some = [make(10_000, epsilon) for epsilon in (0.5, 1.0, 1.5, 2.0, 3.0, 4.0)]
        information = [protocol.mutual_information(prior, "bits") for protocol in some]
        errors = [100 * (protocol.variance(0) / 1e6) ** 0.5 for protocol in some]
        ax.plot(errors, information, marker=marker, label=name, alpha=0.8)
    ax.set(xscale="log", yscale="log", xlabel="standard error of a share from a million reports, in percentage points",
           ylabel="mutual information, in bits")  # fmt: skip
    ax.legend(fontsize=8)
    return ax


def closeness() -> Any:
    """How close estimates of each race come after a release of 199,523 people, at three levels of protection."""
    return dv.preview(dv.datasets.census_path(), column="race", guarantee="ldp=1", keep=(), per_row=True).plot()


def counts() -> Any:
    """How far off a published count is at most, 95 times in 100, over the epsilon of the whole table."""
    import numpy as np

    epsilon = np.geomspace(0.01, 2, 60)
    # discrete Laplace noise of scale 2 / epsilon: P(|noise| > w) = 2 e^(-(w + 1) / scale) / (1 + e^(-1 / scale))
    off = [
        next(w for w in range(10**6) if 2 * np.exp(-(w + 1) * e / 2) / (1 + np.exp(-e / 2)) <= 0.05) for e in epsilon
    ]
    axes = _lines({"a count of people by one column": (epsilon, off)}, xlabel="epsilon", ylabel="± people")
    axes.set_yscale("log")
    return axes


PICTURES: dict[str, Callable[[], Any]] = {
    function.__name__: function
    for function in (
        belief,
        places,
        implications,
        variants,
        plane,
        plane4,
        plane2,
        plane5,
        eyes,
        regions,
        tradeoffs,
        renyi,
        calibration,
        composed,
        hyper,
        envelope,
        frontier,
        outcomes,
        noise,
        losses,
        growth,
        over_time,
        family,
        membership,
        protocols,
        closeness,
        counts,
        promises,
        attackers,
        estimated,
        groups,
        measured,
        scores,
        religions,
        lines,
    )
}


DARK = b"""<style>@media (prefers-color-scheme: dark) { svg { fill: #e4e9ec }
[style*="stroke: #000000"] { stroke: #c5ced4 !important } [style*="fill: #ffffff"] { fill: #1e2129 !important }
[style*="stroke: #ffffff"] { stroke: #1e2129 !important } [style*="stroke: #b0b0b0"] { stroke: #4a535b !important }
[style*="fill: #d1d1d1"], [style*="fill: #d9d9d9"] { fill: #4a535b !important }
[style*="fill: #ededed"] { fill: #313842 !important }
}</style>"""
"""Turns what is black to light, and light areas to dark ones, where the reader's screen is dark."""


EMPTY = b'<svg xmlns="http://www.w3.org/2000/svg" width="460" height="345"></svg>'
"""What stands in a draft for a picture."""


@cache
def drawn(picture: Callable[[], Any], alt: str = "") -> str:
    """Return the picture as an image in the page itself, with its docstring as what is read aloud."""
    image = EMPTY if os.environ.get("DIVULGE_DRAFT") else _image(picture)
    return f"![{alt or picture.__doc__}](data:image/svg+xml;base64,{base64.b64encode(image).decode()})"


def _image(picture: Callable[[], Any]) -> bytes:
    """Return the picture in SVG, with what it looks like in the dark."""
    found, buffer = picture(), io.BytesIO()
    axes = found if hasattr(found, "figure") else next(iter(found))
    axes.figure.savefig(buffer, format="svg", transparent=True)
    return re.sub(rb"(<svg[^>]*>)", rb"\1" + DARK, buffer.getvalue(), count=1)


def on_page_markdown(markdown: str, **_: Any) -> str:
    mark = re.compile(rf"<!-- ({'|'.join(PICTURES)}) -->")
    return mark.sub(lambda found: drawn(PICTURES[found[1]]), markdown)
