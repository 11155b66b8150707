"""What a release reveals, in plain words: at worst, by outcome, by value, and to whom."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np

from divulge import exact
from divulge.adversaries.attack import Attack
from divulge.auditing.audit import Audit
from divulge.guarantees.guarantee import Guarantee
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.model.shown import at_most, percent, shortened
from divulge.reporting.blocks import Block, Card, Cards, Items, Picture, Rows, Section, Shade, Words
from divulge.reporting.reports import pictures
from divulge.reporting.reports.report import Report
from divulge.reporting.statements.facts import exp
from divulge.reporting.statements.voice import Voice
from divulge.reporting.wording import (
    MOST_TOLD,
    amount,
    bound,
    factor,
    fall,
    in_unit,
    label,
    least,
    listed,
    most,
    near,
    part,
    quoted,
    rise,
    share,
    title,
    to_whom,
    written,
)
from divulge.ties import falling, first_largest

_MOST_ROWS = 20
"""Rows of a table: those that matter most stand first, and a report is read on pages; a caption counts the others."""
_MOST_SHADED = 12
"""Rows, and columns, of the shaded map, which has to fit on a page of paper."""


def summary(report: Report) -> Section:
    voice, n, m = report.voice, len(report.beliefs), int(np.count_nonzero(report.joint.occurring))
    counts = {"secrets": voice.number(n, 0), "outcomes": voice.number(m, 0)}
    if report.audit is not None:
        what = voice.text("r_what_rows", rows=voice.counted(report.audit.rows, "row"), **counts)
    elif report.model is not None:
        what = voice.text("n_what", secret=report.secret, **counts)
    else:
        what = voice.text("r_what", **counts)
    blocks = (*_persons(report), *_verdicts(report), Words(what), Cards(_cards(report)), Words(_standing(report)))
    return Section("summary", voice.text("r_short"), blocks)


def _persons(report: Report) -> tuple[Words, ...]:
    """Say first that numbers are about one row, where a person has several, and what all of these tell."""
    ran = None if report.receipt is None else report.receipt.mechanism_of(report.column)
    if ran is None or ran.times == 1:
        return ()
    voice, together = report.voice, exp(ran.for_a_person["ldp"])
    rows = voice.number(ran.times, 0)
    if together >= MOST_TOLD:
        return (Words(voice.text("r_persons_void", rows=rows), "bad"),)
    return (Words(voice.text("r_persons", rows=rows, factor=most(together, voice))),)


def _cards(report: Report) -> tuple[Card, ...]:
    pml, pmc = _pointwise(report)
    found, voice = report.profile, report.voice
    capacity = exact.as_float(found.lift_capacity)
    limit = voice.text("r_limit_rows" if report.estimated else "r_limit")
    fallen = f"÷ {bound(factor(pmc.max(), report.unit), voice)}" if pmc.max() < math.inf else voice.text("r_to_zero")
    return (
        Card(f"× {most(found.lift, voice)}", voice.text("r_rise"), _rising(report, pml)),
        Card(fallen, voice.text("r_fall"), _falling(report, pmc)),
        Card(f"× {most(capacity, voice)}" if capacity < MOST_TOLD else voice.text("no_bound"), voice.text("r_anyone"),
             limit if capacity < math.inf else voice.text("r_unlimited")),
        Card(share(report.resolved, voice), voice.text("r_average"), voice.text("r_average_means")),
    )  # fmt: skip


def _rising(report: Report, pml: Pointwise) -> str:
    if not pml.max() > 0:
        return report.voice.text("r_no_rise")
    return _moving(report, pml, rise)


def _falling(report: Report, pmc: Pointwise) -> str:
    if not pmc.max() > 0:
        return report.voice.text("r_no_fall")
    return _moving(report, pmc, None if pmc.max() == math.inf else fall)


def _moving(report: Report, variable: Pointwise, moved: Any) -> str:
    """Return what happens to a belief after the worst outcome; a value is ruled out where nothing is `moved`."""
    voice, (outcome, often, secret) = report.voice, _worst(variable)
    said = {"outcome": quoted(outcome, voice), "often": share(often, voice), "secret": quoted(secret, voice)}
    if moved is None:
        return voice.text("r_out", **said)
    return voice.text("r_moves", change=moved(*before_and_after(report, outcome, secret), voice), **said)


def _standing(report: Report) -> str:
    voice = report.voice
    if report.audit is not None:
        alone = int((report.audit.counts.sum(axis=0) == 1).sum())
        name = "r_alone_one" if alone == 1 else "r_alone"
        told = voice.text(name, outcomes=voice.counted(alone, "outcome")) if alone else ""
        return voice.text("r_stand_rows", rows=voice.counted(report.audit.rows, "row")) + told
    how = "r_exact" if report.joint.exact else "r_float"
    stand = voice.text("r_stand", source=report.source_words)
    return " ".join([stand, voice.text(how), voice.text("r_rounded")])


def _verdicts(report: Report) -> tuple[Words, ...]:
    found = [_verdict(report, v.guarantee, v.holds, v.levels, v.witness.adversary) for v in report.verdicts]
    for audit in report.refutations:
        assert audit.claim is not None
        claim = written(audit.claim, report.unit)
        name, tone = ("r_refuted", "bad") if audit.violated else ("r_not_refuted", "")
        found.append(Words(report.voice.text(name, claim=claim), tone))
    return tuple(found)


def _verdict(report: Report, asked: Guarantee, holds: bool, levels: dict[str, Any], adversary: str) -> Words:
    voice = report.voice
    measured = ", ".join(amount(level, voice) for level in in_unit(asked, levels, report.unit).values())
    named = {"title": title(asked, voice), "claim": written(asked, report.unit), "measured": measured}
    if holds:
        return Words(f"{to_whom(asked, voice)} {voice.text('r_kept', **named)}", "good")
    who = shortened(adversary, 400) if voice.language == "en" else ""  # whose words are English
    return Words(f"{voice.text('r_broken', **named)} {who}".strip(), "bad")


def how_sure(report: Report) -> Section:
    voice = report.voice
    if report.audit is None:
        return Section("sure", voice.text("r_sure"), ())
    found, told = report.audit, report.audit.to_dict(report.unit)
    rows = [
        (_measure(name, voice), least(b["lower"], voice), most(b["upper"], voice), near(b["estimate"], voice))
        for name, b in told["measures"].items()
    ]
    level = voice.text("percent", number=voice.numeral(percent(found.confidence).removesuffix("%")))
    caption = voice.text("r_sure_means", level=level, unit=voice.text(f"unit_{report.unit}"))
    header = tuple(map(voice.text, ("r_measure", "r_at_least", "r_at_most", "r_estimate")))
    blocks = (Rows(caption, header, tuple(rows)), Items((voice.text("r_keeper"), *_notes(found, voice))))
    return Section("sure", voice.text("r_sure"), blocks)


def _measure(name: str, voice: Voice) -> str:
    kind = name.replace("_", "-")
    return name.replace("_", " ") if voice.language == "en" else voice.sentences.get(f"title_{kind}", kind)


def _notes(found: Audit, voice: Voice) -> list[str]:
    """Return what a reader must know of an audit; what has no words in this language is said in English."""
    told = [f"{note[0].upper()}{note[1:]}." for note in found.notes]
    if voice.language == "en":
        return told
    empty = int((found.counts == 0).sum())
    counts = {"empty": voice.number(empty, 0), "cells": voice.number(found.counts.size, 0)}
    known = [voice.known(note) for note in told if " empty: no upper bound" not in note]
    return [*known, *([voice.text("note_empty", **counts)] if empty else [])]


def outcomes(report: Report) -> Section:
    voice, (pml, pmc) = report.voice, _pointwise(report)
    assert pml.secrets is not None
    assert pmc.secrets is not None
    order = falling(pml.values, pmc.values).tolist()
    shown = order[:_MOST_ROWS]
    rows: list[tuple[str, ...]] = []
    for j in shown:
        outcome, up, down = pml.outcomes[j], pml.secrets[j], pmc.secrets[j]
        rows.append((
            label(outcome), share(pml.probabilities[j], voice),
            label(up), rise(*before_and_after(report, outcome, up), voice) + _rows_behind(report, outcome, up),
            amount(pml.values[j], voice),
            label(down), fall(*before_and_after(report, outcome, down), voice) + _rows_behind(report, outcome, down),
            amount(pmc.values[j], voice),
        ))  # fmt: skip
    caption, left_out = voice.text("r_outcomes_first"), len(order) - len(shown)
    if left_out:
        caption += voice.text("r_outcomes_left", outcomes=voice.counted(left_out, "outcome"))
    names = ("r_outcome", "r_often", "r_rises", "r_before_most", "r_gain_in", "r_falls", "r_before_least", "r_loss_in")
    header = tuple(voice.text(name, unit=voice.text(f"unit_{report.unit}")) for name in names)
    if report.estimated:
        caption += voice.text("r_behind")
    table = Rows(caption, header, tuple(rows), (0, 2, 5))
    return Section("outcomes", voice.text("r_outcomes"), (table, *_heat(report), *_tails(report)))


def _rows_behind(report: Report, outcome: Hashable, secret: Hashable) -> str:
    """Return how many rows have the value and the outcome, where the report is made from rows."""
    if report.audit is None:
        return ""
    found = report.audit
    rows = found.counts[found.secrets.index(secret), found.outcomes.index(outcome)]
    return f" [{report.voice.number(int(rows), 0)}]"


def _heat(report: Report) -> tuple[Block, ...]:
    """Return the map of how many times more or less likely each value is after each outcome."""
    joint, voice, (pml, pmc) = report.joint, report.voice, _pointwise(report)
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
        (label(joint.secrets[x]), *(Shade(_times(v, voice), max(-1.0, min(log / scale, 1.0)))
                                    for v, log in zip(line, lines, strict=True)))
        for x, line, lines in zip(rows, lift.tolist(), logs.tolist(), strict=True)
    ]  # fmt: skip
    some = len(rows) < len(report.beliefs) or len(columns) < len(pml)
    header = (voice.text("r_secret_value"), *(label(joint.outcomes[y]) for y in columns))
    return (Rows(voice.text("r_map_part" if some else "r_map"), header, tuple(cells)),)


def _times(lift: float, voice: Voice) -> str:
    if lift == 0:
        return "0"
    sign, times = ("×", lift) if lift >= 1 else ("÷", 1 / lift)
    return f"{sign} {most(times, voice)}" if times < MOST_TOLD else f"{sign} > {voice.number(MOST_TOLD, 0)}"


def _tails(report: Report) -> tuple[Block, ...]:
    voice, (pml, pmc) = report.voice, _pointwise(report)
    if not pml.max() > 0:
        return ()
    unit = voice.text(f"unit_{report.unit}")
    likely = share(pml.tail(pml.max() / 2), voice)
    return (
        Picture(
            voice.text("r_tail", unit=unit),
            voice.text("r_tail_alt", most=amount(pml.max(), voice), unit=unit, often=likely),
            lambda ax: pictures.tails(pml, pmc, report.envelope, ax, voice),
        ),
    )


def values(report: Report) -> Section:
    voice, shown = report.voice, report.beliefs[:_MOST_ROWS]
    rows = [
        (
            label(b.secret), part(b.before, b.before, _plainly, voice), part(b.up, b.before, most, voice),
            label(b.up_at), share(b.often, voice), part(b.down, b.before, least, voice), label(b.down_at),
        )
        for b in shown
    ]  # fmt: skip
    caption, left_out = voice.text("r_values_first"), len(report.beliefs) - len(shown)
    if left_out:
        caption += voice.text("r_values_left", values=voice.counted(left_out, "value"))
    names = ("r_secret_value", "r_before", "r_after_most", "r_by", "r_comes", "r_after_least", "r_by")
    table = Rows(caption, tuple(map(voice.text, names)), tuple(rows), (0, 3, 6))
    return Section("values", voice.text("r_values"), (*_certainties(report), table))


def _plainly(value: Any, voice: Voice) -> str:
    return voice.numeral(f"{value:.3g}")


def _certainties(report: Report) -> tuple[Words, ...]:
    voice = report.voice
    if len(report.beliefs) == 1:
        return (Words(voice.text("r_one_value")),)
    ruled_out = [b.secret for b in report.beliefs if b.down == 0]
    confirmed = [b.secret for b in report.beliefs if b.confirmed]
    if not ruled_out and not confirmed:
        return (Words(voice.text("r_nothing_certain")),)
    words: list[Words] = []
    if ruled_out:
        count = voice.number(len(report.beliefs), 0)
        words.append(Words(voice.text("r_ruled_out", count=count, labels=listed(ruled_out, voice))))
    if confirmed:
        words.append(Words(voice.text("r_certain", labels=listed(confirmed, voice))))
    return tuple(words)


def attackers(report: Report) -> Section:
    voice, rows = report.voice, list[tuple[str, ...]]()
    for kind, attack in report.adversaries.items():
        times, after = exact.as_float(attack.leakage), near(attack.after, voice)
        doing = shortened(_doing(kind, attack, report), 160)
        if kind == "ldp" and report.profile.ldp == math.inf:
            times, after = math.inf, voice.text("r_no_limit")
            doing = shortened(voice.text("do_surer", outcome=label(attack.outcome)), 160)
        gained = "r_no_limit" if times == math.inf else "r_nothing" if times <= 1 else "r_times"
        better = voice.text(gained, times=voice.numeral(at_most(times)))
        rows.append((voice.text(f"who_{kind}"), voice.text(f"want_{kind}"), doing, near(attack.before, voice), after,
                     better))  # fmt: skip
    names = ("r_attacker", "r_want", "r_do", "r_before", "r_after", "r_better")
    table = Rows(voice.text("r_who_means"), tuple(map(voice.text, names)), tuple(rows), (0, 1, 2))
    return Section("attackers", voice.text("r_who"), (table,))


def _doing(kind: str, attack: Attack, report: Report) -> str:
    """Return what an attacker does, in words."""
    voice = report.voice
    if attack.outcome is None:
        return voice.text("do_try")
    outcome, gained = label(attack.outcome), exact.as_float(attack.leakage) > 1
    if not gained:
        return voice.text("do_nothing", outcome=outcome)
    if kind != "pmc":
        guess = attack.adversary.best_action(attack.joint.posterior(attack.outcome))
        return voice.text("do_guess", outcome=outcome, secret=label(guess))
    _, pmc = _pointwise(report)
    assert pmc.secrets is not None
    at = list(pmc.outcomes).index(attack.outcome)
    name = "do_out" if exact.as_float(attack.leakage) == math.inf else "do_against"
    return voice.text(name, outcome=outcome, secret=label(pmc.secrets[at]))


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
