"""What a release reveals, in plain words: at worst, by outcome, by value, and to whom."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import number_of
from divulge.guarantees.guarantee import Guarantee
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.model.shown import at_least, at_most, percent, shortened
from divulge.reporting.blocks import Block, Card, Cards, Items, Picture, Rows, Section, Shade, Words
from divulge.reporting.reports import pictures
from divulge.reporting.reports.report import Report
from divulge.reporting.wording import (
    MOST_TOLD,
    NO_BOUND,
    amount,
    base_of,
    bound,
    factor,
    fall,
    in_unit,
    label,
    listed,
    near,
    part,
    quoted,
    rise,
    share,
    written,
)
from divulge.ties import falling, first_largest

_MOST_ROWS = 20
"""Rows of a table: those that matter most stand first, and a report is read on pages; a caption counts the others."""
_MOST_SHADED = 12
"""Rows, and columns, of the shaded map, which has to fit on a page of paper."""

_ATTACKERS: dict[str, tuple[str, str]] = {
    "pml": ("The opportunist", "sees the outcome first, and then goes for whatever pays best"),
    "pmc": ("The cautious one", "wants to be wrong as rarely as can be, and bets against what has become unlikely"),
    "min-entropy-leakage": ("The guesser", "has one guess at the value; on average over all outcomes"),
    "bayes-capacity": ("The guesser in the dark", "the same, where all values are equally frequent: their best case"),
    "ldp": ("The one who was wrong", "was almost sure of another value than the true one"),
}
"""Kind of guarantee -> who attains it, and what they want."""


def summary(report: Report) -> Section:
    n, m = len(report.beliefs), int(np.count_nonzero(report.joint.occurring))
    if report.audit is not None:
        what = (
            f"In {number_of(report.audit.rows, 'row')}, a secret value (one of {n}) stands beside a released one "
            f"(one of {m}). "
            "This report tells what the released value reveals about the secret one."
        )
    else:
        what = (
            f"Every person or record has one of {n} possible secret values. One of {m} outcomes is published in its "
            "place. This report tells what the outcome reveals about the value."
        )
    return Section(
        "summary",
        "In short",
        (*_verdicts(report), Words(what), Cards(_cards(report)), Words(_standing(report))),
    )


def _cards(report: Report) -> tuple[Card, ...]:
    pml, pmc = _pointwise(report)
    found = report.profile
    capacity = exact.as_float(found.lift_capacity)
    limit = "No outcome changes the odds between two values by a larger factor, for any attacker whatsoever."
    if report.estimated:
        limit = "In these rows, no outcome changes the odds between two values by a larger factor."
    unlimited = "Some outcome is impossible under one value and possible under another: no factor bounds what it says."
    return (
        Card(f"× {at_most(found.lift)}", "Largest rise of a belief", _rising(report, pml)),
        Card(f"÷ {bound(factor(pmc.max(), report.unit))}" if pmc.max() < math.inf else "to 0",
             "Largest fall of a belief", _falling(report, pmc)),
        Card(f"× {at_most(capacity)}" if capacity < MOST_TOLD else NO_BOUND, "For anyone, whatever they know",
             limit if capacity < math.inf else unlimited),
        Card(share(report.resolved), "Told on average",
             "So much of the uncertainty about the value goes away on average. "
             "This is also what makes the release useful."),
    )  # fmt: skip


def _rising(report: Report, pml: Pointwise) -> str:
    outcome, often, secret = _worst(pml)
    if not pml.max() > 0:
        return "No outcome makes any value likelier than it was."
    change = rise(*before_and_after(report, outcome, secret))
    return f"After {quoted(outcome)} ({share(often)} of cases), {quoted(secret)}: {change}."


def _falling(report: Report, pmc: Pointwise) -> str:
    outcome, often, secret = _worst(pmc)
    if not pmc.max() > 0:
        return "No outcome makes any value less likely than it was."
    if pmc.max() == math.inf:
        return f"After {quoted(outcome)} ({share(often)} of cases), {quoted(secret)} is ruled out."
    change = fall(*before_and_after(report, outcome, secret))
    return f"After {quoted(outcome)} ({share(often)} of cases), {quoted(secret)}: {change}."


def _standing(report: Report) -> str:
    if report.audit is not None:
        alone = int((report.audit.counts.sum(axis=0) == 1).sum())
        stand = "stands for one row" if alone == 1 else "stand for one row each"
        told = f" {number_of(alone, 'outcome')} {stand}: whoever holds the table reads the secret value there."
        return (
            f"Every number here is an estimate: the frequencies in {number_of(report.audit.rows, 'row')} are taken for "
            "the truth. About other people, chance makes a number too large where few rows stand behind it; “How sure "
            f"this is” gives bounds.{told if alone else ''}"
        )
    prior = (
        f"The attacker is taken to know how likely each value is ({report.prior_source}), and how outcomes are drawn."
    )
    how = "exactly" if report.joint.exact else "in floating point, to many more digits than are shown"
    rounded = "The factors above and what is “at most” are rounded up, what is “at least” down."
    return f"{prior} Numbers are computed {how}. {rounded}"


def _verdicts(report: Report) -> tuple[Words, ...]:
    found = [_verdict(report, v.guarantee, v.holds, v.levels, v.witness.adversary) for v in report.verdicts]
    for audit in report.refutations:
        assert audit.claim is not None
        claim = written(audit.claim, report.unit)
        if audit.violated:
            found.append(Words(f"The promise {claim} is broken: the rows refute it.", "bad"))
        else:
            found.append(Words(f"The rows do not refute the promise {claim}. That is no proof that it is kept."))
    return tuple(found)


def _verdict(report: Report, asked: Guarantee, holds: bool, levels: dict[str, Any], adversary: str) -> Words:
    measured = ", ".join(map(amount, in_unit(asked, levels, report.unit).values()))
    head = f"The promise {asked.title}, {written(asked, report.unit)}"
    if holds:
        return Words(f"{asked.meaning} {head}, is kept: measured {measured}.", "good")
    return Words(f"{head}, is BROKEN: measured {measured}. {shortened(adversary, 400)}", "bad")


KEEPER = "This page holds exact numbers of the rows: it is for the keeper of the table alone."


def how_sure(report: Report) -> Section:
    if report.audit is None:
        return Section("sure", "How sure this is", ())
    found, told = report.audit, report.audit.to_dict(report.unit)
    rows = [
        (name.replace("_", " "), at_least(b["lower"]), at_most(b["upper"]), near(b["estimate"]))
        for name, b in told["measures"].items()
    ]
    caption = (
        f"With {percent(found.confidence)} confidence the truth lies between “at least” and “at most”, for all "
        f"measures at once. Logarithms in {report.unit}; lifts and capacities are factors. inf: no bound."
    )
    return Section(
        "sure",
        "How sure this is",
        (
            Rows(caption, ("measure", "at least", "at most", "estimate (too large)"), tuple(rows)),
            Items((KEEPER, *(f"{note[0].upper()}{note[1:]}." for note in found.notes))),
        ),
    )


def outcomes(report: Report) -> Section:
    pml, pmc = _pointwise(report)
    assert pml.secrets is not None
    assert pmc.secrets is not None
    order = falling(pml.values, pmc.values).tolist()
    shown = order[:_MOST_ROWS]
    rows: list[tuple[str, ...]] = []
    for j in shown:
        outcome, up, down = pml.outcomes[j], pml.secrets[j], pmc.secrets[j]
        rows.append((
            label(outcome), share(pml.probabilities[j]),
            label(up), rise(*before_and_after(report, outcome, up)) + _rows_behind(report, outcome, up),
            amount(pml.values[j]),
            label(down), fall(*before_and_after(report, outcome, down)) + _rows_behind(report, outcome, down),
            amount(pmc.values[j]),
        ))  # fmt: skip
    left_out = len(order) - len(shown)
    more = f" {number_of(left_out, 'outcome')} revealing less not shown." if left_out else ""
    header = (
        "outcome", "how often", "rises most", "before → at most", f"gain, pml [{report.unit}]",
        "falls most", "before → at least", f"loss, pmc [{report.unit}]",
    )  # fmt: skip
    if report.estimated:
        more += " In brackets: the rows with this value and this outcome; what rests on few of them is mostly chance."
    table = Rows(f"Outcomes, the one that reveals most first.{more}", header, tuple(rows), (0, 2, 5))
    return Section("outcomes", "What each outcome reveals", (table, *_heat(report), *_tails(report)))


def _rows_behind(report: Report, outcome: Hashable, secret: Hashable) -> str:
    """Return how many rows have the value and the outcome, where the report is made from rows."""
    if report.audit is None:
        return ""
    found = report.audit
    return f" [{found.counts[found.secrets.index(secret), found.outcomes.index(outcome)]:,}]"


def _heat(report: Report) -> tuple[Block, ...]:
    """Return the map of how many times more or less likely each value is after each outcome."""
    joint, (pml, pmc) = report.joint, _pointwise(report)
    if not report.small:
        return ()
    place = {y: i for i, y in enumerate(joint.outcomes)}
    by_outcome = falling(pml.values, pmc.values)[:_MOST_SHADED]
    columns = [place[pml.outcomes[j]] for j in by_outcome.tolist()]
    secrets = {x: i for i, x in enumerate(joint.secrets)}
    rows = [secrets[belief.secret] for belief in report.beliefs[:_MOST_SHADED]]
    lift = np.asarray(joint.lift[np.ix_(rows, columns)], dtype=np.float64)
    with np.errstate(divide="ignore"):
        logs = np.log(lift)
    finite = np.abs(logs[np.isfinite(logs)])
    scale = max(float(finite.max(initial=0.0)), 1e-12)
    cells = [
        (label(joint.secrets[x]), *(Shade(_times(v), max(-1.0, min(log / scale, 1.0)))
                                    for v, log in zip(line, lines, strict=True)))
        for x, line, lines in zip(rows, lift.tolist(), logs.tolist(), strict=True)
    ]  # fmt: skip
    part = ", of those that change most" if len(rows) < len(report.beliefs) or len(columns) < len(pml) else ""
    caption = (
        f"How many times more (×, orange) or less (÷, blue) likely each secret value (row) is after each outcome "
        f"(column) than before{part}. 0: ruled out."
    )
    return (Rows(caption, ("secret value", *(label(joint.outcomes[y]) for y in columns)), tuple(cells)),)


def _times(lift: float) -> str:
    if lift == 0:
        return "0"
    sign, times = ("×", lift) if lift >= 1 else ("÷", 1 / lift)
    return f"{sign} {at_most(times)}" if times < MOST_TOLD else f"{sign} > {MOST_TOLD:,.0f}"


def _tails(report: Report) -> tuple[Block, ...]:
    pml, pmc = _pointwise(report)
    if not pml.max() > 0:
        return ()
    likely = share(pml.tail(pml.max() / 2))
    return (
        Picture(
            f"How often an outcome reveals more than t [{report.unit}]. Merging outcomes afterwards can raise the "
            "chance of a large gain, up to the dashed line.",
            f"Falling steps: chance that the gain or the loss exceeds t. More than half of the largest gain of "
            f"{amount(pml.max())} {report.unit} is revealed in {likely} of cases.",
            lambda ax: pictures.tails(pml, pmc, report.envelope, ax),
        ),
    )


def values(report: Report) -> Section:
    shown = report.beliefs[:_MOST_ROWS]
    rows = [
        (
            label(b.secret), f"{b.before * base_of(b.before):.3g} in {base_of(b.before):,}",
            part(b.up, b.before, at_most), label(b.up_at), share(b.often), part(b.down, b.before, at_least),
            label(b.down_at),
        )
        for b in shown
    ]  # fmt: skip
    more = (
        f" {number_of(len(report.beliefs) - len(shown), 'value')} changing less not shown."
        if len(rows) < len(report.beliefs)
        else ""
    )
    header = (
        "secret value",
        "before",
        "after, at most",
        "by outcome",
        "which comes in",
        "after, at least",
        "by outcome",
    )
    table = Rows(f"How likely each value is before and after, the one that rises most first.{more}", header,
                 tuple(rows), (0, 3, 6))  # fmt: skip
    return Section("values", "Each secret value, before and after", (*_certainties(report), table))


def _certainties(report: Report) -> tuple[Words, ...]:
    if len(report.beliefs) == 1:
        return (Words("Only one value is possible: there is nothing to learn."),)
    ruled_out = [b.secret for b in report.beliefs if b.down == 0]
    confirmed = [b.secret for b in report.beliefs if b.confirmed]
    if not ruled_out and not confirmed:
        return (Words("No outcome rules a value out, and none makes one certain."),)
    words: list[Words] = []
    if ruled_out:
        words.append(
            Words(f"Of {len(report.beliefs)} values, some outcome rules out each of these: {listed(ruled_out)}.")
        )
    if confirmed:
        words.append(Words(f"Some outcome makes each of these certain: {listed(confirmed)}."))
    return tuple(words)


def attackers(report: Report) -> Section:
    rows: list[tuple[str, ...]] = []
    for kind, attack in report.adversaries.items():
        who, wants = _ATTACKERS[kind]
        times, words, after = exact.as_float(attack.leakage), attack.words, near(attack.after)
        if kind == "ldp" and report.profile.ldp == math.inf:
            times, after = math.inf, "no limit"
            words = f"{words.partition(';')[0]}; the surer they were before, the more they gain"
        better = "no limit" if times == math.inf else "nothing" if times <= 1 else f"{at_most(times)} times"
        rows.append((who, wants, shortened(words, 160), near(attack.before), after, better))
    caption = (
        "For each number the attacker who attains it. Before and after: what they expect to win (for the cautious one, "
        "how often they are wrong) without the outcome and with it."
    )
    header = ("attacker", "what they want", "what they do", "before", "after", "better off by")
    return Section("attackers", "Who gains from it", (Rows(caption, header, tuple(rows), (0, 1, 2)),))


def _pointwise(report: Report) -> tuple[Pointwise, Pointwise]:
    """Return pml and pmc by outcome, which a profile with a prior has."""
    found = report.profile
    assert found.pml is not None
    assert found.pmc is not None
    return found.pml, found.pmc


def before_and_after(report: Report, outcome: Hashable, secret: Hashable) -> tuple[float, float]:
    """Return how likely a value is before and after an outcome."""
    return float(report.joint.prior[secret]), float(report.joint.posterior(outcome)[secret])


def _worst(variable: Pointwise) -> tuple[Hashable, float, Hashable]:
    """Return the outcome where the variable is largest, its probability, and the value of the secret."""
    i = first_largest(variable.values)
    assert variable.secrets is not None
    return variable.outcomes[i], float(variable.probabilities[i]), variable.secrets[i]
