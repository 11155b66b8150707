"""The statement about published statistics: one page in plain words, which may be public as the table is."""

import math
from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cache
from typing import Any

from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.loss import ADP, RDP, ZCDP
from divulge.guarantees.posterior import PosteriorBounds
from divulge.model.shown import in_so_many
from divulge.publishing.published import Published, promise
from divulge.reporting.statements.facts import USELESS, exp
from divulge.reporting.statements.parts import Grid, Head, Para, Part
from divulge.reporting.statements.promised import chance as chance_of
from divulge.reporting.statements.promised import times
from divulge.reporting.statements.voice import BASE, Label, Text, Voice, plain

CHANCES = (1, 10, 100, 500)
"""Of 1,000: how likely an answer is before, from very rare to half."""

RARE, FALSE_ALARMS = 1e-3, 1e-2
"""The share of tables that may tell more, and of false alarms; the sentences say both."""

USELESS_CHANCE = 0.99
"""What is rare before and may be so probable in any table that is seen often: no bound is of use there."""

_MILLION = math.log(2e6)
"""Twice a million: the loss can be exceeded on either side."""

_CLOSE = 1e-9
"""By so much may hundredths be off by rounding alone, of numbers up to 100,000: they are not moved by one more."""


def contents(found: Published, voice: Voice) -> tuple[Text, str, tuple[Part, ...]]:
    """Return the title of the statement of published statistics, what all releases add up to, and the parts."""
    columns = list(found.columns)
    title = voice.say("stat_title", columns=voice.listed(columns, 8)) if columns else voice.say("stat_title_rows")
    together = "".join(plain(note_text(voice, note)) for note in found.notes if note.name.startswith("note_together"))
    made = (_published, _promised, _beliefs, _reading, _use, _count, _second, _public, _risk, _worried, _not, _rest,
            _technical)  # fmt: skip
    return title, together, tuple(part for tell in made for part in tell(found, voice))


def _published(found: Published, voice: Voice) -> list[Part]:
    kinds = [
        kind
        for kind in ("rows", "people", "values", "squares", "ranks", "cut")
        if any(q["kind"] == kind for q in found.queries)
    ]
    names = _joined(voice, [voice.say(f"kind_{kind}") for kind in kinds])
    columns = list(found.columns)
    said = voice.say("stat_contents", kinds=names, columns=voice.listed(columns, 12)) if columns else voice.say(
        "stat_contents_rows", kinds=names
    )  # fmt: skip
    public = any(not query["scale"] for query in found.queries)
    ranks = [Para(voice.say("stat_noisy_ranks"))] if "ranks" in kinds else []
    return [Para(voice.say("stat_noisy_some" if public else "stat_noisy"), "warn"), *ranks, Para(said)]


def _joined(voice: Voice, texts: list[Text]) -> Text:
    """Return texts as a list without quotation marks."""
    out: Text = ()
    for i, text in enumerate(texts):
        joint = (" ", *voice.say("and"), " ") if i == len(texts) - 1 else (", ",)
        out += (*(joint if i else ()), *text)
    return out


def _promised(found: Published, voice: Voice) -> list[Part]:
    """Return what was promised, what was asked for first."""
    given, said = found.guarantees, list[Text]()
    added = "_added" if found.protected["neighbors"] == "added" else ""
    for kind in given:
        if kind in ("pml", "lip") and "pml" in given:
            said += [] if said and kind == "lip" else _pml(found, voice)
        elif kind == "dp":
            said.append(_factor(voice, f"stat_dp{added}", given["dp"]))
        elif kind == "adp":
            slack = chance_of(voice, given["adp"]["delta"])
            said.append(_factor(voice, f"stat_adp{added}", given["adp"]["epsilon"], slack=slack))
        elif kind in ("zcdp", "rdp"):
            said.append(_factor(voice, f"stat_million{added}", _tail(kind, given[kind])))
    lead, *rest = dict.fromkeys(said)
    unprotected = _list_taken(found)
    listed = [] if unprotected else [Para(voice.say("stat_knows"))]
    taken = [Para(voice.say(unprotected), "warn")] if unprotected else []
    return [Head(voice.say("asked")), Para(lead, "lead"), *_alone(found, voice), *taken, *map(Para, rest), *listed]


