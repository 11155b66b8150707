"""Promises in words: the sentence of a kind of guarantee, filled in with its numbers."""

import math
from collections.abc import Callable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from divulge.guarantees.catalog import kind_named
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.releasing.planning.naming import str_of
from divulge.releasing.records.ran.mechanism import Mechanism
from divulge.reporting.statements.facts import USELESS, Facts, exp
from divulge.reporting.statements.parts import Grid, Para, Part
from divulge.reporting.statements.voice import BASE, Label, Text, Voice, placeholders

_CLOSE = 1e-12
"""What a float may be off by, of itself."""

Shown = Callable[[Voice, float], Text | str]
"""How a number is written."""


def times(voice: Voice, factor: float) -> str:
    """Return a factor with three digits, rounded up: the one way in which the page writes it."""
    if not factor < 1e15:
        return "∞"
    digits = max(2 - math.floor(math.log10(max(factor, 1.0))), 0)
    scale = 10.0**digits
    shown = math.ceil(factor * scale * (1 - _CLOSE)) / scale
    return voice.number(max(shown, 1.01) if factor > 1 else shown, digits)


def chance(voice: Voice, share: float) -> Text:
    """Return a chance, rounded up: so many in 1,000, or one in so many."""
    if 0 < share * BASE < 1:
        count = 1 / Decimal(repr(share)) * (1 + Decimal(repr(_CLOSE)))
        precise = Context(prec=7, rounding=ROUND_FLOOR).create_decimal(count)
        return voice.say("one_in", count=voice.exactly(precise if count > 10**7 else Decimal(math.floor(count))))
    return voice.say("in_thousand", count=voice.number(math.ceil(share * BASE * 10 * (1 - _CLOSE)) / 10, 1))


def _rounded_up(voice: Voice, value: float) -> str:
    """Return a number, rounded up in its fourth digit."""
    return voice.rounded(value, ROUND_CEILING)


def _factor(voice: Voice, log: float) -> str:
    return times(voice, exp(log))


def _bits(voice: Voice, nats: float) -> str:
    return _rounded_up(voice, nats / math.log(2))


def _exactly(voice: Voice, value: float) -> str:
    return voice.exactly(Decimal(repr(float(value)))) if math.isfinite(value) else voice.number(value)


BLANKS: dict[str, tuple[str, Shown]] = {
    "times": ("epsilon", _factor),
    "up": ("upper", _factor),
    "down": ("lower", _factor),
    "mean": ("mean", _factor),
    "ratio": ("ratio", times),
    "bits": ("epsilon", _bits),
    "nats": ("epsilon", _rounded_up),
    "rarely": ("delta", chance),
    "outside": ("outside", chance),
    "distance": ("distance", chance),
    "f": ("f", lambda voice, name: str(name)),
    **{name: (name, _rounded_up) for name in ("zeta", "mu", "tau", "rho", "xi", "cap", "divergence")},
    **{name: (name, _exactly) for name in ("alpha", "order", "omega", "degree")},
}
"""Blank of a sentence -> which parameter of the guarantee it shows, and how."""

_FACTORS = {"times": exp, "up": exp, "down": exp, "mean": exp, "ratio": float}
"""Blanks that are factors, and how they follow from the parameter."""


def assumption(facts: Facts, voice: Voice) -> Text:
    """Return what an attacker is taken to know, as the end of a sentence."""
    assumed = facts.mechanism.assumed
    least = {"least": voice.rounded(float(assumed.least * BASE), ROUND_CEILING, 6)} if assumed.least else {}
    return voice.say(f"assumed_{assumed.source}", **least)


def promised(asked: Mapping[str, Any], facts: Facts, voice: Voice) -> Text:
    """Return a promise as it was typed, in words."""
    name = "promise_" + str(asked["kind"]).replace("-", "_")
    blanks = placeholders(voice.sentences[name]) - {"assumed"}
    if any(_FACTORS[blank](asked[BLANKS[blank][0]]) >= USELESS for blank in blanks & set(_FACTORS)):
        return voice.say("promise_useless", typed=typed(asked))
    values = {blank: BLANKS[blank][1](voice, asked[BLANKS[blank][0]]) for blank in blanks}
    return voice.say(name, **values, assumed=assumption(facts, voice))


def typed(asked: Mapping[str, Any]) -> str:
    """Return a guarantee as one types it.

    >>> typed({"kind": "alip", "lower": 0.5, "upper": 1.0})
    'alip=0.5:1'
    """
    numbers: dict[str, Any] = {
        name: Fraction(repr(value)) if isinstance(value, float) and math.isfinite(value) else value
        for name, value in asked.items() if name != "kind"
    }  # fmt: skip
    return str(kind_named(str(asked["kind"]))(**numbers))


MOST_SPACED = 12
"""So many answers are shown, each with two others."""


def about_distance(mechanism: Mechanism, kept: MetricPrivacy, voice: Voice) -> list[Part]:
    """Return the promise about distances, and what it comes to for the nearest and the farthest answer of each."""
    metric, rate = kept.metric, Fraction(kept.epsilon) * mechanism.times
    said = voice.say("spaced_promise", times=_odds_at(voice, rate, 1.0), distance=_long(voice, metric.unit, 1.0))
    found: list[Part] = [Para(said, "lead")]
    if mechanism.times > 1:
        found.append(Para(voice.say("spaced_all")))
    rows: list[tuple[Text, ...]] = []
    for i in range(min(len(metric), MOST_SPACED)):
        apart = metric.matrix[i]
        others = sorted((j for j in range(len(metric)) if j != i), key=lambda j: (apart[j], j))
        for j in dict.fromkeys((others[0], others[-1])):
            far = float(apart[j])
            rows.append(((Label(str_of(metric.labels[i])),), (Label(str_of(metric.labels[j])),),
                         (_long(voice, metric.unit, far),), _change(voice, rate, far)))  # fmt: skip
    header = tuple(voice.say(name) for name in ("t_true_answer", "t_other_answer", "t_far", "t_odds"))
    note = voice.say("more", count=voice.number(len(metric) - MOST_SPACED, 0)) if len(metric) > MOST_SPACED else ()
    found += [Para(voice.say("spaced_nearest")), Grid(header, tuple(rows), (0, 1))]
    return [*found, Para(("… ", *note))] if note else found


def _odds_at(voice: Voice, rate: Fraction, distance: float) -> str:
    return times(voice, math.exp(min(float(rate) * distance, 700.0)))


def _change(voice: Voice, rate: Fraction, distance: float) -> Text:
    """Return by how much odds change at most, or that they have no useful bound."""
    useful = math.exp(min(float(rate) * distance, 700.0)) < USELESS
    return (_odds_at(voice, rate, distance),) if useful else voice.say("t_unbounded")


def _long(voice: Voice, unit: str, length: float) -> str:
    """Return a distance with its unit; digits beyond the fourth are cut off."""
    return f"{voice.number(length, 4) if length != round(length) else voice.number(length, 0)} {unit}".rstrip()


def technical_distance(kept: MetricPrivacy, voice: Voice) -> Part:
    """Return the rate of each draw in technical words."""
    return Para(voice.say("technical_spaced", rate=f"{Fraction(kept.epsilon)} / {kept.metric.unit}".rstrip(" /")))


def distances_of(kept: MetricPrivacy) -> dict[str, Any]:
    """Return what the codebook for programs says of distances."""
    metric = kept.metric
    return {"rate": str(Fraction(kept.epsilon)), "unit": metric.unit, "places": list(map(str_of, metric.labels)),
            "matrix": metric.matrix.tolist()}  # fmt: skip
