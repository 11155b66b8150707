"""The questions of a reader and their answers, from the facts about a mechanism: the promise first."""

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Any

import numpy as np

from divulge.releasing.planning.assumed import OWN
from divulge.releasing.planning.believed import most_lift
from divulge.releasing.planning.naming import raised, str_of
from divulge.releasing.records.ran.mechanism import Mechanism
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.statements.facts import USELESS, Facts, exp
from divulge.reporting.statements.parts import Grid, Head, Para, Part, People
from divulge.reporting.statements.promised import about_distance, assumption, promised, technical_distance, times, typed
from divulge.reporting.statements.promised import chance as chance_of
from divulge.reporting.statements.voice import BASE, Label, Text, Voice

MOST_ROWS = 12
"""So many rows of a table are shown; what is left out is said."""

COMMON = (1, 10, 100, 500)
"""Of 1,000 people, how many have an answer: from very rare to half."""

STRONG = 20.0
"""From this factor on nobody who is worried is told that nothing can be read from the table."""

Tell = Callable[[Any, Receipt, Voice], list[Part]]
"""Answers a question of a reader."""

_CLOSE = 1e-9
"""By so much may a count up to 1,000 be above a whole number by rounding of doubles alone: it is not one more."""


def together_text(voice: Voice, receipt: Receipt) -> Text:
    """Return what several releases add up to, and about whom."""
    found = receipt.together
    assert found is not None
    factor = exp(found["guarantees"]["ldp"])
    many = voice.number(found["releases"], 0)
    if factor >= USELESS:
        factor = exp(found["guarantees"].get("adp", math.inf))
        if factor >= USELESS:
            return voice.say("together_void", releases=many)
        slack = chance_of(voice, found["guarantees"]["delta"])
        said = voice.say("together_slack", releases=many, times=times(voice, factor), slack=slack)
    else:
        said = voice.say("together", releases=many, times=times(voice, factor))
    rows = receipt.protects.get("rows_per_person") is None and not receipt.protects.get("one_answer")
    return (*said, " ", *voice.say("together_row")) if rows else said


def of_all(receipt: Receipt, voice: Voice) -> list[Part]:
    """Return what is told once of all columns, where each went through a mechanism of its own."""
    facts = Facts(receipt.mechanisms[0], receipt.rows)
    return [part for tell in _ONCE for part in tell(facts, receipt, voice)]


def of_column(receipt: Receipt, mechanism: Mechanism, voice: Voice) -> list[Part]:
    """Return what is to be told of one mechanism: the promise first, then the questions of a reader."""
    facts = Facts(mechanism, receipt.rows, receipt.protects.get("squares"))
    made = (_untrue, promise, before_using, _occurs, _means, _rise, knows, _count, second, public, _risk, _worried,
            not_promised, technical)  # fmt: skip
    return told_by(made, facts, receipt, voice)


