"""Which mechanism runs on which columns: those given and checked, or those designed for a guarantee."""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from divulge.errors import DivulgeError
from divulge.extras import require
from divulge.guarantees.kinds import LDP
from divulge.model.channel import Channel
from divulge.model.convert import as_prior
from divulge.model.integer import IntegerChannel
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.releasing.counting import Contingency, contingency
from divulge.releasing.estimate import rank, right_inverse
from divulge.releasing.plan import Faults
from divulge.releasing.promised import Spent, promises, together
from divulge.releasing.receipt import Mechanism
from divulge.ties import first_smallest
from divulge.units import Unit

MOST_SECRETS = 512
"""Up to so many combinations of several columns are designed for as one secret."""

MOST_DESIGNED = 1024
"""For so many values of one column a mechanism is designed at most."""

WORTH_TELLING = 0.001
"""From this share of utility on that a design may lack, a release says so."""

COUNTED = "counted from the released column itself: the mechanism tells how often each value occurs"


def mechanisms_for(
    source: Any,
    columns: tuple[str, ...],
    mechanism: Any,
    guarantees: tuple[Any, ...],
    unit: Unit,
    utility: Any,
    prior: Any,
    null_as: Hashable,
    raise_small: bool,
    invertible: bool,
    time_limit: float,
) -> tuple[list[Mechanism], list[str]]:
    """Return a mechanism for each group of columns, given or designed for the guarantee, and what to know of it."""
    if mechanism is None and not guarantees:
        raise DivulgeError("give a mechanism or a guarantee; there is neither.")
    if mechanism is None:
        kept = tuple(one.read_in(unit, to_keep=True) for one in guarantees)
        return _designed(source, columns, kept, utility, prior, null_as, invertible, time_limit)
    if isinstance(mechanism, Mapping) and len(columns) > 1 and set(mechanism) == set(columns):
        groups = [((name,), mechanism[name]) for name in columns]
    else:
        groups = [(columns, mechanism)]
    if prior is not None and len(groups) > 1:
        raise DivulgeError.of("prior", "go with one mechanism for all columns", "it", "given with several")
    known = None if prior is None else as_prior(prior)
    chosen: list[Mechanism] = []
    for names, given in groups:
        whole = IntegerChannel.of(getattr(given, "channel", given), raise_small=raise_small)
        chosen.append(certified(names, whole, known, "given" if known is not None else "none"))
    for guarantee in guarantees:
        _check(guarantee, chosen, unit)
    if invertible:
        for one in chosen:
            right_inverse(one.channel.exact)
    return chosen, []


def certified(columns: tuple[str, ...], channel: IntegerChannel, prior: Prior | None, prior_source: str) -> Mechanism:
    """Return the mechanism with the guarantees of exactly its integers."""
    aligned = None if prior is None else prior.aligned(channel.secrets, "the mechanism")
    return Mechanism(columns, channel, aligned, prior_source, promises(channel.weights, aligned))


def _check(guarantee: Any, chosen: Sequence[Mechanism], unit: Unit = "nats") -> None:
    """Refuse mechanisms that do not keep the guarantee."""
    if len(chosen) > 1:
        total = together([Spent(m.columns, m.channel, m.prior) for m in chosen], None)
        allowed = guarantee.read_in(unit, to_keep=True).values().get("epsilon", -1)
        if not total.get(guarantee.kind, float("inf")) <= float(allowed):
            raise DivulgeError.of("mechanism", f"keep {guarantee}", "what its parts give together", f"{total}")
        return
    only = chosen[0]
    if guarantee.about == "joint" and only.prior is None:
        raise DivulgeError.of("prior", f"be given to check {guarantee}", "it", "absent")
    exact = only.channel.exact
    verdict = guarantee.holds_for(exact if only.prior is None else Joint(only.prior, exact), unit)
    if not verdict.holds:
        raise DivulgeError.of("mechanism", f"keep {guarantee}", "its measured value", str(verdict.measured))


