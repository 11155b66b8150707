"""Which mechanism runs on which columns: those given and checked, or those designed for a guarantee and a purpose."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from divulge import clock
from divulge.clock import OutOfTime
from divulge.designing.design import design
from divulge.designing.effort import Effort
from divulge.designing.naming.names import OwnNames
from divulge.designing.result import Design
from divulge.designing.tradeoff.families import FAMILIES, Named, tuned
from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds import LDP, PMC
from divulge.measures.robust import PriorSet
from divulge.model.channel import Channel
from divulge.model.integer import IntegerChannel
from divulge.model.labels import key_of
from divulge.model.metrics.written import as_data, of_data
from divulge.model.prior import Prior
from divulge.model.shown import at_most
from divulge.protocols.protocol import Protocol
from divulge.releasing.column import Release
from divulge.releasing.estimating.contingency import Contingency
from divulge.releasing.estimating.counting import contingency
from divulge.releasing.estimating.estimate import rank
from divulge.releasing.planning import protecting, spacing
from divulge.releasing.planning.about import sentences
from divulge.releasing.planning.assumed import Assumed, assumption, positive
from divulge.releasing.planning.believed import believed
from divulge.releasing.planning.certifying import TRIED, all_certified, certified, check
from divulge.releasing.planning.collecting import assumed_of, names_of, oracle_for, oracle_given
from divulge.releasing.planning.listed import Answers
from divulge.releasing.planning.naming import of_one_row, of_spelling, require_true, set_labels, str_of, untrue
from divulge.releasing.planning.placing import noise_for
from divulge.releasing.planning.plan import Faults
from divulge.releasing.planning.purposes import NAMED, PURPOSES, Purpose
from divulge.releasing.records.ran.mechanism import Mechanism
from divulge.ties import first_largest

MOST_SECRETS = 512
"""Up to so many combinations of several columns are designed for as one secret."""

MOST_DESIGNED = 1024
"""For so many values of one column a mechanism is designed at most."""

WORTH_TELLING = 0.001
"""From this share of utility on that a design may lack, a release says so."""

MOST_COMPARED = 64
"""Up to so many values named mechanisms are tuned beside a design; beyond, only where there is no design."""


_DESIGNING = 2 / 3
"""The share of the time that a design over a set of priors has, which takes half as long again to decide the best that
it has; where it has none, named mechanisms have the rest."""


@dataclass(frozen=True, eq=False)
class Chosen:
    """Mechanisms to run, what to know of them (`private` for the keeper only), and the counts they were chosen with.

    Without counts (None) they are taken while the rows pass; values of a protocol are never counted ({}).
    """

    mechanisms: tuple[Any, ...]
    notes: tuple[str, ...] = ()
    private: tuple[str, ...] = ()
    counts: Mapping[Hashable, int] | None = None
    about: Mapping[str, Any] | None = None
    """What is said of another variable that is protected."""


def choose(source: Any, choice: Release, *, count: bool = False) -> Chosen:
    """Return a mechanism for each group of columns, given or designed; `count` the columns in any case."""
    if choice.protocol is not None and len(names_of(choice)) > 1:
        return _apart(source, choice, names_of(choice))
    if choice.protocol is not None:
        return Chosen((oracle_for(choice),), counts={})
    if choice.grid is not None:
        return Chosen((noise_for(choice),), counts={})
    if choice.distance is not None:
        return _about_distance(choice)
    if choice.protect is not None:
        return _protecting(source, choice)
    if choice.mechanism is not None and not isinstance(choice.mechanism, str):
        return _given(source, choice, count)
    return _made(source, choice)


def _protecting(source: Any, choice: Release) -> Chosen:
    """Return a mechanism, given or made, whose guarantee is about another variable than the columns."""
    counts = counted(contingency(source, choice.columns), choice.null_as)
    assumed, given = protecting.known_law(choice, counts, protecting.pairs_of(source, choice))
    assert assumed.prior is not None
    _require_all(assumed.prior, counts, ", ".join(map(repr, choice.columns)))
    kept, notes = bounded(choice, choice.kept)
    if choice.mechanism is None:
        whole = protecting.made_for(choice, kept, assumed, given)
    elif isinstance(choice.mechanism, str):
        whole = IntegerChannel.of(_by_name(choice, assumed.prior), raise_small=choice.raise_small)
    else:
        one = getattr(choice.mechanism, "channel", choice.mechanism)
        whole = IntegerChannel.of(one, raise_small=choice.raise_small)
    if choice.mechanism is not None:
        whole = _relabelled(whole, choice, assumed)
        near = (
            whole,
            *(whole.moved(units) for units in TRIED if whole.rounded),
        )  # as for others
        kept_by = (one for one in near if protecting.keeps(kept, assumed.prior, given, one))
        whole = next(kept_by, whole)
        protecting.require(kept, assumed.prior, given, whole)
    mechanism = certified(choice.columns, whole, assumed)
    told_of = protecting.about(choice, kept, assumed, given, whole)
    found = _described([mechanism], choice, counts)
    names = ", ".join(map(repr, choice.columns))
    return replace(found, notes=(*sentences(told_of, names), *notes, *found.notes), about=told_of)


def _about_distance(choice: Release) -> Chosen:
    """Return the mechanism of least mean distance that keeps a rate about the distances of answers."""
    promise = spacing.promise_of(choice)
    if not (choice.prior in (None, "uniform") or isinstance(choice.prior, Prior)):
        must = "be one prior, its file or uniform, with distances"
        raise DivulgeError.of("prior", must, "it", repr(choice.prior)[:60])
    labels = promise.metric.labels
    assumed = assumption(choice.prior, dict.fromkeys(labels, 1), False).aligned(labels, "the distances")
    assert assumed.prior is not None
    channel, notes = spacing.best(choice, promise, assumed.prior)
    recorded = replace(promise, metric=of_data(as_data(promise.metric)))  # as a receipt has it, so that both are equal
    made = replace(certified(choice.columns, channel, assumed), promise=recorded)
    found = _described([made], choice, None)
    return replace(found, notes=(*notes, *found.notes))


def _given(source: Any, choice: Release, count: bool) -> Chosen:
    given, columns = choice.mechanism, choice.columns
    if isinstance(given, Mapping) and len(columns) > 1 and set(given) == set(columns):
        groups = [((name,), given[name]) for name in columns]
    else:
        groups = [(columns, given)]
    if choice.prior is not None and len(groups) > 1:
        raise DivulgeError.of("prior", "go with one mechanism for all columns", "it", "given with several")
    if any(isinstance(one, Protocol) for _, one in groups):
        return _of_protocols(choice, groups)
    made_for = given.prior if isinstance(given, Design) and given.priors is None else None
    counts = None
    if len(groups) == 1 and (count or choice.prior is not None or made_for is not None or choice.prior_from_data):
        counts = counted(contingency(source, columns), choice.null_as)
    assumed = _assumed(source, choice, counts, made_for)
    parts: list[tuple[tuple[str, ...], IntegerChannel]] = []
    for names, one in groups:
        whole = IntegerChannel.of(getattr(one, "channel", one), raise_small=choice.raise_small)
        parts.append((names, _relabelled(whole, choice, assumed)))
    return _described(all_certified(parts, assumed, choice.kept), choice, counts)


def _of_protocols(choice: Release, groups: Sequence[tuple[tuple[str, ...], Any]]) -> Chosen:
    """Return protocols on their columns, and matrices beside them."""
    assumed = assumed_of(choice)
    if assumed.source == "uniform":
        raise DivulgeError.of("prior", "be a public prior with a protocol that is given", "it", "'uniform'",
                              "Prior.uniform(values) is one.")  # fmt: skip
    chosen: list[Any] = []
    for names, one in groups:
        if not isinstance(one, Protocol):
            whole = IntegerChannel.of(getattr(one, "channel", one), raise_small=choice.raise_small)
            chosen.append(certified(names, _relabelled(whole, choice, assumed), assumed))
            continue
        if len(names) != 1:
            raise DivulgeError.of("mechanism", "be {column: protocol} for several columns", "it", "one protocol")
        chosen.append(oracle_given(names[0], one, assumed))
    for guarantee in choice.kept:
        check(guarantee, chosen)
    return Chosen(tuple(chosen), counts={})


def _assumed(source: Any, choice: Release, counts: Mapping[Hashable, int] | None, made_for: Prior | None) -> Assumed:
    """Return what is taken to be known with a given mechanism: nothing, where nothing is said."""
    if made_for is not None and not choice.prior_from_data:
        assumption(made_for, counts, False)  # refuses a design that was made from the column's own counts
    if choice.prior is None and not choice.prior_from_data:
        return Assumed()
    return believed(source, choice, counts)


def _relabelled(channel: IntegerChannel, choice: Release, assumed: Assumed) -> IntegerChannel:
    """Return the channel with true names: as they are where they are true, else, when asked for, those of sets."""
    if choice.outcomes == "sets":
        prior = _center(assumed, channel).floats
        names = set_labels(channel.weights / 2.0**channel.bits, prior, channel.secrets)
        return replace(channel, outcomes=tuple(names))
    require_true(channel)
    return channel


def _center(assumed: Assumed, channel: IntegerChannel) -> Prior:
    """Return the prior, the one in the middle of a set, or, where none is assumed, the uniform one."""
    if assumed.prior is None:
        return Prior.uniform(list(channel.secrets))
    return assumed.prior.aligned(channel.secrets, "the mechanism")


def _described(chosen: Sequence[Mechanism], choice: Release, counts: Mapping[Hashable, int] | None) -> Chosen:
    """Check the purpose, and return the mechanisms with what is to be known of them."""
    notes: list[str] = []
    for one in chosen:
        names = ", ".join(map(repr, one.columns))
        told_of = rank(one.channel.weights.astype(float))
        n = one.channel.shape[0]
        if told_of < n and choice.purpose == "statistics":
            raise DivulgeError.of(
                "mechanism", "let the frequencies be estimated back, which is what purpose 'statistics' is for",
                f"what it tells of {names}", f"{told_of} of {n} combinations of frequencies",
                "take outcomes='values' (--outcomes values) and a guarantee, allow more leakage, or another purpose: "
                "'record' or 'information' (--purpose).",
            )  # fmt: skip
        if told_of < n:
            notes.append(
                f"How frequent the {n} values of {names} were cannot be estimated from this release: it tells "
                f"{told_of} of {n} combinations of their frequencies."
            )
        notes += _ruled_out(one, names)
    private: tuple[str, ...] = ()
    if counts is not None and len(chosen) == 1:
        private = _absent(chosen[0], counts)
    return Chosen(tuple(chosen), tuple(notes), private, counts)


def with_counts(chosen: Chosen, found: Contingency, null_as: Hashable) -> Chosen:
    """Return what was chosen without a look at the rows, with their counts, which were taken since."""
    counts = counted(found, null_as)
    return replace(chosen, private=_absent(chosen.mechanisms[0], counts), counts=counts)


def _ruled_out(one: Mechanism, names: str) -> list[str]:
    """Say which values each outcome rules out."""
    weights = one.channel.weights
    found: list[str] = []
    for j in np.flatnonzero(((weights == 0).any(axis=0)) & (weights.max(axis=0) > 0))[:20].tolist():
        gone = [str_of(x) for x, w in zip(one.channel.secrets, weights[:, j].tolist(), strict=True) if w == 0]
        shown = ", ".join(gone[:10]) + (f" and {len(gone) - 10} more" if len(gone) > 10 else "")
        found.append(f"The outcome {str_of(one.channel.outcomes[j])!r} of {names} rules out: {shown}.")
    return found


def _absent(one: Mechanism, counts: Mapping[Hashable, int]) -> tuple[str, ...]:
    seen = {key_of(x) for x in counts}
    absent = [x for x in one.channel.secrets if key_of(x) not in seen]
    if not absent:
        return ()
    shown = ", ".join(map(repr, absent[:6])) + (" and more" if len(absent) > 6 else "")
    return (f"No row has {shown}. That is no fault: nobody can tell from the output, and it is written nowhere else.",)


def _made(source: Any, choice: Release) -> Chosen:
    """Return mechanisms made for the values of the columns: one for all while their combinations are few enough.

    Beyond that each of the k columns gets its share, epsilon/k of ldp, which together are epsilon-ldp and therefore
    also epsilon-pml, -pmc and -lip of all columns.
    """
    columns = choice.columns
    table, answers = contingency(source, columns), Answers.of(choice)
    many = len(table.counts) if answers is None else answers.combinations
    if many > MOST_SECRETS and len(columns) > 1:
        return _apart(source, choice)
    counts = counted(table, choice.null_as)
    counts = counts if answers is None else in_order(answers.completed(counts, source.schema))
    names = ", ".join(map(repr, columns))
    if not len(counts) <= MOST_DESIGNED:
        raise DivulgeError.of(
            "column", f"have at most {MOST_DESIGNED:,} values to design for", f"the number of {names}",
            f"{len(counts):,}", "merge values into fewer groups (--group C=RULE, group=), or give a mechanism.",
        )  # fmt: skip
    assumed = believed(source, choice, counts)
    prior = assumed.prior
    assert prior is not None
    _require_all(prior, counts, names)
    if len(prior) < 2:
        raise DivulgeError.of(
            "column", "have at least two values", names, "the same in every row",
            "whatever is drawn, the list of answers would tell everybody's: leave the column out (keep=, --keep), or "
            "give a prior (prior=, --prior) that names every answer there could be.",
        )  # fmt: skip
    told_of: tuple[str, ...] = ()
    if answers is None:
        told_of = of_spelling(counts, names, choice.null_as)
        told_of += () if assumed.source == "given" else of_one_row(counts.values(), names)
    notes: list[str] = []
    if isinstance(choice.mechanism, str):
        channel = _by_name(choice, prior)
        sets = choice.outcomes == "sets" or not _true(channel)
    else:
        _require_a_bound(prior, assumed, choice.kept)
        kept, notes = bounded(choice, left(choice.kept, assumed.epsilon))
        channel, sets, more = designed(choice, kept, assumed)
        notes += more
    whole = IntegerChannel.of(channel, raise_small=choice.raise_small or choice.mechanism is None)
    whole = _relabelled(whole, replace(choice, outcomes="sets" if sets else "values"), assumed)
    found = _described(all_certified([(columns, whole)], assumed, choice.kept), choice, counts)
    return replace(found, notes=(*notes, *found.notes), private=(*told_of, *found.private))


def _require_all(prior: Prior, counts: Mapping[Hashable, int], names: str) -> None:
    """Refuse a prior that lacks a value of the columns; which one is not said."""
    known = {key_of(x) for x in prior.secrets}
    lost = sum(count for x, count in counts.items() if key_of(x) not in known)
    if lost:
        raise DivulgeError.of(
            "prior", f"have every value of {names}", "the number of rows with a value that it lacks", f"{lost:,}",
            "add what is missing, with a small share; values are compared as text.",
        )  # fmt: skip


def _true(channel: Channel) -> bool:
    weights = IntegerChannel.of(channel, raise_small=True).weights
    if len(channel.outcomes) == 1 < len(channel.secrets):
        return True
    return set(channel.outcomes) <= {*channel.secrets, "erased"} and not untrue(
        weights, channel.secrets, channel.outcomes
    )


def _rules_out(channel: Channel) -> bool:
    """Say whether an outcome rules out a value, while others have it: ldp is infinite then."""
    never = channel.floats == 0
    return bool((never.any(axis=0) & ~never.all(axis=0)).any())


def _by_name(choice: Release, prior: Prior) -> Channel:
    name = str(choice.mechanism)
    if name not in NAMED:
        raise DivulgeError.unknown("mechanism", name, NAMED, "be a channel or one of")
    strength = {key: value for key in ("epsilon", "ratio") if (value := getattr(choice, key)) is not None}
    if NAMED[name].tunable and len(strength) != 1:
        raise DivulgeError.of("mechanism", f"come with epsilon or ratio (--epsilon, --ratio) where it is {name}",
                              "what was given", "both" if strength else "neither")  # fmt: skip
    if not NAMED[name].tunable and strength:
        raise DivulgeError.of("epsilon", f"be left out: {name} has no strength", "it", "given")
    if "epsilon" in strength and choice.unit != "nats":
        strength["epsilon"] *= math.log(2)
    return NAMED[name].make(prior, strength)


def _require_a_bound(prior: Prior, assumed: Assumed, guarantees: tuple[Guarantee, ...]) -> None:
    """Refuse guarantees that the truth itself keeps: under the prior they promise nothing.

    It keeps no ldp of two values, which it tells apart.
    """
    finite = (math.isfinite(float(one.values()["epsilon"])) for one in guarantees if one.kind in ("ldp", "dp"))
    if len(prior) > 1 and any(finite):
        return
    truth = certified(("",), IntegerChannel.of(Channel(np.eye(len(prior)), prior.secrets, prior.secrets)), assumed)
    try:
        for one in guarantees:
            check(one, [truth])
    except DivulgeError:
        return
    if len(prior) > 1:
        raise DivulgeError.of(
            "guarantee", "promise something", ", ".join(map(str, guarantees)),
            f"kept by publishing the truth, with {len(prior)} values and this prior",
            "take a smaller one, add ldp=E, or a public prior in which rare values are rare (prior=, --prior).",
        )  # fmt: skip


GAIN_ONLY = ("pml", "lift", "lift-capacity", "bayes-capacity", "maximal-leakage")
"""Guarantees that do not keep an outcome from ruling values out."""


def bounded(choice: Release, kept: tuple[Guarantee, ...]) -> tuple[tuple[Guarantee, ...], list[str]]:
    """Return the guarantees, with the same bound on loss beside a bound on gain alone, and what to know of that."""
    if not all(one.kind in GAIN_ONLY for one in kept):
        return kept, []
    said = "A bound on gain alone does not forbid an outcome to rule values out"
    if choice.rule_out:
        return kept, [f"{said}, which is allowed here."]
    level = min(
        float(v) if name in one.logarithmic else math.log(v) for one in kept for name, v in one.values().items()
    )
    return (*kept, PMC(level)), [
        f"{said}: pmc={level:.4g} was added, the same bound on loss. Hint: add ldp=E or pmc=E yourself; rule_out=True "
        "(--rule-out) goes without."
    ]


def stand_in(choice: Release) -> Release:
    """Return the choice without an estimate of the prior, which would be drawn, under what it leaves of guarantees."""
    if not (isinstance(choice.prior, str) and choice.prior.startswith("noisy=")):
        return choice
    spent = float(positive(choice.prior.partition("=")[2], "noisy"))
    return replace(choice, prior=None, guarantee=left(choice.kept, spent), unit="nats")


def _apart(source: Any, choice: Release, protocols: Sequence[str] | None = None) -> Chosen:
    """Return a mechanism for each column by itself, or these protocols, each with its share of the promise."""
    if not all(one.kind in ("ldp", "pml", "pmc", "lip") for one in choice.kept) or isinstance(choice.mechanism, str):
        given = ", ".join(map(str, choice.guarantee)) or str(choice.mechanism)
        raise DivulgeError.of("guarantee", "be ldp, pml, pmc or lip for so many combinations of columns", "it", given)
    if choice.prior not in (None, "uniform"):
        raise DivulgeError.of("prior", "be left out for so many combinations of columns", "it", "given")
    epsilon = min(float(one.values()["epsilon"]) for one in choice.kept)
    share = (LDP(epsilon / len(choice.columns) * (1 - 2**-40)),)
    apart = [
        choose(source, replace(choice, column=(name,), guarantee=share, unit="nats", protocol=protocol))
        for name, protocol in zip(choice.columns, protocols or [None] * len(choice.columns), strict=True)
    ]
    found = [one for part in apart for one in part.mechanisms]
    notes = tuple(note for part in apart for note in part.notes)
    return Chosen(tuple(found), notes, counts=None if protocols is None else {})


def left(guarantees: tuple[Guarantee, ...], spent: float) -> tuple[Guarantee, ...]:
    """Return the guarantees with what an estimate of the prior spent taken off those that need no prior."""
    if not spent:
        return guarantees
    left: list[Guarantee] = []
    for one in guarantees:
        if one.kind in ("ldp", "dp"):
            epsilon = float(one.values()["epsilon"]) - spent
            if not epsilon > 0:
                raise DivulgeError.of("prior", f"be noisy=E with E below the epsilon of {one}", "E", f"{spent:.6g}")
            one = replace(one, epsilon=epsilon * (1 - 2**-50))
        left.append(one)
    return tuple(left)


NAMES = OwnNames(occurrence=0.5, lead=0.5)
"""What a design under the names of values keeps: each occurs at least half as often as its value, and raises the others
by no more than half as much, on the scale of logarithms, as the guarantees would allow it to raise its own."""


def designed(choice: Release, kept: tuple[Guarantee, ...], assumed: Assumed) -> tuple[Channel, bool, list[str]]:
    """Return a channel for the guarantees and the purpose, whether its outcomes are sets, and what to know of it."""
    if choice.outcomes == "sets":
        return _sets(choice, kept, assumed)
    prior, purpose = assumed.prior, PURPOSES[choice.purpose]
    assert prior is not None
    effort = Effort(deadline=clock.now() + choice.time_limit)
    made = _under_names(choice, kept, assumed)
    channels: list[Channel] = []
    notes: list[str] = []
    if made is None or len(prior) <= MOST_COMPARED:
        tuned_in_time, missing = candidates(prior, kept, assumed.priors, effort)
        channels += [one.channel for one in tuned_in_time]
        notes += _not_compared(choice, missing)
    channels += [] if made is None else [made.channel]
    found = [one for one in channels if _true(one) and (choice.rule_out or not _rules_out(one))]
    if made is not None and len(found) == 1 and found[0] is made.channel and math.isfinite(made.utility):
        best, channel = 0.0, made.channel  # nothing to compare it with
    else:
        best, channel = _best([(purpose.worth(prior, one), one) for one in found])
    if notes and not best > -math.inf:
        raise OutOfTime.of(
            "time_limit", "be long enough to find a mechanism", "it", f"over after {choice.time_limit:g} s",
            "allow it longer (--time-limit), merge values into fewer groups (--group C=RULE, group=), or give one "
            "prior.",
        )  # fmt: skip
    if channel is None or not best > -math.inf:
        raise DivulgeError.of(
            "guarantee", "leave a mechanism that tells values apart", "every one under it", "one that tells nothing",
            "allow more leakage.",
        )  # fmt: skip
    return channel, False, [*notes, *([] if made is None or not assumed.public else _cost(made, purpose))]


def _not_compared(choice: Release, missing: int) -> list[str]:
    """Say that the time was up before all named mechanisms were tuned, where it was."""
    return [] if not missing else [
        f"The time limit of {choice.time_limit:g} s was over before {missing} of {len(COMPARED)} named mechanisms were "
        "tuned: they were not compared. Hint: time_limit (--time-limit) allows it longer."
    ]  # fmt: skip


def _under_names(choice: Release, kept: tuple[Guarantee, ...], assumed: Assumed) -> Design | None:
    """Return the design with one outcome for each value, called after it; None where there is none to be had."""
    prior = assumed.prior
    if prior is None or len(prior) < 2 or (assumed.priors is not None and choice.purpose == "information"):
        return None
    about = prior if assumed.priors is None else assumed.priors
    utility, limit = PURPOSES[choice.purpose].utility, choice.time_limit
    try:
        return design(
            about, *kept, utility=utility, outcomes=NAMES,
            time_limit=limit if assumed.priors is None else _DESIGNING * limit,
        )  # fmt: skip
    except OutOfTime:
        return None
    except DivulgeError:  # such as guarantees that leave nothing to say: named mechanisms are tried
        return None


def _cost(made: Design, purpose: Purpose) -> list[str]:
    """Say what the names cost at most, beside the bound of what is possible without them."""
    bound = made.unnamed_bound
    if bound is None or not bound > 0:
        return []
    lost = max(made.utility / bound - 1 if made.minimized else 1 - made.utility / bound, 0.0)
    if not lost > 1e-6:
        return []
    percent = f"{at_most(100 * lost)} %"
    return [
        f"Calling each entry after one value costs at most this: {purpose.cost.format(percent)} "
        f"({made.objective} {made.utility:.4g}; without names of single values {made.side} {bound:.4g}).",
        *(
            [_BY_PROTOCOL]
            if made.minimized and lost > _FAR and {g.kind for g in made.guarantees} <= {"ldp", "dp"}
            else []
        ),
    ]


_FAR = 1.0
"""The share by which the variance of named entries exceeds the least: below, no list of values is worth asking for."""
_BY_PROTOCOL = (
    "A frequency protocol keeps the same promise with estimates nearly as exact as any: its entries stand for sets of "
    "values, not for single ones. Hint: protocol='auto' with values= (--protocol auto --values FILE)."
)


def _best(found: list[tuple[float, Channel]]) -> tuple[float, Channel | None]:
    """Return the first of the largest."""
    return found[first_largest([worth for worth, _ in found])] if found else (-math.inf, None)


COMPARED = ("randomized response", "resample")
"""Families whose member is compared with a design: each has one, with one outcome for each value."""


def candidates(
    prior: Prior, guarantees: tuple[Guarantee, ...], priors: PriorSet | None, effort: Effort
) -> tuple[list[Named], int]:
    """Return (the named mechanisms with one outcome for each value, each tuned to just keep the guarantees, how many
    are left out as the time was up)."""
    found = [one for name in COMPARED for one in tuned(FAMILIES[name], prior, guarantees, priors, effort)]
    return [
        replace(one, channel=Channel(one.channel.floats, prior.secrets, prior.secrets))
        for one in found
        if one.channel.shape[0] == one.channel.shape[1]
    ], len(COMPARED) - len(found)


def _sets(choice: Release, kept: tuple[Guarantee, ...], assumed: Assumed) -> tuple[Channel, bool, list[str]]:
    """Return the unconstrained optimum, whose outcomes are the sets of values that they raise."""
    if assumed.priors is not None:
        raise DivulgeError.of("outcomes", "be 'values' for a set of priors", "it", "'sets'")
    prior = cast(Prior, assumed.prior)
    utility = PURPOSES["information"].utility if choice.purpose == "statistics" else PURPOSES[choice.purpose].utility
    made = design(prior, *kept, utility=utility, time_limit=choice.time_limit)
    notes: list[str] = []
    if made.relative_gap > WORTH_TELLING:
        notes.append(
            f"The design was stopped after {choice.time_limit:g} s, with {made.objective} {made.utility:.4g} where "
            f"{made.side} {made.bound:.4g} is possible. Hint: time_limit (--time-limit) allows it longer."
        )
    if not choice.rule_out and _rules_out(made.channel):
        raise DivulgeError.of(
            "guarantee", "keep outcomes from ruling values out", "the best mechanism under it",
            "one whose outcomes do", "add ldp=E or pmc=E; rule_out=True (--rule-out) allows it.",
        )  # fmt: skip
    return made.channel, True, notes


def counted(counts: Contingency, null_as: Hashable = None) -> dict[Hashable, int]:
    """Return counts by value, in the order of the values; a missing value counts as `null_as`, or is refused without.

    The order tells nothing of the counts: it is that of the mechanism, which everybody sees.
    """
    faults = Faults()
    if null_as is None:
        for column, missing in zip(counts.columns, counts.missing, strict=True):
            if missing:
                faults.missing[(column,)] = missing
    faults.refuse()
    counts.keep_missing_apart(null_as)
    named: dict[Hashable, int] = {}
    for key, count in counts.to_dict().items():
        if isinstance(key, tuple) and len(counts.columns) > 1:
            named[tuple(null_as if part is None else part for part in key)] = count
        else:
            named[null_as if key is None else key] = count
    if not named:
        raise DivulgeError.of("source", "have at least one row to count", "it", "empty")
    return in_order(named)


def in_order(counts: Mapping[Hashable, int]) -> dict[Hashable, int]:
    """Return counts in the order of the values, or of their texts."""
    try:
        return dict(sorted(counts.items()))  # pyright: ignore[reportArgumentType]
    except TypeError:
        return dict(sorted(counts.items(), key=lambda item: str_of(item[0])))
