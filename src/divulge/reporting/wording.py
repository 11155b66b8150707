"""How a report writes labels, numbers, chances and promises."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

from divulge import exact
from divulge.guarantees.guarantee import Guarantee
from divulge.model.shown import at_least, at_most, in_so_many, printable, promised, shortened
from divulge.reporting.statements.voice import Voice, placeholders
from divulge.units import Unit, nats_per

_ENGLISH = Voice()

_LONGEST = 80
"""Characters of a label in a report: a line; a longer one is cut, with dots that say so."""


def label(value: Hashable) -> str:
    """Return a label as a report shows it: harmless to print, parts joined, not longer than a line.

    >>> label(("female", "rich")), label(""), label("a\\x07")
    ('female, rich', '(empty)', 'a\\\\x07')
    """
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return shortened(printable(text), _LONGEST) or "(empty)"


def near(value: Any, voice: Voice = _ENGLISH) -> str:
    """Return a number with four digits, rounded to the nearest.

    >>> near(0.98079), near(float("inf")), near(0.98079, Voice("de"))
    ('0.9808', 'inf', '0,9808')
    """
    return voice.numeral(f"{exact.as_float(value):.4g}")


def most(value: Any, voice: Voice = _ENGLISH) -> str:
    """Return what stands behind "at most": `at_most`, as the language writes it."""
    return voice.numeral(at_most(value))


def least(value: Any, voice: Voice = _ENGLISH) -> str:
    """Return what stands behind "at least": `at_least`, as the language writes it."""
    return voice.numeral(at_least(value))


def amount(value: Any, voice: Voice = _ENGLISH) -> str:
    """Return a leakage with four digits, rounded up.

    >>> amount(0.98072), amount(float("inf"))
    ('0.9808', 'inf')
    """
    return voice.numeral(promised(value, 4))


MOST_TOLD = 1e6
"""Bounds on factors from this one on are given as none: odds that rise a million times are certainty to any reader."""


def bound(factor: Any, voice: Voice = _ENGLISH) -> str:
    """Return a factor as `at_most` writes it, where it is a useful one.

    >>> bound(2.7182), bound(3e12), bound(float("inf"))
    ('2.72', 'no useful bound', 'no useful bound')
    """
    return most(factor, voice) if exact.as_float(factor) < MOST_TOLD else voice.text("no_bound")


def share(value: Any, voice: Voice = _ENGLISH) -> str:
    """Return a probability in percent, to three digits; 100% is only what is certain.

    >>> share(0.0112819), share(1), share(1e-9), share(0.99999), share(0.0112819, Voice("de"))
    ('1.13%', '100%', '1e-07%', 'more than 99.9%', '1,13 %')
    """
    text = f"{100 * exact.as_float(value):.3g}"
    return (
        voice.text("nearly_all") if text == "100" and value < 1 else voice.text("percent", number=voice.numeral(text))
    )


def quoted(value: Hashable, voice: Voice = _ENGLISH) -> str:
    return voice.text("quoted", label=label(value))


def listed(values: Iterable[Hashable], voice: Voice = _ENGLISH, most: int = 6) -> str:
    names = [quoted(value, voice) for value in values]
    more = voice.text("rest_more", count=voice.number(len(names) - most, 0)) if len(names) > most else ""
    return ", ".join(names[:most]) + more


def factor(log: float, unit: Unit) -> float:
    """Return the factor that a logarithm in `unit` stands for."""
    return math.exp(min(log * nats_per(unit), 709.0)) if log < math.inf else math.inf


def base_of(before: float) -> int:
    """Return 100, 1,000, ...: of so many, some tens have the value before."""
    return in_so_many(before / 10)


def rise(before: float, after: float, voice: Voice = _ENGLISH) -> str:
    """Return how often among so many, before and at most after."""
    return _changed(before, after, most, voice)


def fall(before: float, after: float, voice: Voice = _ENGLISH) -> str:
    """Return how often among so many, before and at least after."""
    return _changed(before, after, least, voice)


def _changed(before: float, after: float, rounded: Callable[[Any, Voice], str], voice: Voice) -> str:
    base = base_of(before)
    was = voice.numeral(f"{before * base:.3g}")
    return voice.text("change_in", before=was, after=rounded(after * base, voice), base=voice.number(base, 0))


def part(after: float, before: float, rounded: Callable[[Any, Voice], str], voice: Voice = _ENGLISH) -> str:
    """Return how likely something is afterwards, among as many as say well how likely it was before."""
    base = base_of(before)
    return voice.text("in_base", number=rounded(after * base, voice), base=voice.number(base, 0))


def written(guarantee: Guarantee, unit: Unit) -> str:
    """Return a guarantee as the command line writes it, with three digits."""
    return f"{guarantee.kind}={level(guarantee, unit)}"


def title(guarantee: Guarantee, voice: Voice = _ENGLISH) -> str:
    """Return what a guarantee is called."""
    name = f"title_{guarantee.kind}"
    return voice.text(name) if name in voice.sentences else guarantee.title


def meaning(guarantee: Guarantee, voice: Voice = _ENGLISH) -> str:
    """Return what a guarantee promises, in one sentence with its numbers.

    >>> meaning(dv.PML(1)) == dv.PML(1).meaning, "2,72-Fache" in meaning(dv.PML(1), Voice("de"))
    (True, True)
    """
    template = voice.sentences.get(f"means_{guarantee.kind}", guarantee.sentence)
    return guarantee.told_by(template, voice.numeral)


def to_whom(guarantee: Guarantee, voice: Voice = _ENGLISH) -> str:
    """Return what a guarantee promises, and to whom, where it is about what was believed before.

    >>> to_whom(dv.PML(1))[:67], to_whom(dv.LDP(1)) == meaning(dv.LDP(1))
    ('For somebody who holds the prior that is shown: Whatever outcome is', True)
    """
    said = meaning(guarantee, voice)
    believed = "assumed" in placeholders(voice.sentences.get(f"promise_{guarantee.kind.replace('-', '_')}", ""))
    return voice.text("g_holder", meaning=said) if believed else said


def level(guarantee: Guarantee, unit: Unit) -> str:
    """Return the parameters of a guarantee with three digits, names as they are, and what a rate is per."""
    values = guarantee.to_dict(unit)
    shown = [values[name] for name in guarantee.parameters() if name != "metric"]
    per = f"/{values['per']}" if values.get("per") else ""
    return ":".join(value if isinstance(value, str) else at_most(value) for value in shown) + per


def in_unit(guarantee: Guarantee, levels: Mapping[str, Any], unit: Unit) -> dict[str, float]:
    """Return measured levels, in nats, by parameter: logarithmic ones in `unit`."""
    logarithmic, nats = guarantee.logarithmic, nats_per(unit)
    return {name: exact.as_float(v) / (nats if name in logarithmic else 1.0) for name, v in levels.items()}
