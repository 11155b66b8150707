"""What a release promises, in plain words: guarantees, other attackers, other mechanisms, and what adds up."""

import math
from collections.abc import Mapping

from divulge.guarantees import kinds as k
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.pictures import plot_alip_plane
from divulge.guarantees.posterior import posterior_bounds
from divulge.model.shown import at_least, at_most, in_so_many
from divulge.reporting.blocks import Block, Folded, Items, Picture, Rows, Section, Words
from divulge.reporting.reports import pictures
from divulge.reporting.reports.report import MOST_COMPARED, Report, bounds_something
from divulge.reporting.wording import amount, bound, label, level, quoted, share, written
from divulge.units import nats_per

_EVENTS = ("1/1000", "1/100", "1/10", "1/2", "9/10")
_MOVED_SHOWN = (0.0, 0.01, 0.05, 0.1, 0.5, 1.0)

_TERMS: tuple[tuple[str, str], ...] = (
    ("Secret value", "what the release is to protect: one of a list, for each person or record"),
    ("Outcome", "what is published in its place"),
    ("Prior", "how likely each secret value is before: what the attacker is taken to know"),
    ("Gain, pml", "pointwise maximal leakage: the logarithm of the largest factor by which a belief can rise"),
    ("Loss, pmc", "pointwise maximal cost: the logarithm of the largest factor by which a belief can fall"),
    ("ldp", "local differential privacy: the logarithm of the largest factor between the chances of one outcome under "
            "two secret values; no prior is needed"),
    ("nats, bits", "units of logarithms: a factor of 2.72 is 1 nat, a factor of 2 is 1 bit"),
)  # fmt: skip

_SOURCES: tuple[str, ...] = (
    "Gain (pml): Saeidian, Cervia, Oechtering, Skoglund, Pointwise Maximal Leakage, arXiv:2205.04935.",
    "Loss (pmc): Saeidian, Grosse, Skoglund, Oechtering, Information Density Bounds for Privacy.",
    "Attackers: Fernandes, McIver, Sadeghi, Explaining epsilon in local differential privacy through the lens of "
    "quantitative information flow; Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith, The Science of "
    "Quantitative Information Flow, 2020.",
)


def guarantees(report: Report) -> Section:
    title = "What is guaranteed"
    if not report.guarantees:
        return Section("guarantees", title, ())
    given = report.guarantees
    kept = any(v.holds for v in report.verdicts)
    head = "The promises that are kept mean:" if kept else "Without a promise made, this is what the mechanism keeps:"
    meanings = tuple(f"{g.title} ({written(g, report.unit)}): {g.meaning}" for g in given)
    prior = report.joint.prior
    bounds = [posterior_bounds(given, event, prior=prior) for event in _EVENTS]
    events = Rows(
        "What this means for anything that can be said about the secret value (“it is one of these three”), however "
        "likely it was before.",
        ("before", "after, at most", "after, at least"),
        tuple(
            tuple(
                f"{number} in {base:,}"
                for number in (f"{b.before * base:.3g}", at_most(b.upper * base), at_least(b.lower * base))
            )
            for b in bounds
            for base in [in_so_many(b.before)]
        ),
    )
    numbers = {source: i for i, source in enumerate(_theorem_sources(report), 1)}
    rows = [
        (f"{g.title} ({g.kind})", level(g, report.unit), level(report.measured[g.kind], report.unit), _why(g, numbers))
        for g in report.implied
        if bounds_something(g)
    ]
    rest = [g.title for g in report.implied if not bounds_something(g)]
    nothing = (Words(f"No bound follows on {', '.join(rest)}."),) if rest else ()
    follows = Rows(
        f"What follows from {' and '.join(written(g, report.unit) for g in given)} under this prior [{report.unit}; "
        "ratios as they are], for every mechanism that keeps it; what is measured of this one; and by which theorems. "
        "Numbers in brackets are sources, at the end.",
        ("guarantee", "at most", "measured", "because"),
        tuple(rows),
        (0, 3),
    )
    region = Words(_region(report))
    return Section(
        "guarantees",
        title,
        (
            Words(head),
            Items((*meanings, *_unbounded(report))),
            events,
            region,
            Folded("What follows from it, by which theorems", (follows, *nothing)),
            *_plane(report),
        ),
    )


