"""The questions of a reader and their answers, from the facts about a mechanism: the promise first."""

import math
from typing import Any

import numpy as np

from divulge.guarantees.catalog import kind_named
from divulge.releasing.planning.naming import raised
from divulge.releasing.records.receipt import Mechanism, Receipt
from divulge.reporting.statements.facts import USELESS, Facts, exp
from divulge.reporting.statements.parts import Grid, Head, Para, Part, People
from divulge.reporting.statements.voice import BASE, Label, Text, Voice

MOST_ROWS = 12
"""So many rows of a table are shown; what is left out is said."""

COMMON = (1, 10, 100, 500)
"""Of 1,000 people, how many have an answer: from very rare to half."""

_CLOSE = 1e-9


def together_text(voice: Voice, found: Any) -> Text:
    """Return what several releases add up to, in a sentence."""
    factor = exp(found["guarantees"]["ldp"])
    name = "together" if factor < USELESS else "together_void"
    return voice.say(name, releases=voice.number(found["releases"], 0), times=times(voice, factor))


def times(voice: Voice, factor: float) -> str:
    """Return a factor with three digits, rounded up: the one way in which the page writes it."""
    if not factor < 1e15:
        return "∞"
    digits = max(2 - math.floor(math.log10(max(factor, 1.0))), 0)
    scale = 10.0**digits
    return voice.number(math.ceil(factor * scale * (1 - 1e-9)) / scale, digits)


def told(receipt: Receipt, mechanism: Mechanism, voice: Voice, first: bool) -> list[Part]:
    """Return what is to be told of one mechanism: the promise first, then the questions of a reader."""
    facts = Facts(mechanism, receipt.rows)
    made = (_untrue, _promise, _before_use, _occurs, _means, _rise, _knows, _count, _second, _public, _risk, _worried,
            _not, _technical)  # fmt: skip
    return [part for tell in made if first or tell not in _ONCE for part in tell(facts, receipt, voice)]