def _has(found: Published, name: str) -> bool:
    return any(note.name == name for note in found.notes)


def _list_taken(found: Published) -> str:
    """Return the sentence that the list of groups is from a table: this one's, or another publication's; else ""."""
    here = "stat_list" if _has(found, "note_from_data") else ""
    return here or ("stat_list_taken" if _has(found, "note_taken") else "")


def _alone(found: Published, voice: Voice) -> list[Part]:
    """Return what this table alone allows, beside what all releases about the same people do."""
    before = next((note.values for note in found.notes if note.name.startswith("note_together")), None)
    alone = exp(found.loss)
    if before is None or not alone < USELESS:
        return []
    said = {"alone": times(voice, alone), "releases": voice.number(before["releases"], 0)}
    loss = float(before.get("loss", math.inf))
    if not exp(loss) < USELESS:
        return [Para(voice.say("stat_alone_void", **said), "lead")]
    return [Para(voice.say("stat_alone", times=times(voice, exp(loss)), **said), "lead")]


def _factor(voice: Voice, name: str, log: float, **more: Text) -> Text:
    factor = exp(log)
    return voice.say(name if factor < USELESS else "stat_void", times=times(voice, factor), **more)


def _tail(kind: str, value: Any) -> float:
    """Return what the loss is beyond once in a million draws at most (Chernoff; Bun, Steinke, arXiv:1605.02065)."""
    if kind == "zcdp":
        return value + 2 * math.sqrt(value * _MILLION)
    return value["epsilon"] + _MILLION / (value["alpha"] - 1) if value["alpha"] < math.inf else value["epsilon"]


def _pml(found: Published, voice: Voice) -> list[Text]:
    """Return what pml, and pmc beside it, mean for an answer of the least chance."""
    prior = found.prior
    assert prior is not None
    p, pml = float(prior["least"]), found.guarantees["pml"]
    base = max(BASE, in_so_many(p))
    least = float(Context(prec=6, rounding=ROUND_CEILING).create_decimal(Decimal(repr(p * base * (1 - 1e-12)))))
    most = math.ceil(least * exp(min(pml, -math.log(p))) * 100 - _CLOSE) / 100
    after = voice.number(min(max(most, least + 0.01 * (pml > 0)), base), 2)
    columns = list(prior.get("columns", ()))
    said = [
        voice.say(
            "stat_pml_some" if columns else "stat_pml_any", secret=voice.listed(columns), base=voice.number(base, 0),
            least=voice.exactly(Decimal(repr(least))), after=after, times=times(voice, exp(pml)),
        )
    ]  # fmt: skip
    if found.guarantees.get("pmc", math.inf) < math.log(USELESS):
        said.append(voice.say("stat_pmc", times=times(voice, exp(found.guarantees["pmc"]))))
    return said


def _beliefs(found: Published, voice: Voice) -> list[Part]:
    """Return how far chances move: to p / (p + (1 - p) e^-loss) at most, with e^loss at least."""
    head, factor = Head(voice.say("q_stat_beliefs")), exp(found.loss)
    if not factor < USELESS:
        return [head, *_usual_beliefs(found, voice)]
    rows: list[tuple[Text, ...]] = []
    for chance in CHANCES:
        p = chance / BASE
        most, least = (p * times_ / (p * times_ + 1 - p) * BASE for times_ in (factor, 1 / factor))
        up = max(math.ceil(most * 100 - _CLOSE) / 100, chance + 0.01 * (factor > 1))
        down = min(least, chance - 0.01 * (factor > 1))
        hundredths = math.floor(down * 100 + _CLOSE) / 100
        low = voice.number(hundredths, 2) if down >= 1 else voice.rounded(down, ROUND_FLOOR, 3)
        rows.append(((voice.number(chance, 2),), (voice.number(min(up, BASE), 2),), (low,)))
    header = tuple(voice.say(name) for name in ("t_chance", "t_at_most", "t_at_least"))
    whom = "stat_beliefs_list" if _list_taken(found) else "stat_beliefs"
    return [head, Grid(header, tuple(rows), ()), Para(voice.say(whom, times=times(voice, factor)))]


