"""What a release promises, in plain words: guarantees, other attackers, other mechanisms, and what adds up."""

import math
from collections.abc import Mapping
from fractions import Fraction

from divulge.guarantees import kinds as k
from divulge.guarantees.events import NATIVE
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.posterior import PosteriorBounds, posteriors
from divulge.model.shown import in_so_many
from divulge.reporting.blocks import Block, Folded, Items, Picture, Rows, Section, Words
from divulge.reporting.reports import pictures
from divulge.reporting.reports.report import MOST_COMPARED, Report, bounds_something
from divulge.reporting.statements.telling import before_use
from divulge.reporting.statements.voice import Voice, plain
from divulge.reporting.wording import amount, bound, label, least, level, most, quoted, share, title, to_whom, written
from divulge.units import factor, nats_per

_EVENTS = ("1/1000", "1/100", "1/10", "1/2", "9/10")
_RARE, _FALSE_ALARMS = 1e-3, 1e-2
"""The share of outcomes that may tell more, and of false alarms: as the statement and its sentences have them."""

_MOVED_SHOWN = (0.0, 0.01, 0.05, 0.1, 0.5, 1.0)

_TERMS = ("w_secret", "w_outcome", "w_prior", "w_gain", "w_loss", "w_ldp", "w_units")
"""The words that are explained, in order."""

_SOURCES: tuple[tuple[str, str], ...] = (
    ("s_gain", "Saeidian, Cervia, Oechtering, Skoglund, Pointwise Maximal Leakage, arXiv:2205.04935."),
    ("s_loss", "Saeidian, Grosse, Skoglund, Oechtering, Information Density Bounds for Privacy."),
    (
        "s_who",
        "Fernandes, McIver, Sadeghi, Explaining epsilon in local differential privacy through the lens of "
        "quantitative information flow; Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith, The Science of "
        "Quantitative Information Flow, 2020.",
    ),
)


def guarantees(report: Report) -> Section:
    voice, unit = report.voice, report.unit
    if not report.guarantees:
        return Section("guarantees", voice.text("g_title"), ())
    given = report.guarantees
    head = voice.text("g_kept" if any(v.holds for v in report.verdicts) else "g_none")
    meanings = tuple(f"{title(g, voice)} ({written(g, unit)}): {to_whom(g, voice)}" for g in given)
    numbers = {source: i for i, source in enumerate(_theorem_sources(report), 1)}
    rows = [
        (f"{title(g, voice)} ({g.kind})", voice.numeral(level(g, unit)),
         voice.numeral(level(_own(report, g), unit)), _why(g, numbers, voice))
        for g in report.implied
        if bounds_something(g)
    ]  # fmt: skip
    rest = [title(g, voice) for g in report.implied if not bounds_something(g)]
    nothing = (Words(voice.text("g_no_follow", titles=", ".join(rest))),) if rest else ()
    assumed = voice.text("g_and").join(written(g, unit) for g in given)
    header = tuple(map(voice.text, ("g_guarantee", "r_at_most", "g_measured", "g_because")))
    caption = voice.text("g_follows", given=assumed, unit=voice.text(f"unit_{unit}"))
    blocks = (
        Words(head),
        Items((*meanings, *_unbounded(report))),
        _events(report),
        *_most_outcomes(report),
        Words(_region(report)),
        Folded(voice.text("g_fold"), (Rows(caption, header, tuple(rows), (0, 3)), *nothing)),
        *_plane(report),
    )
    return Section("guarantees", voice.text("g_title"), blocks)


ROUNDING = 1e-12
"""What sums of doubles may be off by: a measured level above its proved bound by less is at the bound."""


def _own(report: Report, bound: Guarantee) -> Guarantee:
    """Return what is measured of a guarantee; the bound where rounding alone parts the two."""
    own = report.measured[bound.kind]
    apart = [abs(float(getattr(own, name)) - float(getattr(bound, name))) for name in bound.bounded()]
    return bound if all(one <= ROUNDING for one in apart) else own


def _events(report: Report) -> Rows:
    """Return what anything that can be said of the secret becomes, under the prior that is shown and under any."""
    voice = report.voice
    of_known, of_anyone = posteriors(report.guarantees, prior=report.joint.prior), posteriors(report.kept(k.LDP))
    rows: list[tuple[str, ...]] = []
    for event in _EVENTS:
        known, anyone = of_known(event), of_anyone(event)
        base = in_so_many(known.before)
        before = voice.numeral(f"{known.before * base:.3g}")
        ends = [end for one in (known, anyone) for end in _ends(one, base, voice)]
        rows.append(tuple(voice.text("in_base", number=n, base=voice.number(base, 0)) for n in (before, *ends)))
    names = ("r_before", "r_after_most", "r_after_least", "g_any_most", "g_any_least")
    return Rows(voice.text("g_events"), tuple(map(voice.text, names)), tuple(rows))