def _untrue(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    kept = facts.kept * BASE
    words = Para(voice.say("words"))
    if facts.truthful:
        return [Para(voice.say("untrue_never"), "warn"), words]
    if not facts.by_value:
        up = raised(facts.matrix, _shares(facts))
        named = (facts.matrix * up).sum(axis=1).min() * BASE
        example = next((y for j, y in enumerate(facts.said) if up[:, j].sum() > 1), facts.said[0])
        missed = voice.number(math.ceil(BASE - named - _CLOSE), 0)
        return [Para(voice.say("untrue_sets", example=Label(example), missed=missed), "warn"), words]
    if np.ptp(kept) < 0.5:
        own = round(float(kept.min()))
        said = voice.say("untrue_same", changed=voice.number(BASE - own, 0), kept=voice.number(own, 0))
        picture = People(
            round(own / 10), voice.say("people_alt", kept=voice.number(own, 0)), voice.say("people")
        )  # fmt: skip
        return [Para(said, "warn"), picture, words]
    low, high = (voice.number(round(float(v)), 0) for v in (kept.min(), kept.max()))
    return [Para(voice.say("untrue_range", low=low, high=high), "warn"), words]


def _shares(facts: Facts) -> np.ndarray:
    """Return the public prior, or equal shares."""
    n = len(facts.matrix)
    return facts.given if facts.given is not None else np.full(n, 1 / n)


def _promise(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    found: list[Part] = [Head(voice.say("asked"))]
    if not receipt.asked:
        name = "promise_none" if facts.factor < USELESS else "promise_void"
        return [*found, Para(voice.say(name, times=times(voice, facts.factor)), "lead")]
    return [*found, *(Para(_asked(asked, facts, voice), "lead") for asked in receipt.asked)]


def _asked(asked: Any, facts: Facts, voice: Voice) -> Text:
    """Return a promise as it was typed, in words."""
    kind, assumed = str(asked["kind"]), facts.mechanism.assumed
    world = voice.say(
        f"assumed_{assumed.source}", **({"least": voice.number(assumed.least * BASE)} if assumed.least else {})
    )
    if kind in ("ldp", "dp"):
        factor = exp(float(asked["epsilon"]))
        return voice.say("promise_ldp" if factor < USELESS else "promise_void", times=times(voice, factor))
    if kind in ("pml", "pmc", "lip"):
        factor = exp(float(asked["epsilon"]))
        return voice.say(f"promise_{kind}", times=times(voice, factor), assumed=world)
    if kind == "alip":
        up, down = (times(voice, exp(float(asked[side]))) for side in ("upper", "lower"))
        return voice.say("promise_alip", up=up, down=down, assumed=world)
    levels = ", ".join(voice.number(float(v)) for name, v in asked.items() if name != "kind")
    return voice.say("promise_other", promise=f"{kind_named(kind).title}, {levels}")


def _before_use(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    found: list[Part] = [Head(voice.say("before_use")), Para(voice.say("order"), "item")]
    if receipt.untouched:
        found.append(Para(voice.say("unaltered", columns=voice.listed(list(receipt.untouched))), "item"))
    source = facts.mechanism.assumed.source
    if source == "counted":
        found.append(Para(voice.say("from_data"), "item"))
    if source in ("uniform", "lower", "noisy", "counted"):
        found.append(Para(voice.say("list_from_data"), "item"))
    return found


def _occurs(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    gone = [x for x, j in zip(facts.secrets, facts.place.tolist(), strict=True) if j < 0]
    name = "occurs_some" if gone else "occurs_all"
    said = voice.say(name, labels=voice.listed(facts.said), gone=voice.listed(gone))
    return [Head(voice.say("q_occurs")), Para(said)]


def _means(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    found: list[Part] = [Head(voice.say("q_means"))]
    if facts.truthful:
        return [*found, Para(voice.say("means_truth"))]
    if not facts.by_value:
        found.append(Para(voice.say("means_sets")))
    else:
        ratio, grid = _common(facts, voice)
        found += [Para(voice.say("means", ratio=ratio)), grid]
    if facts.given is not None:
        found += [Para(voice.say("by_source")), _by_source(facts, facts.given, voice)]
    return found


def _common(facts: Facts, voice: Voice) -> tuple[str, Grid]:
    """Return the factor from which on another answer is likelier, and what rows say for answers of any frequency."""
    n = len(facts.matrix)
    index = np.arange(n)
    own = facts.kept
    columns = facts.matrix[:, facts.place]
    columns[index, index] = -np.inf
    highest = columns.max(axis=0)
    columns[index, index] = np.inf
    lowest = columns.min(axis=0)
    with np.errstate(divide="ignore"):
        surely, maybe = float((own / highest).min()), float((own / lowest).max())
    rows: list[tuple[Text, ...]] = []
    even = BASE / n
    for level in sorted({*COMMON, even} if n > 2 else COMMON):
        p = level / BASE
        true = own * p / (own * p + (1 - p) * lowest)
        if (1 - p) <= p * surely:
            likely = "likely_self"
        elif (1 - p) / max(n - 1, 1) > p * maybe:
            likely = "likely_other"
        else:
            likely = "likely_open"
        count = min(math.ceil(float(true.max()) * BASE - _CLOSE), BASE)
        rows.append(((voice.number(level, 0),), (voice.number(count, 0),), voice.say(likely)))
    header = (voice.say("t_common"), voice.say("t_true"), voice.say("t_likely"))
    close = math.isclose(surely, facts.factor, rel_tol=1e-6)
    ratio = times(voice, facts.factor) if close else voice.number(math.floor(surely * 100 + _CLOSE) / 100, 2)
    return ratio, Grid(header, tuple(rows), (2,))


def _by_source(facts: Facts, prior: np.ndarray, voice: Voice) -> Grid:
    """Return, for each outcome, how many have its answer before and after, and what the truth most likely is."""
    joint = prior[:, None] * facts.matrix
    after = joint / np.maximum(joint.sum(axis=0), 1e-300)
    rows: list[tuple[Text, ...]] = []
    best = after.argmax(axis=0)
    owner = {j: i for i, j in enumerate(facts.place.tolist()) if j >= 0}
    up = raised(facts.matrix, prior)
    for j in range(min(len(facts.said), MOST_ROWS)):
        held = np.arange(len(prior)) == owner[j] if j in owner else up[:, j]
        before, now = (float(v[held].sum()) * BASE for v in (prior, after[:, j]))
        most = voice.say("most", label=Label(facts.secrets[best[j]]), count=voice.number(after[best[j], j] * BASE, 0))
        rows.append(((Label(facts.said[j]),), (voice.number(before, 1),), (voice.number(now, 1),), most))
    rows += _left_out(len(facts.said), 4, voice)
    header = tuple(voice.say(name) for name in ("t_said", "t_before", "t_after", "t_most"))
    return Grid(header, tuple(rows), (0, 3))


def _left_out(total: int, width: int, voice: Voice) -> list[tuple[Text, ...]]:
    if total <= MOST_ROWS:
        return []
    more = ("… ", *voice.say("more", count=voice.number(total - MOST_ROWS, 0)))
    return [(more, *[("…",)] * (width - 1))]


def _groups(facts: Facts) -> list[tuple[list[str], float, list[str]]]:
    """Return (true answers, the factor by which their odds rise at most, the outcomes that do it); ties together."""
    top = facts.rises.max(axis=1)
    order = sorted(range(len(top)), key=lambda i: -top[i] if math.isfinite(top[i]) else -math.inf)
    found: list[tuple[list[int], float]] = []
    for i in order:
        if found and (top[i] == found[-1][1] or abs(top[i] - found[-1][1]) <= 1e-6 * found[-1][1]):
            found[-1][0].append(i)
        else:
            found.append(([i], float(top[i])))
    groups: list[tuple[list[str], float, list[str]]] = []
    for members, factor in found:
        at = [j for i in members for j in np.flatnonzero(facts.rises[i] >= factor * (1 - 1e-6)).tolist()]
        groups.append(([facts.secrets[i] for i in sorted(members)], factor,
                       [facts.said[j] for j in dict.fromkeys(at)]))  # fmt: skip
    return groups


def _rise(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    rows: list[tuple[Text, ...]] = []
    groups = _groups(facts)
    for members, factor, at in groups[:MOST_ROWS]:
        own = sorted(at) == sorted(members)
        when = voice.say("likely_self") if own else voice.listed(at, 4)
        for level in (10, 100):
            p = level / BASE
            after = factor * p / (factor * p + 1 - p) if math.isfinite(factor) else 1.0
            count = voice.number(min(math.ceil(after * BASE - _CLOSE), BASE), 0)
            rows.append((voice.listed(members, 8), (voice.number(level, 0),), (count,), when))
    rows += _left_out(len(groups), 4, voice)
    header = tuple(voice.say(name) for name in ("t_true_answer", "t_from", "t_to", "t_when"))
    useful = facts.factor < USELESS
    note = voice.say("rise_note" if useful else "rise_note_void", times=times(voice, facts.factor))
    return [Head(voice.say("q_rise")), Grid(header, tuple(rows), (0, 3)), Para(note)]


def _knows(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    name = "knows_yes" if facts.factor < USELESS else "knows_no"
    return [Head(voice.say("q_knows")), Para(voice.say(name, times=times(voice, facts.factor)))]


def _count(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    rows = voice.number(receipt.rows, 0)
    if facts.truthful:
        said = voice.say("count_exact")
    elif math.isinf(facts.off):
        said = voice.say("count_no")
    elif facts.off >= receipt.rows:
        said = voice.say("count_never", rows=rows)
    else:
        said = voice.say("count_yes", off=voice.number(math.ceil(facts.off), 0), rows=rows)
    return [Head(voice.say("q_count")), Para(said), Head(voice.say("q_number")), Para(voice.say("number"))]


def _second(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    factor = facts.factor
    if factor < USELESS:
        said = voice.say("second", times=times(voice, factor), twice=times(voice, factor**2))
    else:
        said = voice.say("second_void")
    found: list[Part] = [Head(voice.say("q_second")), Para(said)]
    if receipt.together is not None and receipt.together["releases"] > 1:
        found.append(Para(together_text(voice, receipt.together), "warn"))
    return found


def _public(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    counted = any(m.assumed.source == "counted" for m in receipt.mechanisms)
    return [Head(voice.say("q_public")), Para(voice.say("public_counts" if counted else "public_yes"))]


def _risk(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    groups = _groups(facts)
    members, factor, _ = groups[0]
    labels = voice.listed(members, 20)
    if len(groups) == 1 and factor < USELESS:
        said = voice.say("risk_all", labels=labels)
    elif factor < USELESS:
        said = voice.say("risk_some", labels=labels, times=times(voice, factor))
    else:
        said = voice.say("risk_some_void", labels=labels)
    return [Head(voice.say("q_risk")), Para(said), Para(voice.say("risk_guess"))]


def _worried(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    useful = facts.factor < USELESS and facts.by_value
    kept = voice.number(math.ceil(float(facts.kept.max()) * BASE - 0.5), 0)
    said = voice.say("worried" if useful else "worried_void", kept=kept, times=times(voice, facts.factor))
    if facts.factor < USELESS and not facts.by_value:
        said = voice.say("knows_yes", times=times(voice, facts.factor))
    return [Head(voice.say("q_worried")), Para(said)]


def _not(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    names = ["not_rows", "not_groups", *(["not_other"] if receipt.untouched else [])]
    return [Head(voice.say("q_not")), *(Para(voice.say(name), "item") for name in names)]


def _technical(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    bounds = {
        kind: value for kind, value in sorted(facts.mechanism.guarantees.items())
        if exp(value) < USELESS and (kind == "ldp" or facts.mechanism.assumed.public)
    }  # fmt: skip
    numbers = ", ".join(f"{kind} {voice.number(math.ceil(v * 1e4 - 1e-7) / 1e4, 4)}" for kind, v in bounds.items())
    asked = [str(kind_named(str(one["kind"])).title) for one in receipt.asked]
    said = voice.say("technical", numbers=numbers or "–")
    typed = [Para((", ".join(asked) + ".",))] if asked else []
    return [Head(voice.say("q_technical"), folded=True), *typed, Para(said)]


_ONCE = (_promise, _before_use, _public)
"""What is told once for all columns."""
