"""A design beside the named mechanisms that keep the same guarantees."""

from collections.abc import Callable
from contextlib import suppress

from divulge.designing.alternatives import Alternative, Alternatives
from divulge.designing.effort import NO_HURRY, Effort
from divulge.designing.result import Design
from divulge.designing.tradeoff.families import FAMILIES, tuned
from divulge.errors import DivulgeError
from divulge.guarantees.guarantee import Guarantee
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.measures.robust import PriorSet
from divulge.model import mechanisms
from divulge.model.channel import Channel
from divulge.model.joint import Joint
from divulge.model.prior import Prior


def alternatives(design: Design, effort: Effort = NO_HURRY) -> Alternatives:
    """Return the design and the best member of each named family that keeps its guarantees, as many as time allows."""
    if any(isinstance(one, MetricPrivacy) for one in design.guarantees):
        rows = _about_distances(design)
    else:
        rows = [found for name in FAMILIES if (found := best_of(design, name, effort)) is not None]
    rows.sort(key=lambda row: row.utility, reverse=not design.minimized)
    first = Alternative.of("design", design.joint, design.utility, design.priors)
    return Alternatives((first, *rows), design.objective, design.bound)


def _about_distances(design: Design) -> list[Alternative]:
    """Return the named mechanisms about a metric at the same rate, and that of LDP which has it at the nearest pair."""
    (promise,) = design.guarantees
    assert isinstance(promise, MetricPrivacy)
    metric, rate = promise.metric.reordered(design.prior.secrets, "prior"), float(promise.epsilon)
    ways: dict[str, Callable[[], Channel]] = {
        "planar geometric": lambda: mechanisms.planar_geometric(metric, rate),
        "planar Laplace": lambda: mechanisms.planar_laplace(metric, rate),
        "exponential": lambda: mechanisms.exponential(metric, rate),
        "tight constraint": lambda: mechanisms.tight_constraint(metric, rate),
        "randomized response": lambda: mechanisms.randomized_response(metric.labels, rate * metric.least),
    }
    rows: list[Alternative] = []
    for name, make in ways.items():
        with suppress(DivulgeError):  # it is not about this metric, or not at this rate
            channel = make().aligned(design.prior.secrets)
            value = design.utility_of(channel)
            if value is not None and promise.holds_for(channel):
                rows.append(Alternative.of(name, Joint(design.prior, channel), value, None))
    return rows


def best_of(design: Design, family: str, effort: Effort = NO_HURRY) -> Alternative | None:
    """Return the best member of a family that keeps the guarantees of the design; None where none has a utility.

    Families are tuned to what they say of the data: none is known for another variable that is protected.
    """
    if design.protect:
        return None
    sign = -1.0 if design.minimized else 1.0
    return best_member(family, design.prior, design.guarantees, design.utility_of, sign, design.priors, effort)


def best_member(
    family: str, prior: Prior, guarantees: tuple[Guarantee, ...], utility_of: Callable[[Channel], float | None],
    sign: float = 1.0, priors: PriorSet | None = None, effort: Effort = NO_HURRY,
) -> Alternative | None:  # fmt: skip
    """Return the member of most utility (of a distortion, sign -1, least) under guarantees, for each of `priors`."""
    if effort.late():
        return None
    members = tuned(FAMILIES[family], prior, guarantees, priors, effort)
    found = [(utility_of(named.channel), named) for named in members]
    known = [(value, named) for value, named in found if value is not None]
    if not known:
        return None
    value, best = max(known, key=lambda pair: sign * pair[0])
    return Alternative.of(family, Joint(prior, best.channel), value, priors)