def _usual_beliefs(found: Published, voice: Voice) -> list[Part]:
    """Return how far chances move in most tables, and what the best attacker reaches, where no factor bounds all."""
    given = _losses(found)
    if _usual(given, CHANCES[0]) is None:
        return [Para(voice.say("stat_beliefs_void"))]
    rows: list[tuple[Text, ...]] = []
    for chance in CHANCES:
        reached = _usual(given, chance) or (1.0, 1.0)
        rows.append(((voice.number(chance, 2),), *((_of_thousand(voice, share),) for share in reached)))
    header = tuple(voice.say(name) for name in ("t_chance", "t_usual", "t_alarms"))
    said = voice.say("stat_beliefs_usual", right=_of_thousand(voice, _right(given)))
    listed = [Para(voice.say("stat_beliefs_but_list"))] if _list_taken(found) else []
    return [Grid(header, tuple(rows), ()), Para(said), *listed]


def _of_thousand(voice: Voice, share: float) -> str:
    """Return so many of 1,000, rounded up to hundredths."""
    return voice.number(min(math.ceil(share * BASE * 100 - _CLOSE) / 100, BASE), 2)


def _losses(found: Published) -> tuple[Guarantee, ...]:
    """Return what is promised of the change of one answer, to say how seldom much is told.

    A person who changes an answer is, where people are there or not, one who leaves and one who comes: two steps.
    """
    steps = 2 if found.protected["neighbors"] == "added" else 1
    given: list[Guarantee] = []
    if (slack := found.guarantees.get("adp")) is not None:
        epsilon, delta = slack["epsilon"], slack["delta"]
        given.append(ADP(steps * epsilon, min(1.0, delta * (1 + exp(epsilon)) if steps == 2 else delta)))
    if (rho := found.guarantees.get("zcdp")) is not None:
        given.append(ZCDP(steps**2 * rho))
    if (renyi := found.guarantees.get("rdp")) is not None and steps == 1:
        given.append(RDP(renyi["alpha"], renyi["epsilon"]))
    return tuple(given)


def _doubled(promise: Guarantee) -> Guarantee:
    """Return what two releases that keep this promise keep together: each of these adds up."""
    if isinstance(promise, ZCDP):
        return ZCDP(2 * promise.rho)
    if isinstance(promise, RDP):
        return RDP(promise.alpha, 2 * promise.epsilon)
    assert isinstance(promise, ADP)
    return ADP(2 * promise.epsilon, min(1, 2 * promise.delta))


@cache
def _usual(given: tuple[Guarantee, ...], chance: int) -> tuple[float, float] | None:
    """Return the chance in most tables, and at an alarm, of an answer with a chance before; None where all is left."""
    bounds = PosteriorBounds(chance / BASE, 0.0, 1.0, given)
    usual = bounds.usual(RARE) if given else 1.0
    return (usual, bounds.precision(FALSE_ALARMS)) if usual < USELESS_CHANCE else None


@cache
def _right(given: tuple[Guarantee, ...]) -> float:
    """Return how often the better of two equally likely answers is named, at most."""
    return PosteriorBounds(0.5, 0.0, 1.0, given).success


def _level(found: Published, voice: Voice) -> str:
    """Return of how many in 1,000 the intervals hold: with every digit that was asked for."""
    return voice.exactly(Decimal(repr(found.level)) * BASE)


def reading(found: Published, voice: Voice) -> list[Text]:
    """Return how far off the numbers are, and what they are about."""
    person, kinds = found.protected["person"], {query["kind"] for query in found.queries}
    about = voice.say("stat_level_persons", rows=voice.number(found.protected["at_most"], 0)) if person else voice.say(
        "stat_level_rows"
    )  # fmt: skip
    said = [*([] if _bare(found) else [voice.say("stat_level", level=_level(found, voice)), about])]
    said += [voice.say("stat_level_people")] if "people" in kinds else []
    said += [voice.say("stat_level_cut")] if kinds - {"rows", "people", "keys", "bins"} else []
    said += [voice.say("stat_level_none")] if any(query.get("draws") == 1 for query in found.queries) else []
    return [*said, voice.say("stat_sample")]


def _bare(found: Published) -> bool:
    """Say whether no number has an interval: quantiles alone, that were asked for without."""
    return all(query["kind"] in ("keys", "bins") or query.get("draws") == 1 for query in found.queries)