def _unbounded(report: Report) -> tuple[str, ...]:
    """Say which of the three has no bound, for the mechanism itself."""
    found = report.profile
    missing = [
        name for name, value in (("pmc", found.maximal_realizable_cost), ("ldp", found.ldp)) if value == math.inf
    ]
    return (f"There is no bound on {' and '.join(missing)}: some outcome rules a value out.",) if missing else ()


def _region(report: Report) -> str:
    if report.region.zeros == 0:
        return "A largest gain as small as here means, for every mechanism, that no outcome rules out any value."
    return (
        "The largest gain does not tell everything: among all mechanisms in which it is as large as here, there are "
        f"some where {report.region.words}."
    )


def _why(guarantee: Guarantee, numbers: dict[str, int]) -> str:
    """Return the theorems that lead to a guarantee, with the numbers of their sources."""
    steps = [(step.theorem.name, numbers.get(step.theorem.source)) for step in guarantee.derivation]
    return "; ".join(name if number is None else f"{name} [{number}]" for name, number in steps) or "given"


def _plane(report: Report) -> tuple[Block, ...]:
    point, prior = k.ALIP(**report.kept(k.ALIP).values()), report.joint.prior
    if len(report.beliefs) == 1 or not bounds_something(point):
        return ()
    place = f"{amount(point.upper)}, {amount(point.lower)}"
    return (
        Picture(
            "The bound on gain (PML, across) and the bound on loss (PMC, up). The point is this release. Left of the "
            "blue curve the bound on gain says it all, below the dashed curve the bound on loss does; between them it "
            "takes both.",
            f"Plane of bounds on gain and loss with two curves; this release is at {place} nats.",
            lambda ax: plot_alip_plane(point, ax=ax, labels=["this release"], prior=prior),
            (5.4, 4.4),
        ),
    )


def assumptions(report: Report) -> Section:
    title = "If the attacker knows something else"
    points, unit, limit = report.sensitivity, report.unit, report.profile.ldp
    if not points or len(report.beliefs) == 1:
        return Section("assumptions", title, ())
    words = (
        "What is known of a person is never exactly the prior. Let the attacker start from any other prior that is "
        "reached by moving part of the belief from some values to others: the gain and the loss grow like this, up to "
        "local differential privacy (ldp), which holds for every prior."
    )
    rows = [(share(s), amount(pml), amount(pmc)) for s, pml, pmc in points if s in _MOVED_SHOWN]
    table = Rows(f"The largest gain and loss over all such priors [{unit}]; ldp is {amount(limit)}.",
                 ("belief moved", "gain, pml", "loss, pmc"), tuple(rows))  # fmt: skip
    blocks: tuple[Block, ...] = (Words(words), table)
    if any(pml < math.inf for _, pml, _ in points[1:]):
        start = f"{amount(points[0][1])} and {amount(points[0][2])}"
        alt = f"Gain and loss rise with the share of belief that is moved, from {start} up to {amount(limit)} {unit}."
        blocks += (Picture("The same as a picture.", alt, lambda ax: pictures.sensitivity(points, limit, unit, ax)),)
    return Section("assumptions", title, blocks)


def compared(report: Report) -> Section:
    title = "Beside other mechanisms"
    if not report.compared:
        return Section("compared", title, ())
    full = max(report.compared[-1].utility, 1e-300)
    rows = [
        (
            row.name,
            share(min(row.utility / full, 1.0)),
            *(bound(_exp(value)) for value in (row.pml, row.pmc, row.ldp)),
        )
        for row in report.compared
    ]
    caption = (
        "Named mechanisms, each as strong as it can be without a larger gain than this release at any outcome. "
        "The more is told on average, the more useful; the smaller the factors, the safer. The best of all is what "
        "`divulge design` finds."
    )
    header = ("mechanism", "told on average", "gain ×", "loss ÷", "any prior ×")
    return Section("compared", title, (Rows(caption, header, tuple(rows)),))