def _most_outcomes(report: Report) -> tuple[Rows, ...]:
    """Return what promises about sets of outcomes leave to anyone, where no bound holds for every outcome."""
    voice, losses = report.voice, tuple(g for g in report.guarantees if type(g) in NATIVE)
    if not losses or report.kept(k.LDP).values()["epsilon"] < math.inf:
        return ()
    rows: list[tuple[str, ...]] = []
    for event in _EVENTS:
        bounds = PosteriorBounds(float(Fraction(event)), 0.0, 1.0, losses)
        base = in_so_many(bounds.before)
        ends = (most(share * base, voice) for share in (bounds.usual(_RARE), bounds.precision(_FALSE_ALARMS)))
        numbers = (voice.numeral(f"{bounds.before * base:.3g}"), *ends)
        rows.append(tuple(voice.text("in_base", number=n, base=voice.number(base, 0)) for n in numbers))
    right = PosteriorBounds(0.5, 0.0, 1.0, losses).success
    caption = voice.text("g_outcomes", right=most(right * 100, voice))
    return (Rows(caption, tuple(map(voice.text, ("r_before", "g_usual", "g_alarm"))), tuple(rows)),)


def _ends(bounds: PosteriorBounds, base: int, voice: Voice) -> tuple[str, str]:
    return most(bounds.upper * base, voice), least(bounds.lower * base, voice)


def _unbounded(report: Report) -> tuple[str, ...]:
    """Say which of the three has no bound, for the mechanism itself."""
    found, voice = report.profile, report.voice
    missing = [
        name for name, value in (("pmc", found.maximal_realizable_cost), ("ldp", found.ldp)) if value == math.inf
    ]
    return (voice.text("g_unbounded", names=voice.text("g_and").join(missing)),) if missing else ()


def _region(report: Report) -> str:
    voice, region = report.voice, report.region
    if region.zeros == 0:
        return voice.text("g_region_none")
    if region.zeros == region.secrets - 1:
        return voice.text("g_region_all")
    return voice.text("g_region_some", zeros=voice.number(region.zeros, 0), secrets=voice.number(region.secrets, 0))


def _why(guarantee: Guarantee, numbers: dict[str, int], voice: Voice) -> str:
    """Return the theorems that lead to a guarantee, with the numbers of their sources; their names are English."""
    if voice.language != "en":
        known = dict.fromkeys(numbers[s.theorem.source] for s in guarantee.derivation if s.theorem.source in numbers)
        cited = " ".join(f"[{number}]" for number in known)
        by_definition = voice.text("g_definition") if guarantee.derivation else voice.text("g_given")
        return cited or by_definition
    steps = [(step.theorem.name, numbers.get(step.theorem.source)) for step in guarantee.derivation]
    named = "; ".join(name if number is None else f"{name} [{number}]" for name, number in steps)
    return named or voice.text("g_given")


def _plane(report: Report) -> tuple[Block, ...]:
    point, prior, voice = k.ALIP(**report.kept(k.ALIP).values()), report.joint.prior, report.voice
    if len(report.beliefs) == 1 or not bounds_something(point):
        return ()
    place = f"{amount(point.upper, voice)}; {amount(point.lower, voice)}"
    alt = voice.text("g_plane_alt", place=place)
    return (Picture(voice.text("g_plane"), alt, lambda ax: pictures.plane(point, prior, ax, voice), (5.4, 4.4)),)


def assumptions(report: Report) -> Section:
    voice, points, limit = report.voice, report.sensitivity, report.profile.ldp
    if not points or len(report.beliefs) == 1:
        return Section("assumptions", voice.text("a_title"), ())
    unit = voice.text(f"unit_{report.unit}")
    rows = [(share(s, voice), amount(pml, voice), amount(pmc, voice)) for s, pml, pmc in points if s in _MOVED_SHOWN]
    table = Rows(voice.text("a_table", unit=unit, limit=amount(limit, voice)),
                 tuple(map(voice.text, ("a_moved", "p_gain", "p_loss"))), tuple(rows))  # fmt: skip
    blocks: tuple[Block, ...] = (Words(voice.text("a_words")), table)
    if any(pml < math.inf for _, pml, _ in points[1:]):
        gain, loss, end = (amount(value, voice) for value in (*points[0][1:], limit))
        alt = voice.text("a_alt", gain=gain, loss=loss, limit=end, unit=unit)
        blocks += (Picture(voice.text("a_same"), alt, lambda ax: pictures.sensitivity(points, limit, unit, ax, voice)),)
    return Section("assumptions", voice.text("a_title"), blocks)


