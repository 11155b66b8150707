"""Pictures of the calculus: the plane of ALIP bounds, and the map of all implications, drawn from the table."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.extras import drawable
from divulge.guarantees.calculus.context import Context
from divulge.guarantees.calculus.theorem import CONDITIONS, Theorem
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds import ALIP
from divulge.guarantees.theorems import THEOREMS
from divulge.model.accepted import JointLike
from divulge.model.convert import as_joint
from divulge.model.joint import Joint

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PML_COLOR, _PMC_COLOR = "#0072B2", "#D55E00"


def plot_alip_plane(
    *points: Guarantee | JointLike, ax: "Axes | None" = None, labels: Sequence[str] = (), **context: Any
) -> "Axes":
    """Draw the plane of ALIP bounds and return the matplotlib axes.

    Across is the bound on PML (upper), up the bound on PMC (lower). On the curve A and above it PML alone decides; on
    the curve B and below it PMC alone decides; between them both bounds matter. For a fair coin the curves coincide.

    Parameters
    ----------
    *points : ALIP guarantees, or Joint objects, drawn as points (a mechanism at its measured values)
    ax : matplotlib axes, optional
    labels : names of the points
    **context : `prior`, `p_min`, or `n` with `uniform`; taken from the first Joint when absent

    Returns
    -------
    matplotlib axes
        Both in nats. Needs matplotlib (extra: plot).

    Raises
    ------
    DivulgeError
        When a point is neither, or the context has no p_min.

    References
    ----------
    "Information Density Bounds for Privacy", Figure 1, arXiv:2407.01167; "Quantifying Privacy via Information
    Density", Figure 1, arXiv:2402.12967.

    Examples
    --------
    >>> ax = plot_alip_plane(ALIP(lower=1, upper=1), p_min=0.25)
    >>> ax.get_xlabel()
    'bound on PML, upper [nats]'
    """
    placed = [point if isinstance(point, ALIP) else as_joint(point) for point in points]
    known = context or {"prior": next((p.prior for p in placed if isinstance(p, Joint)), None)}
    p = float(Context.of(**known).known_p_min)
    if p == 1:
        raise DivulgeError.of("p_min", "be at most 1/2: one secret has nothing to tell", "it", "1")
    pairs = [point if isinstance(point, ALIP) else ALIP.of(point) for point in placed]
    ax = drawable(ax, (5.4, 5.2))
    finite = [(float(a.upper), float(a.lower)) for a in pairs if a.lower != math.inf and a.upper != math.inf]
    edge = -math.log1p(-p)
    right = max([1.25 * edge, -1.05 * math.log(p), *(1.15 * u for u, _ in finite)])
    top = max([2.5 * right, *(1.15 * l for _, l in finite)])
    up = np.linspace(0, top, 400)
    a = np.log1p(-p * np.exp(-up)) - math.log1p(-p)  # the bound on PML that implies the one on PMC: A(a) = up
    b = np.log1p((1 - p) / p * -np.expm1(-up))
    ax.fill_betweenx(up, 0, a, color="0.82", lw=0, label="PML alone decides")
    ax.fill_betweenx(up, b, right, color="0.93", lw=0, label="PMC alone decides")
    ax.plot(a, up, color=_PML_COLOR, lw=2, label=r"$A(\varepsilon_u)$: PMC that PML implies")
    ax.plot(b, up, color=_PMC_COLOR, lw=2, ls="--", label=r"$B(\varepsilon_l)$: PML that PMC implies")
    ax.axvline(edge, color="0.4", lw=1, ls=":", label=r"edge of high privacy, $\log\,1/(1-p_{\min})$")
    for i, (u, l) in enumerate(finite):
        ax.plot(u, l, "o", color="black", ms=6)
        if i < len(labels):
            box = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}
            ax.annotate(labels[i], (u, l), xytext=(6, 4), textcoords="offset points", bbox=box)
    ax.set_xlim(0, right)
    ax.set_ylim(0, top)
    ax.set_xlabel("bound on PML, upper [nats]")
    ax.set_ylabel("bound on PMC, lower [nats]")
    ax.set_title(rf"$p_{{\min}}$ = {p:.4g}: between the curves both bounds matter", fontsize=10)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=8, frameon=False, ncols=2)
    return ax


def plot_implications(ax: "Axes | None" = None, theorems: Sequence[Theorem] | None = None, **context: Any) -> "Axes":
    """Draw the map of implications, one arrow a theorem, and return the matplotlib axes.

    The more follows from a kind, the higher it stands; kinds whose measured values determine each other share a box.
    Solid arrows need no knowledge of the secret, dashed ones do. With a context, only what applies in it is drawn.

    Parameters
    ----------
    ax : matplotlib axes, optional
    theorems : rows of the table, all when not given
    **context : `prior`, `p_min`, `n`, `uniform`; all theorems are drawn when it is absent

    Returns
    -------
    matplotlib axes
        Needs matplotlib (extra: plot).

    Raises
    ------
    DivulgeError
        When the context contradicts itself.

    Examples
    --------
    >>> ax = plot_implications()
    >>> "pmc" in [text.get_text() for text in ax.texts]
    True
    """
    known = Context.of(**context) if context else None
    rows = [
        t for t in theorems or THEOREMS if t.given and (known is None or all(CONDITIONS[n][1](known) for n in t.needs))
    ]
    group = _groups(rows)
    places = _places(rows, group)
    width = max(x for x, _ in places.values())
    height = max(-y for _, y in places.values()) + 1
    ax = drawable(ax, (2.3 * width + 1, 1.0 * height + 0.5))
    arrows: dict[tuple[str, str], list[Theorem]] = {}
    for row in rows:
        for given in row.given:
            ends = group[given.kind], group[row.implies.kind]
            if ends[0] != ends[1]:
                arrows.setdefault(ends, []).append(row)
    box = {"boxstyle": "round,pad=0.4", "fc": "white", "ec": "0.3"}
    drawn = {
        name: ax.text(x, y, name, ha="center", va="center", fontsize=9, bbox=box, zorder=5)
        for name, (x, y) in places.items()
    }
    for (start, end), sources in arrows.items():
        free = any(_is_free(t) for t in sources)
        ax.annotate(
            "",
            xy=places[end],
            xytext=places[start],
            arrowprops={
                "arrowstyle": "-|>",
                "color": _PML_COLOR if free else _PMC_COLOR,
                "ls": "-" if free else "--",
                "lw": 1.2,
                "patchA": drawn[start].get_bbox_patch(),
                "patchB": drawn[end].get_bbox_patch(),
                "shrinkA": 1,
                "shrinkB": 1,
                "connectionstyle": f"arc3,rad={0.22 if (end, start) in arrows else 0.1}",
            },
        )
    ax.plot([], [], color=_PML_COLOR, label="whatever is known of the secret")
    ax.plot([], [], color=_PMC_COLOR, ls="--", label="with p_min, N, or the prior")
    ax.legend(loc="upper left", fontsize=8)
    ax.set_xlim(-0.5, width + 0.5)
    ax.set_ylim(-height - 0.6 - 0.08 * width, 2.0 + 0.06 * width)  # arcs of long arrows reach beyond the boxes
    ax.set_axis_off()
    return ax


def _is_free(theorem: Theorem) -> bool:
    """Return whether the row needs no knowledge of the secret."""
    return set(theorem.needs) <= {"full support"}


def _groups(rows: Sequence[Theorem]) -> dict[str, str]:
    """Return kind -> the box it stands in: kinds whose measured values determine each other, one below the other."""
    equal = {(t.given[0].kind, t.implies.kind) for t in rows if t.tight == "equal" and len(t.given) == 1}
    same = {(a, b) for a, b in equal if (b, a) in equal}
    kinds = list(dict.fromkeys(k.kind for t in rows for k in (*t.given, t.implies)))
    after = {k: {b for a, b in same if a == k} for k in kinds}
    return {k: "\n".join(sorted(_reach(k, after), key=kinds.index)) for k in kinds}


def _places(rows: Sequence[Theorem], group: dict[str, str]) -> dict[str, tuple[float, float]]:
    """Return a place for each box: the more follows from it, whatever is known, the higher it stands."""
    boxes = list(dict.fromkeys(group.values()))
    after: dict[str, set[str]] = {box: set() for box in boxes}
    for row in rows:
        if len(row.given) == 1 and _is_free(row) and not row.given[0].index:
            after[group[row.given[0].kind]].add(group[row.implies.kind])
    strength = {box: len(_reach(box, after)) for box in boxes}
    levels = sorted(set(strength.values()), reverse=True)
    layers = [[box for box in boxes if strength[box] == level] for level in levels]
    width = max(4.0, 0.75 * max(map(len, layers)))
    places: dict[str, tuple[float, float]] = {}
    for depth, members in enumerate(layers):
        lean = 0.12 * (-1) ** depth if len(members) < 3 else 0.0
        for j, box in enumerate(members):
            low = 0.35 * (j % 2) if len(members) > 5 else 0.0
            places[box] = (width * ((j + 0.5) / len(members) + lean), -1.0 * depth - low)
    return places


def _reach(start: str, after: dict[str, set[str]]) -> set[str]:
    """Return what can be reached from `start`, itself included."""
    reached, frontier = {start}, {start}
    while frontier:
        frontier = {b for a in frontier for b in after[a]} - reached
        reached |= frontier
    return reached
