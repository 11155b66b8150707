"""What a statement and a codebook tell of places, or numbers, moved by chance: circles, and odds by distance."""

import math
from decimal import ROUND_CEILING
from fractions import Fraction
from typing import Any

from divulge.releasing.planning.naming import str_of
from divulge.releasing.records.ran.calendar import DATE, DAY, at
from divulge.releasing.records.ran.placed import MetricNoise
from divulge.releasing.records.ran.quarters import beliefs
from divulge.releasing.records.receipt import Receipt
from divulge.reporting.statements import telling
from divulge.reporting.statements.facts import USELESS, WithoutMatrix, exp
from divulge.reporting.statements.parts import Grid, Head, Map, Para, Part
from divulge.reporting.statements.promised import times
from divulge.reporting.statements.voice import Label, Text, Voice, plain

APART = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
"""Distances, as multiples of 1 over the rate, for which it is said what odds become."""


MOST_QUARTERS = 10
"""Quarters that a statement names: those of which a point can say most."""


class PlaceFacts(WithoutMatrix):
    """What is told of noise about a distance, computed from what is public."""

    mechanism: MetricNoise

    @property
    def total(self) -> Fraction:
        """The rate of all draws about a person."""
        return self.mechanism.rate * self.mechanism.times

    def odds(self, distance: Fraction, more: Fraction | int = 1) -> float:
        """Return by how much odds between two true ones so far apart change at most.

        Places are a little farther apart on the flat map than on the globe, and their cells by up to a diagonal more.
        """
        noise = self.mechanism
        flat, across = (1.0, 1.0) if noise.box is None else (noise.box.stretched, math.sqrt(2))
        beside = 0.0 if noise.box is None else _BESIDE
        return self._changed(float(distance) * flat + float(noise.step) * across + beside, more)

    @property
    def one(self) -> Fraction:
        """The distance that the promise is told for: 1, or a day where cells are days."""
        return DAY if self.mechanism.calendar and self.mechanism.step >= DAY else Fraction(1)

    def unit_odds(self, draws: int | None = None) -> float:
        """Return odds between two cells whose middles are `one` apart, by all draws of a person or by so many."""
        flat = 1.0 if self.mechanism.box is None else self.mechanism.box.stretched
        return self._changed(flat * float(self.one), Fraction(draws or self.mechanism.times, self.mechanism.times))

    def _changed(self, distance: float, share: Fraction | int) -> float:
        """Return e^(rate distance) for a share of all draws, raised by the rounding of numbers to cells."""
        return math.exp(min(float(self.total) * float(share) * distance * (1 + _ROUNDING), 700.0))


_ROUNDING = 1e-8
"""Numbers are counted into cells in doubles, which move the border of a cell by less than this share of its side."""

_BESIDE = 1e-9
"""Degrees are doubles, which move a place by less than a micrometer, in km."""


def of_columns(receipt: Receipt, noise: MetricNoise, voice: Voice) -> list[Part]:
    """Return what is to be told of noise: where true ones are, the promise, then the questions of a reader."""
    facts = PlaceFacts(noise, receipt.rows)
    made = (_lead, _promise, telling.before_using, _occurs, _means, _apart, _knows, _count, _second, telling.public,
            _risk, _worried, telling.not_promised, _technical)  # fmt: skip
    return [part for tell in made for part in tell(facts, receipt, voice)]


def _long(voice: Voice, noise: MetricNoise, length: float) -> str:
    """Return a length with its unit, rounded up; below a kilometer in meters, of dates in days."""
    if noise.calendar and length >= DAY:
        return f"{voice.rounded(length / float(DAY), ROUND_CEILING, 3)} d"
    if noise.unit == "km" and length < 1:
        return f"{voice.rounded(length * 1000, ROUND_CEILING, 3)} m"
    unit = f" {noise.unit}" if noise.unit else ""
    return f"{voice.rounded(length, ROUND_CEILING, 3)}{unit}"


def _circles(facts: PlaceFacts, voice: Voice) -> dict[str, str]:
    small, large = facts.mechanism.radii
    return {"small": _long(voice, facts.mechanism, small), "large": _long(voice, facts.mechanism, large)}


def _named(facts: PlaceFacts, name: str) -> str:
    noise = facts.mechanism
    return name if noise.box is not None else f"{name}_time" if noise.calendar else f"{name}_number"