def _reading(found: Published, voice: Voice) -> list[Part]:
    return [Head(voice.say("q_stat_read")), *(Para(text, "item") for text in reading(found, voice))]


_ADDED = {"count", "people", "sum", "cut", "numbers"}
"""Kinds of statistics that are counts and sums."""


def using(found: Published, voice: Voice) -> list[Text]:
    """Return whether numbers may be added and compared, and what a 0 says."""
    kinds = _statistics(found)
    counts, shown = (
        bool({"count", "people", "numbers"} & kinds),
        any("threshold" in query and query["kind"] != "keys" for query in found.queries),
    )
    tables = [query for query in found.queries if _is_count(query) and query["kind"] == "rows"]
    agree = _has(found, "note_consistent")
    moved = [name for name in ("consistent", "non_negative") if _has(found, f"note_{name}")]
    names = list[str]()
    if {"count", "sum", "numbers"} & kinds:
        names += [f"stat_add_{moved[0]}" if moved and "count" in kinds else "stat_add"]
    names += ["stat_add_not"] if kinds - _ADDED else []
    names += ["stat_add_shown"] if shown else []
    names += ["stat_compare_none" if _bare(found) else "stat_compare"]
    if (counts or kinds & {"sum", "cut"}) and not shown:
        raised = _has(found, "note_non_negative") and counts
        names += ["stat_zero", "stat_not_below" if raised else "stat_below"]
    names += ["stat_zero_not"] if kinds - _ADDED else []
    if len(tables) > 1:
        names += ["stat_totals_agree" if agree else "stat_totals"]
    return list(map(voice.say, names))


def _statistics(found: Published) -> set[str]:
    """Return the kinds of statistics that were published; older receipts tell them by what was asked of the table."""
    kinds = {kind for query in found.queries for kind in query.get("serves", [])}
    guessed = {"rows": "count", "people": "people", "values": "mean", "squares": "variance", "ranks": "quantile",
               "cut": "cut"}  # fmt: skip
    return kinds or {guessed[query["kind"]] for query in found.queries if query["kind"] != "rows" or _is_count(query)}


def _use(found: Published, voice: Voice) -> list[Part]:
    return [Head(voice.say("q_stat_use")), *(Para(text, "item") for text in using(found, voice))]


def _is_count(query: Mapping[str, Any]) -> bool:
    """Say whether the numbers of a query are published as counts: those behind a mean alone are not."""
    counted = {"count", "people"} & set(query.get("serves", ["count"]))
    return query["kind"] in ("rows", "people") and query["column"] is None and bool(counted)


def _count(found: Published, voice: Voice) -> list[Part]:
    """Return whether a small group can be seen, and how many people are in one."""
    counts = [query for query in found.queries if _is_count(query)]
    people = found.protected["person"] is None or any(query["kind"] == "people" for query in counts)
    told = "stat_number" if counts and people else "stat_number_rows" if counts else "stat_number_none"
    number: list[Part] = [Head(voice.say("q_number")), Para(voice.say(told))]
    widths = [math.ceil(query["half_width"] * (1 - 1e-12)) for query in counts if "half_width" in query]
    if not widths:
        return [Head(voice.say("q_count")), Para(voice.say("stat_width_none")), *number]
    width, level = max(widths), _level(found, voice)
    shown = next((query["threshold"] for query in counts if "threshold" in query), None)
    if shown is not None:
        said = voice.say("stat_width_from", width=voice.number(width, 0), level=level, least=voice.number(shown, 0))
    else:
        name = "stat_width_moved" if _has(found, "note_consistent") else "stat_width"
        said = voice.say(name, width=voice.number(width, 0), twice=voice.number(2 * width, 0), level=level)
    return [Head(voice.say("q_count")), Para(said), *number]


def _second(found: Published, voice: Voice) -> list[Part]:
    factor = exp(found.loss)
    useful = factor < USELESS
    given = () if useful else _losses(found)
    once, twice = (_usual(losses, CHANCES[1]) for losses in (given, tuple(map(_doubled, given))))
    if once is not None:
        after = {"after": _of_thousand(voice, once[0]), "twice": _of_thousand(voice, (twice or (1.0,))[0])}
        return [Head(voice.say("q_second")), Para(voice.say("stat_second_usual", **after))]
    said = voice.say("stat_second" if useful else "stat_second_void", times=times(voice, factor),
                     twice=times(voice, exp(2 * found.loss)))  # fmt: skip
    return [Head(voice.say("q_second")), Para(said)]


