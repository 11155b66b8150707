"""The statement about a coarsened table: one page in plain words, which may be public as the table is."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.reporting.statements.parts import Grid, Head, Para, Part
from divulge.reporting.statements.voice import BASE, Label, Text, Voice


def contents(receipt: Mapping[str, Any], voice: Voice) -> tuple[Text, str, tuple[Part, ...]]:
    """Return the title of the statement of a coarsened table, what other releases may add, and the parts."""
    title = voice.say("grp_title", columns=voice.listed([*receipt["known"], *receipt["secret"]], 8))
    made = (_promised, _levels, _secret, _holds, _public, _technical)
    others = " ".join(str(one) for one in _others(receipt, voice))
    return title, others, tuple(part for tell in made for part in tell(receipt, voice))


def _others(receipt: Mapping[str, Any], voice: Voice) -> list[Text]:
    """Return what is said where other releases of the same people are on record."""
    many = receipt.get("others", 0)
    return [voice.say("grp_before", releases=voice.number(many, 0))] if many else []


def _promised(receipt: Mapping[str, Any], voice: Voice) -> list[Part]:
    counts = {name: voice.number(receipt[name], 0) for name in ("k", "people")}
    name = "grp_people" if receipt["protects"]["rows_per_person"] > 1 else "grp_rows"
    said = voice.say(name, known=voice.listed(receipt["known"]), **counts)
    return [Para(voice.say("grp_kind"), "warn"), Head(voice.say("asked")), Para(said, "lead")]


def _levels(receipt: Mapping[str, Any], voice: Voice) -> list[Part]:
    finest = receipt.get("finest", {})
    rows = tuple(
        (
            voice.say("quoted", label=Label(name)),
            _level(finest.get(name, level), level, receipt["heights"][name], voice),
        )
        for name, level in receipt["levels"].items()
    )
    header = (voice.say("t_column"), voice.say("t_values"))
    gone = voice.number(receipt["suppressed"], 0)
    more = [Para(voice.say("grp_suppressed", rows=gone))] if receipt["suppressed"] else []
    more += [Para(voice.say("grp_local"))] if finest else []
    return [Head(voice.say("q_grp_levels")), Grid(header, rows, (0, 1)), *more]


def _level(finest: int, level: int, height: int, voice: Voice) -> Text:
    if finest < level:
        levels = {name: voice.number(one, 0) for name, one in (("finest", finest), ("level", level))}
        return voice.say("grp_range", height=voice.number(height, 0), **levels)
    if not level:
        return voice.say("grp_fine")
    if level == height:
        return voice.say("grp_any")
    return voice.say("grp_level", level=voice.number(level, 0), height=voice.number(height, 0))


def _secret(receipt: Mapping[str, Any], voice: Voice) -> list[Part]:
    """Return what groups tell of the sensitive columns: each number rounded to the side that promises less."""
    if not receipt["secret"]:
        return []
    exactly = {name: Fraction(receipt[name]) for name in ("lift", "least_lift", "certainty", "certainty_beside_one")}

    def share(name: str) -> dict[str, str]:
        found = exact.as_float(exactly[name] * BASE)
        return {"share": voice.rounded(found, ROUND_CEILING), "base": voice.number(BASE, 0)}

    times = voice.rounded(exact.as_float(exactly["lift"]), ROUND_CEILING)
    least = exact.as_float(exactly["least_lift"])
    said = [
        voice.say("grp_alike") if exactly["certainty"] == 1 else voice.say("grp_share", **share("certainty")),
        voice.say("grp_lift", times=times),
        voice.say("grp_least", share=voice.rounded(least, ROUND_FLOOR)) if least else voice.say("grp_gone"),
        *([] if exactly["certainty"] == 1 else [voice.say("grp_beside", **share("certainty_beside_one"))]),
    ]  # fmt: skip
    head = Head(voice.say("q_grp_secret", secret=voice.listed(receipt["secret"])))
    return [head, *(Para(text, "item") for text in said)]


def _holds(receipt: Mapping[str, Any], voice: Voice) -> list[Part]:
    said = [voice.say("grp_hold", known=voice.listed(receipt["known"]))]
    said += [*(voice.say(name) for name in ("grp_further", "grp_not_dp", "grp_chosen")), *_others(receipt, voice)]
    each = receipt["protects"]["rows_per_person"]
    said += [voice.say("grp_row", rows=voice.number(each, 0))] if each > 1 and receipt["secret"] else []
    return [Head(voice.say("q_grp_holds")), *(Para(text, "item") for text in said)]


def _public(receipt: Mapping[str, Any], voice: Voice) -> list[Part]:
    return [Head(voice.say("q_public")), Para(voice.say("grp_public"))]


def _technical(receipt: Mapping[str, Any], voice: Voice) -> list[Part]:
    name = "grp_asked_local" if "finest" in receipt else "grp_asked"
    said = voice.say(name, guarantees=", ".join(receipt["guarantees"]), loss=voice.known(receipt["loss"]))
    return [Head(voice.say("q_technical"), True), Para(said)]