def _exp(log: float) -> float:
    return math.exp(log) if log < 700 else math.inf


def release(report: Report) -> Section:
    title = "The release"
    receipt = report.receipt
    if receipt is None:
        return Section("release", title, ())
    facts = (
        ("table", receipt.source),
        ("output", receipt.output or "in memory"),
        ("SHA-256 of the output", receipt.digest or "none"),
        ("rows", f"{receipt.rows:,}"),
        ("columns reported here", label(report.column)),
        ("other columns, as they were", ", ".join(receipt.untouched) or "none"),
        ("missing values", "none, or refused" if receipt.null_as is None else f"as {quoted(receipt.null_as)}"),
        ("prior", report.prior_source),
        ("made", f"{receipt.created} by Divulge {receipt.version}"),
    )
    blocks: list[Block] = [Rows("What the receipt says.", ("", ""), facts, (0, 1)), Items(receipt.warnings)]
    parts: list[tuple[str, Mapping[str, float]]] = [(label(m.columns), m.for_a_person) for m in receipt.mechanisms]
    if len(parts) > 1:
        parts.append(("all of this release together", receipt.guarantees))
    if report.spent is not None:
        parts.append(("all releases on record about these columns", report.spent))
    if len(parts) > 1:
        scale = nats_per(report.unit)
        rows = [
            (name, *(at_most(g[kind] / scale) if kind in g else "" for kind in ("ldp", "pml", "pmc")))
            for name, g in parts
        ]
        blocks.append(
            Rows(f"What it adds up to, at most [{report.unit}].", ("columns", "ldp", "pml", "pmc"), tuple(rows))
        )
    return Section("release", title, tuple(blocks))


def caveats(report: Report) -> tuple[str, ...]:
    """Return what a reader has to keep in mind."""
    found = [
        "Gain and loss hold for the prior that is shown. An attacker who knows more about a person starts elsewhere; "
        "ldp is the only number here that holds for every one of them.",
        "The numbers are about one outcome for one person or record. Several records of one person, or of relatives, "
        "and several releases about the same column add up to more.",
        "The largest gain counts in full even where its outcome is rare: whoever it happens to bears all of it.",
        "This page shows how frequent the values are and how they go with outcomes. It is as confidential as these "
        "frequencies.",
    ]
    if report.audit is not None:
        found.insert(0, "Estimates from rows are not a guarantee. Rows can refute a promise and never prove one; only "
                        "a known mechanism can.")  # fmt: skip
    if report.receipt is not None and report.spent is None:
        found.append("Earlier and later releases of the same columns are not counted here. With --ledger they are.")
    if report.receipt is not None and report.spent is not None:
        found.append(
            "Only releases that the ledger knows of are counted, and by column: two columns may tell the same secret."
        )
    if not report.estimated and not report.compared and len(report.beliefs) > 1:
        found.append(
            f"With more than {MOST_COMPARED} values, or a very large channel, no other mechanisms are compared."
        )
    if not report.small:
        found.append("The channel is very large: the map, the merging of outcomes and other priors are left out.")
    return tuple(found)


def _theorem_sources(report: Report) -> tuple[str, ...]:
    """Return the sources of the theorems that are used, in the order of their use."""
    used = [step.theorem.source for g in report.implied for step in g.derivation]
    return tuple(source for source in dict.fromkeys(used) if source != "by definition")


def sources(report: Report) -> tuple[str, ...]:
    """Return where definitions and theorems come from."""
    return (*_SOURCES, *_theorem_sources(report))


def to_keep_in_mind(report: Report) -> Section:
    return Section("caveats", "To keep in mind", (Items(caveats(report)),))


def reading(report: Report) -> Section:
    terms = Items(tuple(f"{term}: {meaning}." for term, meaning in _TERMS))
    theorems = _theorem_sources(report)
    numbered = (Words("Sources of the theorems:"), Items(theorems, numbered=True)) if theorems else ()
    return Section("reading", "Words and sources", (terms, Items(_SOURCES), *numbered))