def _lead(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    said = voice.say(_named(facts, "places_lead"), **_circles(facts, voice))
    return [Para(said, "warn"), Para(voice.say("places_words"))]


def _what(facts: PlaceFacts, voice: Voice) -> Text:
    return voice.say(_named(facts, "places_what"))


def _promise(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    noise = facts.mechanism
    said = voice.say("places_promise", what=_what(facts, voice), times=times(voice, facts.unit_odds()),
                     distance=_long(voice, noise, float(facts.one)))  # fmt: skip
    found: list[Part] = [Head(voice.say("asked")), Para(said, "lead")]
    if facts.factor >= USELESS:
        found.append(Para(voice.say("places_useless", what=_what(facts, voice))))
    most = receipt.protects.get("rows_per_person")
    if receipt.protects.get("one_answer"):
        found.append(Para(voice.say("whose_once")))
    elif most is not None:
        found.append(Para(voice.say("rows_places", most=voice.number(most, 0))))
        found += [*_trace(facts, voice), *_followed(facts, receipt, voice)]
    else:
        two, six = (times(voice, facts.unit_odds(draws)) for draws in (2, 6))
        found.append(Para(voice.say("whose_places", two=two, six=six, distance=_long(voice, noise, float(facts.one)))))
    return [*found, Para(voice.say("exceptions"))]


def _trace(facts: PlaceFacts, voice: Voice) -> list[Part]:
    """Return what all rows of a person tell: the rate of a draw, over the sum of distances between two traces."""
    noise = facts.mechanism
    if noise.times == 1:
        return []
    said = voice.say("trace_places", most=voice.number(noise.times, 0), once=times(voice, facts.unit_odds(1)),
                     times=times(voice, facts.unit_odds()), distance=_long(voice, noise, float(facts.one)))  # fmt: skip
    return [Para(said)]


def _followed(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    """Return what all points of a person say of one, where a model says how cells follow each other."""
    if receipt.chain is None:
        return []
    most, found = facts.mechanism.times, receipt.chain.leakage(facts.mechanism.matrix, facts.mechanism.times)
    if not exp(found.ldp) < USELESS:
        return [Para(voice.say("followed_void", most=voice.number(most, 0)))]
    said = {name: times(voice, exp(level)) for name, level in (("odds", found.ldp), ("rise", found.pml))}
    return [Para(voice.say("followed_places", most=voice.number(most, 0), **said))]


def _corner(voice: Voice, noise: MetricNoise, first: bool) -> str:
    if noise.calendar:
        moment = at(noise.region[0 if first else 1])
        return moment.date().isoformat() if noise.calendar == DATE else moment.isoformat(" ", "seconds")
    if noise.box is None:
        return voice.number(noise.region[0 if first else 1], 6)
    lat, lon = noise.region[:2] if first else noise.region[2:]
    return f"({voice.number(lat, 5)}, {voice.number(lon, 5)})"


def _occurs(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    noise = facts.mechanism
    said = voice.say("places_occur", step=_long(voice, noise, float(noise.step)), low=_corner(voice, noise, True),
                     high=_corner(voice, noise, False))  # fmt: skip
    return [Head(voice.say("q_occurs")), Para(said)]


def _means(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    noise, circles = facts.mechanism, _circles(facts, voice)
    found: list[Part] = [Head(voice.say("q_means")), Para(voice.say("places_mean", **circles))]
    if noise.box is not None:
        width, height = (n * float(noise.step) for n in noise.size)
        alt = voice.say("places_map_alt", width=_long(voice, noise, width), height=_long(voice, noise, height),
                        **circles)  # fmt: skip
        found.append(Map((width, height), noise.radii, alt, voice.say("places_map"), _long(voice, noise, _bar(width)),
                         _bar(width)))  # fmt: skip
    return found


def _bar(width: float) -> float:
    """Return the length of the scale: 1, 2 or 5 times a power of ten, at most a third of the width."""
    power = 10.0 ** math.floor(math.log10(width / 3))
    return max(step * power for step in (1, 2, 5) if step * power <= width / 3)


def _apart(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    rows: list[tuple[Text, ...]] = []
    for multiple in APART:
        distance = multiple / facts.total
        factor = facts.odds(distance)
        after = 100 * factor * 0.01 / (factor * 0.01 + 0.99)
        rows.append(((_long(voice, facts.mechanism, float(distance)),), (times(voice, factor),),
                     (voice.rounded(after, ROUND_CEILING, 3),)))  # fmt: skip
    header = tuple(voice.say(name) for name in ("t_apart", "t_odds", "t_hundred"))
    found: list[Part] = [Head(voice.say(_named(facts, "q_places_apart"))), Grid(header, tuple(rows), ())]
    found += _quarters(facts, voice)
    if facts.mechanism.box is not None:
        found += [Para(voice.say("places_apart")), Para(voice.say("places_alone"))]
    return found


def _quarters(facts: PlaceFacts, voice: Voice) -> list[Part]:
    """Return what a point says to somebody who knows who lives where: the quarters that can be told most surely."""
    noise = facts.mechanism
    if not noise.quarters or noise.box is None:
        return []
    before, after = beliefs(noise.quarters, noise.box, noise.step, float(facts.total))
    rows = [
        ((Label(noise.quarters[i].name),), (_of_thousand(voice, before[i]),), (_of_thousand(voice, after[i]),))
        for i in sorted(range(len(before)), key=lambda i: -after[i])[:MOST_QUARTERS]
    ]
    header = tuple(voice.say(name) for name in ("t_quarter", "t_lives", "t_seen"))
    said = voice.say("places_quarters", quarters=voice.number(len(before), 0), shown=voice.number(len(rows), 0))
    return [Para(said), Grid(header, tuple(rows), ())]


def _of_thousand(voice: Voice, share: float) -> str:
    """Return a share of 1,000, rounded up."""
    return voice.rounded(1000 * float(share), ROUND_CEILING, 3)


def _knows(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    return [Head(voice.say("q_knows")), Para(voice.say("knows_places", what=_what(facts, voice)))]


def _count(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    return [Head(voice.say("q_count")), Para(voice.say("count_places"))]


def _second(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    once, twice = (times(voice, facts.odds(facts.one, releases)) for releases in (1, 2))
    said = voice.say("second_places", distance=_long(voice, facts.mechanism, float(facts.one)), times=once, twice=twice)
    return [Head(voice.say("q_second")), Para(said)]


def _risk(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    return [Head(voice.say("q_risk")), Para(voice.say("risk_places")), *_mean(facts, voice)]


def _mean(facts: PlaceFacts, voice: Voice) -> list[Part]:
    """Return how near all points of a person come to where they always are."""
    noise = facts.mechanism
    if noise.times == 1:
        return []
    small, large = (_long(voice, noise, size) for size in noise.radii_of_mean(noise.times))
    return [Para(voice.say(_named(facts, "mean_places"), most=voice.number(noise.times, 0), small=small, large=large))]


def _worried(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    return [Head(voice.say("q_worried")), Para(voice.say("worried_places"))]


def _technical(facts: PlaceFacts, receipt: Receipt, voice: Voice) -> list[Part]:
    noise = facts.mechanism
    kind = voice.say("places_planar" if noise.box is not None else "places_line")
    per = f"/{noise.unit}" if noise.unit else ""
    said = voice.say("technical_places", step=_long(voice, noise, float(noise.step)), noise=kind,
                     rate=f"{noise.rate}{per}")  # fmt: skip
    ldp = voice.say("technical_ldp", ldp=voice.rounded(noise.for_a_person["ldp"], ROUND_CEILING))
    return [Head(voice.say("q_technical"), folded=True), Para(said), Para(ldp)]


def book_column(receipt: Receipt, noise: MetricNoise, voice: Voice) -> dict[str, Any]:
    """Return what the codebook for programs says of columns that were moved."""
    trace = {"rows": noise.times, "circles_of_mean": list(noise.radii_of_mean(noise.times))}
    return {
        "names": list(receipt.names_of(noise)),
        "about": list(noise.columns),
        "missing_is": None if receipt.null_as is None else str_of(receipt.null_as),
        "metric": noise.to_dict()["metric"],
        "circles": list(noise.radii),
        **({} if noise.times == 1 else {"trace": trace}),
        "means": plain(book_text(receipt, noise, voice)),
    }


def book_text(receipt: Receipt, noise: MetricNoise, voice: Voice) -> Text:
    """Return what the codebook for readers says of columns that were moved."""
    facts = PlaceFacts(noise, receipt.rows)
    said = voice.say("book_places", columns=voice.listed(list(noise.columns)),
                     step=_long(voice, noise, float(noise.step)), **_circles(facts, voice))  # fmt: skip
    if noise.times == 1:
        return said
    small, large = (_long(voice, noise, size) for size in noise.radii_of_mean(noise.times))
    return (*said, " ", *voice.say("book_trace", most=voice.number(noise.times, 0), small=small, large=large))