def told_by(made: Sequence[Tell], facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    """Return what is told of one of several mechanisms, without what is told of all at once, or of the only one."""
    once = _ONCE if len(receipt.mechanisms) > 1 else ()
    return [part for tell in made if tell not in once for part in tell(facts, receipt, voice)]


def _thousands(voice: Voice, share: float, digits: int = 0) -> str:
    """Return a share in 1,000, rounded; all and none only where it is all or none."""
    count, step = round(share * BASE, digits), 10.0**-digits
    if 0 < share < 1:
        count = min(max(count, step), BASE - step)
    return voice.number(count, digits)


def _at_most(voice: Voice, share: float) -> str:
    """Return a share in 1,000, rounded up: all only where it is all, but for six digits."""
    count = math.ceil(share * BASE - _CLOSE)
    return voice.number(count, 0) if count < BASE or share == 1 else voice.rounded(share * BASE, ROUND_CEILING, 6)


def _at_least(voice: Voice, share: float) -> str:
    """Return a share in 1,000, rounded down: none only where it is none."""
    count = math.floor(share * BASE + _CLOSE)
    return voice.number(count, 0) if count or not share else voice.rounded(share * BASE, ROUND_FLOOR, 2)


def _each(facts: Facts, voice: Voice) -> Text:
    """Return how many show what is theirs in some row, where chance draws in each row of a person; else nothing."""
    rows = facts.mechanism.times
    if rows == 1 or facts.truthful or facts.silent:
        return ()
    shown = facts.kept if facts.by_value else _named(facts)
    return " ", *voice.say("untrue_each", most=voice.number(rows, 0),
                           some=_at_most(voice, 1 - (1 - float(shown.max())) ** rows))  # fmt: skip


def _untrue(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    words, each = Para(voice.say("words")), _each(facts, voice)
    if facts.truthful or facts.silent:
        return [Para(voice.say("untrue_never" if facts.truthful else "untrue_silent"), "warn"), words]
    if not facts.by_value:
        return [Para((*_untrue_sets(facts, voice), *each), "warn"), words]
    low, high = float(facts.kept.min()), float(facts.kept.max())
    blank = facts.matrix[:, facts.blanks].sum(axis=1)
    if facts.blanks and np.allclose(blank + facts.kept, 1):
        labels = voice.listed([facts.said[j] for j in facts.blanks], 4)
        said = voice.say("untrue_blank", labels=labels, left=_thousands(voice, float(blank.max())))
        return [Para((*said, *each), "warn"), words]
    changed = 1 - low
    if changed * BASE < 1:
        return [Para((*voice.say("often_few"), " ", *voice.say("untrue_rare"), *each), "warn"), words]
    least = 1 - high  # of which answers the table consists, nobody is told
    name = "most" if least > 0.5 else "many" if least > 0.1 - _CLOSE else "maybe" if changed >= 0.1 else "some"
    often = voice.say(f"often_{name}")
    if (high - low) * BASE < 0.5:
        kept = _thousands(voice, low)
        said = voice.say("untrue_same", changed=_thousands(voice, 1 - low), kept=kept)
        picture = People(round(low * 100), voice.say("people_alt", kept=kept), voice.say("people"))
        return [Para((*often, " ", *said, *each), "warn"), picture, words]
    said = voice.say("untrue_range", low=_at_least(voice, low), high=_at_most(voice, high))
    return [Para((*often, " ", *said, *each), "warn"), words]


def about(receipt: Receipt, voice: Voice) -> list[Part]:
    """Return what the release says of another variable, where that one is protected: first of all."""
    found = receipt.about
    if found is None:
        return []
    what, columns = _other(receipt, voice).values()

    def factor(level: Any) -> str:
        return times(voice, exp(float(level)))

    rise, fall = found["guarantees"]["pml"], found["guarantees"]["pmc"]
    lead = voice.say("about_promise", what=what, columns=columns, times=factor(rise))
    loss = voice.say("about_gone") if fall == "inf" else voice.say("about_loss", times=factor(fall))
    said: list[Part] = [Head(voice.say("q_about", what=what)), Para(lead, "lead"), Para(loss)]
    worst = found["off"][-1]
    law = voice.say("about_counted" if found["counted"] else "about_given")
    radius = voice.number(float(Fraction(worst["radius"])) * 100, 3)
    said.append(Para(law))
    if worst["pml"] != "inf":
        said.append(Para(voice.say("about_off", radius=radius, times=factor(worst["pml"]))))
    for one in found.get("within", ()):
        if one["pml"] != "inf":
            share = voice.number(float(Fraction(one["factor"])), 3)
            said.append(Para(voice.say("about_within", share=share, times=factor(one["pml"]))))
    said.append(Para(voice.say("about_own", columns=columns)))
    return [*said, Para(voice.say("about_beside", what=what))] if receipt.untouched else said


def _other(receipt: Receipt, voice: Voice) -> dict[str, Text]:
    """Return what a promise about another variable is about, and the columns that go out under it."""
    if receipt.about is None:
        return {}
    name = receipt.about["variable"]
    what = voice.listed([name]) if name else voice.say("about_variable")
    return {"what": what, "columns": voice.listed(list(receipt.released_as))}


def _untrue_sets(facts: Facts, voice: Voice) -> Text:
    up = raised(facts.matrix, _shares(facts))
    named = _named(facts).min() * BASE
    example = next((y for j, y in enumerate(facts.said) if up[:, j].sum() > 1), facts.said[0])
    return voice.say("untrue_sets", example=Label(example), missed=voice.number(math.ceil(BASE - named - _CLOSE), 0))


def _named(facts: Facts) -> np.ndarray:
    """Return how often each true answer is among those that what is said makes likelier."""
    return (facts.matrix * raised(facts.matrix, _shares(facts))).sum(axis=1)


def _shares(facts: Facts) -> np.ndarray:
    """Return the public prior, or equal shares."""
    n = len(facts.matrix)
    return facts.given if facts.given is not None else np.full(n, 1 / n)


def _bounded(facts: Facts) -> str:
    """Return how far odds may change: not at all, within a bound that helps, within one that does not, or without."""
    if facts.silent:
        return "silent"
    return "" if facts.helpful else "useless" if math.isfinite(facts.factor) else "void"


def _bound(facts: Facts, receipt: Receipt) -> tuple[str, float]:
    """Return how far odds may change by all that is said, of one column or several, and by which factor."""
    if len(receipt.mechanisms) == 1:
        return _bounded(facts), facts.factor
    factor = exp(receipt.guarantees["ldp"])
    return "" if factor < USELESS else "useless" if math.isfinite(factor) else "void", factor


def promise(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    """Return what was promised, about whom, and what that comes to."""
    found: list[Part] = [Head(voice.say("asked"))]
    if receipt.asked:
        found += [Para(promised(asked, facts, voice), "lead") for asked in receipt.asked]
    elif facts.mechanism.promise is not None:
        found += about_distance(facts.mechanism, facts.mechanism.promise, voice)
    else:
        whose = voice.say("promise_none" if receipt.about is None else "promise_other", **_other(receipt, voice))
        name, factor = _bound(facts, receipt)
        said = voice.say("_".join(filter(None, ("kept", name))), times=times(voice, factor))
        found.append(Para((*whose, " ", *said), "lead"))
    if len(receipt.mechanisms) > 1:
        factor = exp(receipt.guarantees["ldp"])
        name = "several" if factor < USELESS else "several_void"
        found.append(Para(voice.say(name, times=times(voice, factor)), "lead"))
    if len(receipt.mechanisms) > 1 or (_bounded(facts) != "silent" and not facts.truthful):
        found += [Para(text) for text in _whose(facts, receipt, voice)]
    return found


def _whose(facts: Facts, receipt: Receipt, voice: Voice) -> list[Text]:
    """Return whom the promise is about, what it comes to in figures, and what it does not cover: beside the promise."""
    factor, most = exp(receipt.guarantees["ldp"]), receipt.protects.get("rows_per_person")
    if receipt.protects.get("one_answer"):
        said = voice.say("whose_once")
    elif most is not None:
        said = voice.say("whose_single") if most == 1 else voice.say("whose_rows", most=voice.number(most, 0))
    else:
        two, six = factor**2 if factor < USELESS else math.inf, factor**6 if factor < USELESS else math.inf
        name = "whose_row" if six < USELESS else "whose_row_some" if two < USELESS else "whose_row_void"
        said = voice.say(name, two=times(voice, two), six=times(voice, six))
    figures: list[Text] = []
    if factor < USELESS:
        after = {name: 100 * factor * p / (factor * p + 1 - p) for name, p in _CHANCES.items()}
        figures.append(voice.say("figures", **{name: voice.rounded(v, ROUND_CEILING, 3) for name, v in after.items()}))
    return [*figures, said, *_followed(facts, receipt, voice), voice.say("exceptions")]


def _followed(facts: Facts, receipt: Receipt, voice: Voice) -> list[Text]:
    """Return what all rows of a person say of one of them, where a model says how they follow each other."""
    if receipt.chain is None:
        return []
    found, most = receipt.chain.leakage(facts.matrix, facts.mechanism.times), voice.number(facts.mechanism.times, 0)
    if not exp(found.ldp) < USELESS:
        return [voice.say("followed_void", most=most)]
    said = {name: times(voice, exp(level)) for name, level in (("odds", found.ldp), ("rise", found.pml))}
    return [voice.say("followed", most=most, **said)]


_CHANCES = {"one": 0.01, "ten": 0.1, "fifty": 0.5}
"""Chances before, at which the odds are shown in figures."""


def before_use(receipt: Receipt, voice: Voice) -> list[Text]:
    """Return what whoever uses the table has to know first."""
    found = [voice.say("order" if receipt.coarsened is None else "order_groups")]
    if receipt.coarsened:
        found.append(voice.say("coarsened", columns=voice.listed(list(receipt.coarsened))))
    if receipt.untouched:
        found.append(voice.say("unaltered", columns=voice.listed(list(receipt.untouched))))
    sources = {mechanism.assumed.source for mechanism in receipt.mechanisms}
    if sources & {*OWN}:
        found.append(voice.say("from_data"))
    if "groups" in sources:
        twice = exp(2 * receipt.guarantees["ldp"])
        useful = twice < USELESS
        found.append(
            voice.say("from_groups", twice=times(voice, twice)) if useful else voice.say("from_groups_useless")
        )
        found += _groups_keep(receipt, voice)
    if receipt.answers["from"] != "list":
        found.append(voice.say("list_from_data" if receipt.answers["from"] == "table" else "list_any"))
    if others := list(dict.fromkeys(receipt.answers.get("other", ()))):
        name = "list_other" if receipt.null_as is None else "list_other_there"
        bought = receipt.answers.get("bought")
        if receipt.answers.get("taken"):
            found.append(voice.say("list_taken"))
            name = name.replace("list_", "bought_")
        if bought is not None:
            told = {"times": times(voice, exp(bought["epsilon"])), "slack": chance_of(voice, bought["delta"])}
            found.append(voice.say("list_bought", **told))
            name = name.replace("list_", "bought_")
        found.append(voice.say(name, labels=voice.listed(others)))
    return found


def _groups_keep(receipt: Receipt, voice: Voice) -> list[Text]:
    """Return what groups that were made to keep something tell by themselves, and what both tell together."""
    said: list[Text] = []
    for mechanism in receipt.mechanisms:
        promises = mechanism.assumed.within
        if not promises:
            continue
        said.append(voice.say("groups_keep", guarantees=", ".join(promises)))
        most = most_lift(promises)
        if most < USELESS and mechanism.times == 1:
            both = most * exp(mechanism.guarantees["pml"])
            said.append(voice.say("groups_both", groups=times(voice, most), both=times(voice, both)))
        if any(not text.startswith("k=") for text in promises):
            said.append(voice.say("groups_chosen"))
    return said


def before_using(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    """Return what whoever uses the table has to know first, under its question."""
    return [Head(voice.say("before_use")), *(Para(text, "item") for text in before_use(receipt, voice))]


def _occurs(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    labels = voice.listed(facts.said)
    gone = [x for x, j in zip(facts.secrets, facts.place.tolist(), strict=True) if j < 0]
    if gone:
        said = voice.say("occurs_some", labels=labels, gone=voice.listed(gone))
    elif facts.blanks:
        blanks = voice.listed([facts.said[j] for j in facts.blanks])
        said = voice.say("occurs_blank", labels=voice.listed(facts.secrets), blanks=blanks)
    else:
        said = voice.say("occurs_all", labels=labels)
    found: list[Part] = [Head(voice.say("q_occurs")), Para(said)]
    if len(facts.said) > MOST_LISTED:
        found.append(Para(voice.say("occurs_more", count=voice.number(len(facts.said), 0))))
    if receipt.null_as is not None and str_of(receipt.null_as) in facts.said:
        found.append(Para(voice.say("occurs_missing", label=Label(str_of(receipt.null_as)))))
    return found


MOST_LISTED = 30
"""So many answers are listed; beyond, the codebook lists all."""


def _means(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    found: list[Part] = [Head(voice.say("q_means"))]
    if facts.truthful or facts.silent:
        return [*found, Para(voice.say("means_truth" if facts.truthful else "means_silent"))]
    if not facts.by_value:
        found.append(Para(voice.say("means_sets")))
    else:
        found += _common(facts, voice)
    for j in facts.blanks:
        column = facts.matrix[:, j]
        name = "means_blank" if np.ptp(column) <= 1e-12 * column.max() else "means_blank_hint"
        found.append(Para(voice.say(name, label=Label(facts.said[j]))))
    if facts.given is not None:
        found += [Para(voice.say("by_source")), _by_source(facts, facts.given, voice)]
    return found


def _common(facts: Facts, voice: Voice) -> list[Part]:
    """Return from which factor on another answer is likelier, and what rows say for answers of any frequency."""
    n = len(facts.matrix)
    if n == 1:
        return [Para(voice.say("means_truth"))]
    index = np.arange(n)
    own = facts.kept
    columns = facts.matrix[:, facts.place]
    columns[index, index] = -np.inf
    highest = columns.max(axis=0)
    columns[index, index] = np.inf
    lowest = columns.min(axis=0)
    with np.errstate(divide="ignore"):
        surely, maybe = float((own / highest).min()), float((own / lowest).max())
    if math.isinf(surely):
        return [Para(voice.say("means_certain"))]
    if surely >= USELESS:
        return [Para(voice.say("means_almost"))]
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
        among = voice.number(level, 0) if level >= 1 else voice.rounded(level, ROUND_FLOOR, 2)
        rows.append(((among,), (voice.number(count, 0),), voice.say(likely)))
    header = (voice.say("t_common"), voice.say("t_true"), voice.say("t_likely"))
    if math.isclose(surely, maybe, rel_tol=1e-6):
        said = voice.say("means", ratio=times(voice, surely))
    else:
        said = voice.say("means_can", ratio=voice.number(math.floor(surely * 100 + _CLOSE) / 100, 2))
    return [Para(said), Grid(header, tuple(rows), (2,))]


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
        before, now = (_thousands(voice, float(v[held].sum()), 1) for v in (prior, after[:, j]))
        most = voice.say("most", label=Label(facts.secrets[best[j]]), count=_thousands(voice, float(after[best[j], j])))
        rows.append(((Label(facts.said[j]),), (before,), (now,), most))
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
        groups.append(([facts.secrets[i] for i in sorted(members)], factor, [facts.said[j] for j in dict.fromkeys(at)]))
    return groups


def _rise(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    head = Head(voice.say("q_rise"))
    if facts.silent:
        return [head, Para(voice.say("rise_silent"))]
    rows: list[tuple[Text, ...]] = []
    groups = _groups(facts)
    for members, factor, at in groups[:MOST_ROWS]:
        if sorted(at) == sorted(members):
            when = voice.say("same" if len(members) == 1 else "same_each")
        else:
            when = voice.listed(at, 4)
        who = voice.say("every_answer") if 1 < len(members) == len(facts.secrets) else voice.listed(members, 8)
        for level in (10, 100):
            p = level / BASE
            after = factor * p / (factor * p + 1 - p) if math.isfinite(factor) else 1.0
            count = voice.number(min(max(math.ceil(after * BASE - _CLOSE), level + (factor > 1)), BASE), 0)
            rows.append((who, (voice.number(level, 0),), (count,), when))
    rows += _left_out(len(groups), 4, voice)
    header = tuple(voice.say(name) for name in ("t_true_answer", "t_from", "t_to", "t_when"))
    note = voice.say("rise_note" if facts.helpful else "rise_note_void", times=times(voice, facts.factor))
    return [head, Grid(header, tuple(rows), (0, 3)), Para(note)]


def knows(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    """Return whether the promise holds against somebody who knows everything else."""
    name, factor = _bound(facts, receipt)
    found: list[Part] = [
        Head(voice.say("q_knows")),
        Para(voice.say(f"knows_{name or 'yes'}", times=times(voice, factor))),
    ]
    if receipt.answers["from"] == "table":
        found.append(Para(voice.say("knows_list")))
    elif receipt.answers.get("taken"):
        found.append(Para(voice.say("knows_list_taken")))
    return found


def _count(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    rows = voice.number(receipt.rows, 0)
    off, most = facts.off
    if facts.truthful:
        said = voice.say("count_exact")
    elif math.isinf(off):
        said = voice.say("count_no")
    elif off >= receipt.rows:
        said = voice.say("count_never", rows=rows)
    else:
        small, any_size = (voice.number(min(math.ceil(v), receipt.rows), 0) for v in (off, most))
        several = receipt.protects.get("one_answer") or (receipt.protects.get("rows_per_person") or 1) > 1
        said = voice.say("count_rows" if several else "count_yes", off=small, most=any_size, rows=rows)
    number = "number" if not math.isinf(off) else "number_never"
    return [Head(voice.say("q_count")), Para(said), Head(voice.say("q_number")), Para(voice.say(number))]


def second(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    """Return what a second release does, and what all so far add up to."""
    bounded, factor = _bound(facts, receipt)
    if len(receipt.mechanisms) == 1 and (facts.truthful or facts.silent):
        said = voice.say("second_truth" if facts.truthful else "second_silent")
    elif bounded:
        said = voice.say("second_void")
    elif factor**2 < USELESS:
        said = voice.say("second", times=times(voice, factor), twice=times(voice, factor**2))
    else:
        said = voice.say("second_useless", times=times(voice, factor))
    found: list[Part] = [Head(voice.say("q_second")), Para(said)]
    if receipt.together is not None and receipt.together["releases"] > 1:
        found.append(Para(together_text(voice, receipt), "warn"))
    return found


def public(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    """Return whether the page, and the table, may be public."""
    counted = any(m.assumed.source in OWN for m in receipt.mechanisms)
    truthful = any(isinstance(m, Mechanism) and Facts(m, receipt.rows).truthful for m in receipt.mechanisms)
    found = [voice.say("public_truth" if truthful else "public_counts" if counted else "public_yes")]
    if (receipt.untouched or receipt.coarsened) and not truthful:
        found.append(voice.say("public_unaltered" if receipt.coarsened is None else "public_coarsened"))
    return [Head(voice.say("q_public")), *map(Para, found)]


def _risk(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    if facts.silent:
        return [Head(voice.say("q_risk")), Para(voice.say("risk_silent"))]
    groups = _groups(facts)
    members, factor, _ = groups[0]
    if len(groups) == 1:
        said = voice.say("risk_all")
    elif factor < USELESS:
        said = voice.say("risk_some", labels=voice.listed(members, 20), times=times(voice, factor))
    else:
        said = voice.say("risk_some_void", labels=voice.listed(members, 20))
    return [Head(voice.say("q_risk")), Para(said), Para(voice.say("risk_guess"))]


def _worried(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    bounded = _bounded(facts)
    if facts.truthful:
        name = "worried_truth"
    elif bounded:
        name = f"worried_{bounded}"
    elif not facts.by_value:
        name = "worried_sets"
    else:
        name = "worried" if facts.factor <= STRONG else "worried_strong"
    rise = facts.factor * 0.01 / (facts.factor * 0.01 + 0.99) if math.isfinite(facts.factor) else 1.0
    said = voice.say(
        name, kept=_at_most(voice, float(facts.kept.max())), times=times(voice, facts.factor),
        to=voice.number(max(math.ceil(rise * BASE - _CLOSE), 10 + (facts.factor > 1)), 0),
    )  # fmt: skip
    return [Head(voice.say("q_worried")), Para((*said, *_each(facts, voice)))]


def not_promised(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    """Return what is not promised."""
    person = receipt.protects.get("one_answer") or receipt.protects.get("rows_per_person")
    beside = "not_other" if receipt.coarsened is None else "not_known"
    names = ["not_relatives" if person else "not_rows", "not_groups"]
    names += [beside] if receipt.untouched or receipt.coarsened else []
    return [Head(voice.say("q_not")), *(Para(voice.say(name), "item") for name in names)]


def _level(voice: Voice, value: float) -> str:
    """Return a level with four decimals, or digits where it is small, rounded up."""
    if value < 1e-3:
        return voice.rounded(value, ROUND_CEILING)
    return voice.number(math.ceil(value * 1e4 * (1 - 1e-12)) / 1e4, 4)


def technical(facts: Facts, receipt: Receipt, voice: Voice) -> list[Part]:
    """Return what was asked for, and the levels, in technical words."""
    bounds = {
        kind: value for kind, value in sorted(facts.mechanism.for_a_person.items())
        if exp(value) < USELESS and (kind == "ldp" or facts.mechanism.assumed.public)
    }  # fmt: skip
    numbers = ", ".join(f"{kind} {_level(voice, v)}" for kind, v in bounds.items())
    found: list[Part] = [Head(voice.say("q_technical"), folded=True)]
    if receipt.asked:
        found.append(Para(voice.say("technical_typed", typed=", ".join(map(typed, receipt.asked)))))
    if isinstance(facts.mechanism, Mechanism):
        found += [] if facts.mechanism.promise is None else [technical_distance(facts.mechanism.promise, voice)]
        found.append(Para(voice.say("technical_once" if receipt.protects.get("one_answer") else "technical")))
    if bounds:
        found.append(Para(voice.say("technical_numbers", numbers=numbers)))
    if bounds.keys() & {"pml", "pmc"}:
        found.append(Para(voice.say("technical_assumed", assumed=assumption(facts, voice))))
    return found


_ONCE: tuple[Tell, ...] = (promise, before_using, knows, second, public, not_promised)
"""What is told once of all columns, in this order."""