def compared(report: Report) -> Section:
    voice = report.voice
    if not report.compared:
        return Section("compared", voice.text("c_title"), ())
    full = max(report.compared[-1].utility, 1e-300)
    rows = [
        (
            voice.known(row.name),
            share(min(row.utility / full, 1.0), voice),
            *(bound(factor(value), voice) for value in (row.pml, row.pmc, row.ldp)),
        )
        for row in report.compared
    ]
    header = tuple(map(voice.text, ("c_mechanism", "c_told", "c_gain", "c_loss", "c_any")))
    return Section("compared", voice.text("c_title"), (Rows(voice.text("c_caption"), header, tuple(rows)),))


def release(report: Report) -> Section:
    voice, receipt = report.voice, report.receipt
    if receipt is None:
        return Section("release", voice.text("l_title"), ())
    missing = "l_refused" if receipt.null_as is None else "l_as"
    facts = (
        ("l_table", receipt.source),
        ("l_output", receipt.output or voice.text("l_memory")),
        ("l_digest", receipt.digest or voice.text("l_none")),
        ("l_rows", voice.number(receipt.rows, 0)),
        ("l_columns", label(report.column)),
        ("l_others", ", ".join(receipt.untouched) or voice.text("l_none")),
        ("l_missing", voice.text(missing, label=quoted(str(receipt.null_as), voice))),
        ("l_prior", report.source_words),
        ("l_made", voice.text("l_made_by", when=voice.moment(receipt.created), version=receipt.version)),
    )
    said = tuple((voice.text(name), text) for name, text in facts)
    warnings = receipt.warnings if voice.language == "en" else tuple(map(plain, before_use(receipt, voice)))
    blocks: list[Block] = [Rows(voice.text("l_says"), ("", ""), said, (0, 1)), Items(warnings)]
    parts: list[tuple[str, Mapping[str, float]]] = [(label(m.columns), m.for_a_person) for m in receipt.mechanisms]
    if len(parts) > 1:
        parts.append((voice.text("l_together"), receipt.guarantees))
    if report.spent is not None:
        parts.append((voice.text("l_spent"), report.spent))
    if len(parts) > 1:
        scale = nats_per(report.unit)
        rows = [
            (name, *(most(g[kind] / scale, voice) if kind in g else "" for kind in ("ldp", "pml", "pmc")))
            for name, g in parts
        ]
        caption = voice.text("l_sum", unit=voice.text(f"unit_{report.unit}"))
        blocks.append(Rows(caption, (voice.text("l_head"), "ldp", "pml", "pmc"), tuple(rows)))
    return Section("release", voice.text("l_title"), tuple(blocks))


def caveats(report: Report) -> tuple[str, ...]:
    """Return what a reader has to keep in mind."""
    said = {
        "k_estimates": report.audit is not None,
        "k_prior": True,
        "k_one": True,
        "k_rare": True,
        "k_page": True,
        "k_no_ledger": report.receipt is not None and report.spent is None,
        "k_ledger": report.receipt is not None and report.spent is not None,
        "k_many": not report.estimated and not report.compared and len(report.beliefs) > 1,
        "k_large": not report.small,
    }
    many = report.voice.number(MOST_COMPARED, 0)
    return tuple(report.voice.text(name, most=many) for name, true in said.items() if true)


def _theorem_sources(report: Report) -> tuple[str, ...]:
    """Return the sources of the theorems that are used, in the order of their use."""
    used = [step.theorem.source for g in report.implied for step in g.derivation]
    return tuple(source for source in dict.fromkeys(used) if source != "by definition")


def sources(report: Report) -> tuple[str, ...]:
    """Return where definitions and theorems come from."""
    return (*_definitions(report.voice), *_theorem_sources(report))


def _definitions(voice: Voice) -> tuple[str, ...]:
    return tuple(voice.text(name, source=source) for name, source in _SOURCES)


def to_keep_in_mind(report: Report) -> Section:
    return Section("caveats", report.voice.text("k_title"), (Items(caveats(report)),))


def reading(report: Report) -> Section:
    voice, theorems = report.voice, _theorem_sources(report)
    terms = Items(tuple(voice.text(name) for name in _TERMS))
    numbered = (Words(voice.text("w_sources")), Items(theorems, numbered=True)) if theorems else ()
    return Section("reading", voice.text("w_title"), (terms, Items(_definitions(voice)), *numbered))
