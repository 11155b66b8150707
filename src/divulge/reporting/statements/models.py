"""The statement about the audit of a model: for people whose data trained it."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from divulge.auditing.membership import RARE, MembershipAudit
from divulge.guarantees.posterior import PosteriorBounds
from divulge.model.shown import in_so_many
from divulge.reporting.statements.parts import Head, Para, Part
from divulge.reporting.statements.voice import BASE, Text, Voice

USELESS = 0.99
"""What may be so probable in any model that is seen often: no bound is of use there."""


def contents(found: MembershipAudit, voice: Voice) -> tuple[Text, str, tuple[Part, ...]]:
    """Return the title of the statement of an audit, nothing to add up, and the parts."""
    made = (_shown, _promised, _audited, _technical)
    return voice.say("mod_title"), "", tuple(part for tell in made for part in tell(found, voice))


def _base(found: MembershipAudit) -> int:
    """Return of how many people chances are told: 1,000, or more where members are rarer."""
    return max(BASE, in_so_many(found.base_rate or 1.0))


def _of(voice: Voice, found: MembershipAudit, share: float, direction: str = ROUND_CEILING) -> str:
    """Return so many of the people that chances are told of, rounded to the safe side."""
    return voice.rounded(share * _base(found), direction) if share else voice.number(0, 0)


def _shown(found: MembershipAudit, voice: Voice) -> list[Part]:
    """Return what the attack shows at least: of those who are named, or, where guesses were counted, of somebody."""
    if not found.epsilon and not found.mu:
        return [Para(voice.say("mod_nothing"), "warn")]
    if found.method == "rates" and found.precision is not None and found.base_rate and (found.lift or 0) > 1:
        shares = {"shown": _of(voice, found, found.precision, ROUND_FLOOR),
                  "before": _of(voice, found, found.base_rate)}  # fmt: skip
        return [Para(voice.say("mod_named", base=voice.number(_base(found), 0), **shares), "warn")]
    if found.epsilon and found.method != "f-dp":
        odds = math.exp(min(found.epsilon, 700.0))
        return [Para(voice.say("mod_odds", times=voice.rounded(odds, ROUND_FLOOR)), "warn")]
    return [Para(voice.say("mod_seen"), "warn")]


def _risk(found: MembershipAudit, voice: Voice) -> str:
    return voice.rounded((1 - found.confidence) * BASE, ROUND_CEILING)


def _promised(found: MembershipAudit, voice: Voice) -> list[Part]:
    """Return what the claim leaves, where it is not refuted."""
    head = Head(voice.say("asked"))
    if found.claim is None:
        return [head, Para(voice.say("mod_no_promise"), "lead")]
    if found.violated:
        return [head, Para(voice.say("mod_refuted", claim=str(found.claim), risk=_risk(found, voice)), "lead")]
    kept = [] if found.promise is None else _kept(found, found.promise, voice)
    return [head, *kept, Para(voice.say("mod_not_confirmed"))]


def _kept(found: MembershipAudit, promise: PosteriorBounds, voice: Voice) -> list[Part]:
    said = {"claim": str(found.claim), "base": voice.number(_base(found), 0)}
    said["before"] = _of(voice, found, promise.before)
    if promise.upper < 1:
        return [Para(voice.say("mod_kept", after=_of(voice, found, promise.upper), **said), "lead")]
    usual = promise.usual(RARE)
    name = "mod_usual" if usual < USELESS else "mod_void"
    after = _of(voice, found, promise.precision(found.false_alarms))
    alarms = _of(voice, found, found.false_alarms)
    return [
        Para(voice.say(name, after=_of(voice, found, usual), **said), "lead"),
        Para(voice.say("mod_alarms", alarms=alarms, after=after, base=said["base"])),
    ]


def _audited(found: MembershipAudit, voice: Voice) -> list[Part]:
    counts = {"members": voice.number(found.members, 0), "others": voice.number(found.others, 0)}
    said = [voice.say("mod_people", **counts), voice.say("mod_confidence", risk=_risk(found, voice))]
    said += [voice.say("mod_before")] if found.base_rate is not None else []
    names = ("mod_mean", "mod_alike") if found.method == "rates" else ("mod_coins",)
    said += [voice.say(name) for name in (*names, "mod_attack", "mod_model", "mod_public")]
    return [Head(voice.say("q_mod_measured")), *(Para(text, "item") for text in said)]


def _technical(found: MembershipAudit, voice: Voice) -> list[Part]:
    levels = {
        name: voice.rounded(value, ROUND_FLOOR) if value else voice.number(0, 0)
        for name, value in (("epsilon", found.epsilon), ("mu", found.mu))
    }
    delta = voice.exactly(Decimal(repr(found.delta)))
    said = voice.say("mod_technical", delta=delta, method=found.method, **levels)
    return [Head(voice.say("q_technical"), folded=True), Para(said)]