def _designed(
    source: Any,
    columns: tuple[str, ...],
    guarantees: tuple[Any, ...],
    utility: Any,
    prior: Any,
    null_as: Hashable,
    invertible: bool,
    time_limit: float,
) -> tuple[list[Mechanism], list[str]]:
    """Return mechanisms designed for the guarantees: one for all columns while their combinations are few enough.

    Beyond that each of the k columns gets its share, epsilon/k of ldp, which together are epsilon-ldp and therefore
    also epsilon-pml, -pmc and -lip of all columns.
    """
    from divulge.designing.asking import design

    known = None if prior is None else as_prior(prior)
    counts = None if known is not None else contingency(source, columns)
    if counts is not None and len(counts.counts) > MOST_SECRETS and len(columns) > 1:
        if not all(one.kind in ("ldp", "pml", "pmc", "lip") for one in guarantees):
            given = ", ".join(map(str, guarantees))
            raise DivulgeError.of(
                "guarantee", "be ldp, pml, pmc or lip for so many combinations of columns", "it", given
            )
        epsilon = min(float(one.values()["epsilon"]) for one in guarantees)
        share = (LDP(epsilon / len(columns) * (1 - 2**-40)),)
        apart = [_designed(source, (name,), share, utility, None, null_as, invertible, time_limit) for name in columns]
        return [part for parts, _ in apart for part in parts], [said for _, notes in apart for said in notes]
    if known is None:
        assert counts is not None
        known = prior_of(counts, null_as)
    names = ", ".join(map(repr, columns))
    if not len(known) <= MOST_DESIGNED:
        raise DivulgeError.of(
            "column", f"have at most {MOST_DESIGNED:,} values to design for", f"the number of {names}",
            f"{len(known):,}", "merge values into fewer groups, or give a mechanism.",
        )  # fmt: skip
    made = design(known, *guarantees, utility=utility, time_limit=time_limit)
    channel, notes = made.channel, list[str]()
    if invertible and rank(channel.floats) < len(known):
        channel = least_spread(known, guarantees)
    elif made.relative_gap > WORTH_TELLING:
        notes.append(
            f"The design for {names} was stopped after {time_limit:g} s, with {made.objective} {made.utility:.4g} "
            f"where {made.side} {made.bound:.4g} is possible. Hint: time_limit (--time-limit) allows it longer."
        )
    whole = IntegerChannel.of(_named(channel, known))
    chosen = [certified(columns, whole, known, "given" if counts is None else COUNTED)]
    for guarantee in guarantees:
        _check(guarantee, chosen)
    return chosen, notes


def least_spread(prior: Prior, guarantees: tuple[Any, ...]) -> Channel:
    """Return the named mechanism under the guarantees from whose outcomes frequencies are estimated best.

    Of those that can be inverted, it has the least sum over x of the variance of B[Y, x], a row's part of the estimate.
    """
    from divulge.designing.named import FAMILIES, tuned

    found = [
        (_spread(prior, one.channel), one.channel) for f in FAMILIES.values() for one in tuned(f, prior, guarantees)
    ]
    least, channel = found[first_smallest([spread for spread, _ in found])]
    if not least < math.inf:
        raise DivulgeError.of(
            "guarantee", "leave a mechanism that can be inverted", "every named one under it", "one that cannot",
            "allow more leakage.",
        )  # fmt: skip
    return channel


def _spread(prior: Prior, channel: Channel) -> float:
    if rank(channel.floats) < len(prior):
        return math.inf
    p, inverse = prior.floats, right_inverse(channel)
    return float((p @ channel.floats @ inverse**2 - p**2).sum())


def _named(design: Channel, prior: Prior) -> Channel:
    """Return a designed channel whose outcomes are called after the secrets they are likeliest to come from.

    Each secret names at most one outcome; the assignment maximizes the probability that an outcome names its secret.
    Outcomes beyond that are called "other 1", "other 2", ...
    """
    optimize = require("scipy.optimize", "science")
    rows, columns = optimize.linear_sum_assignment(prior.floats[:, None] * design.floats, maximize=True)
    secrets = prior.secrets
    names: dict[int, Hashable] = {int(y): secrets[int(x)] for x, y in zip(rows, columns, strict=True)}
    for y in range(design.shape[1]):
        other = f"other {len(names) - len(rows) + 1}"
        first = secrets[0]
        names.setdefault(y, (other,) * len(first) if isinstance(first, tuple) else other)
    return Channel(design.matrix, secrets, [names[y] for y in range(design.shape[1])])


def prior_of(counts: Contingency, null_as: Hashable = None) -> Prior:
    """Return the empirical prior of counted columns; a missing value counts as `null_as`, or is refused without it."""
    faults = Faults()
    if null_as is None:
        for column, missing in zip(counts.columns, counts.missing, strict=True):
            if missing:
                faults.missing[(column,)] = missing
    faults.refuse()
    named: dict[Hashable, int] = {}
    for key, count in counts.to_dict().items():
        if isinstance(key, tuple) and len(counts.columns) > 1:
            named[tuple(null_as if part is None else part for part in key)] = count
        else:
            named[null_as if key is None else key] = count
    if not named:
        raise DivulgeError.of("source", "have at least one row to count", "it", "empty")
    return Prior.from_counts(dict(sorted(named.items(), key=lambda item: (-item[1], str(item[0])))))