def _public(found: Published, voice: Voice) -> list[Part]:
    return [Head(voice.say("q_public")), Para(voice.say("stat_public"))]


def _risk(found: Published, voice: Voice) -> list[Part]:
    return [Head(voice.say("q_risk")), Para(voice.say("stat_risk"))]


def _worried(found: Published, voice: Voice) -> list[Part]:
    usual = None if exp(found.loss) < USELESS else _usual(_losses(found), CHANCES[1])
    if usual is not None:
        said = voice.say("stat_worried_usual", after=_of_thousand(voice, usual[0]))
        return [Head(voice.say("q_worried")), Para(said)]
    return [Head(voice.say("q_worried")), Para(_factor_or(voice, "stat_worried", found.loss))]


def _factor_or(voice: Voice, name: str, log: float) -> Text:
    factor = exp(log)
    return voice.say(name if factor < USELESS else f"{name}_void", times=times(voice, factor))


def _not(found: Published, voice: Voice) -> list[Part]:
    said = ["not_groups"] if found.protected["person"] is not None else ["not_rows", "not_groups"]
    return [Head(voice.say("q_not")), *(Para(voice.say(name), "item") for name in said)]


def _rest(found: Published, voice: Voice) -> list[Part]:
    return [Head(voice.say("stat_rest")), *(Para(note_text(voice, note), "item") for note in found.notes)]


def note_text(voice: Voice, note: Any) -> Text:
    """Return a note in the language of a statement."""
    filled: dict[str, Any] = {}
    for name, value in note.values.items():
        if isinstance(value, (int, float)):
            filled[name] = voice.number(value, 9)
        elif isinstance(value, (list, tuple)):
            filled[name] = voice.listed(list(value))
        else:
            filled[name] = voice.levels(str(value))
    return voice.say(note.name, **filled)


def _technical(found: Published, voice: Voice) -> list[Part]:
    rows: list[tuple[Text, ...]] = []
    for query in found.queries:
        cells = "–" if query["cells"] is None else voice.number(query["cells"], 0)
        by = voice.listed(list(query["by"]), 8) if query["by"] else ("–",)
        rows.append((_what(query, voice), by, (cells,), _law(query, voice)))
    header = tuple(voice.say(name) for name in ("t_numbers", "t_by", "t_cells", "t_noise"))
    technical = Para(voice.say("stat_technical", numbers=summary(found, voice)))
    return [Head(voice.say("q_technical"), True), technical, Grid(header, tuple(rows), (0, 1, 3))]


def summary(found: Published, voice: Voice) -> str:
    """Return what is promised, in natural logarithms."""
    return ", ".join(voice.levels(promise(kind, value)) for kind, value in found.guarantees.items())


def _what(query: Mapping[str, Any], voice: Voice) -> Text:
    """Return what was counted or added up."""
    if query["column"] is None:
        return voice.say(f"what_{query['kind']}")
    name = f"what_{query['kind']}"
    if query["kind"] == "rows":
        name = "what_share" if "at" in query else "what_numbers"
    return voice.say(name, column=Label(query["column"]), at=query.get("at"))


def _law(query: Mapping[str, Any], voice: Voice) -> Text:
    """Return the law of the noise on a query."""
    if not query["scale"]:
        return voice.say("law_none")
    filled = {"scale": voice.number(query["scale"], max(0, 4 - math.ceil(math.log10(query["scale"]))))}
    name = f"law_{query['family']}"
    if query["kind"] == "ranks":
        return voice.say(f"{name}_ranks", **filled)
    if "threshold" in query:
        return voice.say(f"{name}_from", **filled, threshold=voice.number(query["threshold"], 0))
    if query.get("step", 1) != 1 and query["kind"] in ("values", "squares"):
        return voice.say(f"{name}_steps", **filled, step=voice.number(query["step"], 9))
    return voice.say(name, **filled)
