"""Every headline measure of a mechanism at once, from one pass over its matrix."""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge import exact
from divulge.extras import require
from divulge.late import Kept
from divulge.measures.average.capacities import maximal_cost_leakage_of, maximal_leakage_of, total
from divulge.measures.average.information import exact_mutual_information, float_mutual_information
from divulge.measures.average.shannon import Capacity, capacity_from, first_mean
from divulge.measures.numeric.columns import (
    Extremes,
    FirstStep,
    ends_and_logs,
    extremes,
    gather,
    largest_joint,
    row_logs,
)
from divulge.measures.pointwise import density
from divulge.measures.pointwise.by_outcome import Pointwise
from divulge.measures.pointwise.guessing import min_entropy_leakage_of
from divulge.model.accepted import ChannelLike, JointLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel, as_joint, is_pair
from divulge.model.entries import frozen
from divulge.model.joint import Joint
from divulge.model.labels import Labels
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled, raised, size_text
from divulge.units import Unit, nats_per

if TYPE_CHECKING:
    from pandas import DataFrame

_OF_CHANNEL = ("ldp", "lift_capacity", "bayes_capacity", "maximal_leakage", "maximal_cost_leakage", "capacity")
_OF_JOINT = (
    "pml", "pmc", "lip", "alip", "lift", "mean_pml", "mean_pmc", "mutual_information", "min_entropy_leakage",
    "maximal_realizable_cost",
)  # fmt: skip
_RATIOS = frozenset({"lift", "lift_capacity", "bayes_capacity"})


@dataclass(frozen=True, eq=False, repr=False)
class Profile(Tabled, Record):
    """The leakage profile of a mechanism: an attribute for each measure; those that need a prior are None without one.

    Attributes
    ----------
    secrets, outcomes : labels
    unit : "nats" or "bits", of everything but the ratios lift, lift_capacity and bayes_capacity
    ldp, maximal_leakage, maximal_cost_leakage : float
    lift_capacity, bayes_capacity : float or Fraction
    capacity : Capacity, with lower and upper bound; sought when it is first asked for
    pml, pmc : Pointwise, by outcome
    lift : float or Fraction
    mutual_information, min_entropy_leakage : float
    lip, alip, mean_pml, mean_pmc, maximal_realizable_cost : what follows from pml and pmc

    Examples
    --------
    >>> found = profile([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> found.lift_capacity, found.bayes_capacity, found.pml
    (Fraction(3, 1), Fraction(3, 2), None)
    >>> sorted(found.to_dict()["channel"])
    ['bayes_capacity', 'capacity', 'ldp', 'lift_capacity', 'maximal_cost_leakage', 'maximal_leakage']
    """

    secrets: Labels
    outcomes: Labels
    unit: Unit
    ldp: float
    lift_capacity: float | Fraction
    bayes_capacity: float | Fraction
    maximal_leakage: float
    maximal_cost_leakage: float
    _search: Callable[[], Capacity] = field(compare=False)
    pml: Pointwise | None = None
    pmc: Pointwise | None = None
    lift: float | Fraction | None = None
    mutual_information: float | None = None
    min_entropy_leakage: float | None = None

    @Kept
    def capacity(self) -> Capacity:
        """The Shannon capacity, between bounds: its search takes as long as all other measures of a small channel."""
        return self._search()

    @property
    def alip(self) -> density.DensityBounds | None:
        """Asymmetric local information privacy (max pmc, max pml)."""
        return None if self.pml is None or self.pmc is None else density.DensityBounds(self.pmc.max(), self.pml.max())

    @property
    def lip(self) -> float | None:
        """Local information privacy max |i(x; y)|."""
        return None if self.alip is None else max(self.alip.lower, self.alip.upper)

    @property
    def mean_pml(self) -> float | None:
        """E[pml] under the distribution of the outcome."""
        return None if self.pml is None else self.pml.mean()

    @property
    def mean_pmc(self) -> float | None:
        """E[pmc] under the distribution of the outcome."""
        return None if self.pmc is None else self.pmc.mean()

    @property
    def maximal_realizable_cost(self) -> float | None:
        """The largest pmc of an outcome."""
        return None if self.pmc is None else self.pmc.max()

    def to_dict(self, unit: Unit | None = None) -> dict[str, Any]:
        """Return the profile as plain data; logarithmic measures in `unit`, that of the profile when not given.

        Keys: secrets, outcomes, unit, channel; with a prior also joint and by_outcome (a list, outcomes that occur).
        +inf is `math.inf`, ratios are floats.

        Examples
        --------
        >>> leak = profile([["3/4", "1/4"], ["1/4", "3/4"]]).to_dict(unit="bits")
        >>> leak["unit"], leak["channel"]["bayes_capacity"]
        ('bits', 1.5)
        """
        unit = self.unit if unit is None else unit
        scale = nats_per(self.unit) / nats_per(unit)
        named: dict[str, Any] = {"secrets": list(self.secrets), "outcomes": list(self.outcomes), "unit": unit}
        named["channel"] = {name: self._as_json(name, scale) for name in _OF_CHANNEL}
        if self.pml is not None and self.pmc is not None:
            named["joint"] = {name: self._as_json(name, scale) for name in _OF_JOINT}
            named["by_outcome"] = self._by_outcome(self.pml, self.pmc, scale)
        return named

    def _as_json(self, name: str, scale: float) -> Any:
        value = getattr(self, name)
        if isinstance(value, density.DensityBounds):
            return {"lower": value.lower * scale, "upper": value.upper * scale}
        if isinstance(value, Pointwise):
            value = value.max()
        return exact.as_float(value) if name in _RATIOS else float(value) * scale

    @staticmethod
    def _by_outcome(pml: Pointwise, pmc: Pointwise, scale: float) -> list[dict[str, Any]]:
        keys = ("outcome", "probability", "pml", "pmc", "pml_secret", "pmc_secret")
        columns = (pml.outcomes, pml.probabilities.tolist(), (pml.values * scale).tolist(),
                   (pmc.values * scale).tolist(), pml.secrets or (), pmc.secrets or ())  # fmt: skip
        return [dict(zip(keys, row, strict=True)) for row in zip(*columns, strict=True)]

    def to_frame(self) -> "DataFrame":
        """Return a pandas DataFrame with one row an outcome (with a prior), or one row a measure (without).

        Examples
        --------
        >>> frame = profile(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])).to_frame()
        >>> list(frame.columns)
        ['probability', 'pml', 'pmc', 'pml_secret', 'pmc_secret']
        """
        pd = require("pandas", "frames")

        named = self.to_dict()
        if "by_outcome" in named:
            return pd.DataFrame(named["by_outcome"]).set_index("outcome")
        return pd.DataFrame({"value": named["channel"]}).rename_axis("measure")

    def _compared(self) -> list[Any]:
        return [*super()._compared(), self.capacity]

    def __getstate__(self) -> dict[str, Any]:
        found = self.capacity
        return vars(self) | {"_search": partial(_known, found)}  # and not the matrix

    _whole = True

    def _shown(self) -> tuple[str, Table]:
        named = self.to_dict()
        values = named["channel"] | {
            key if part is None else f"{key}.{part}": number
            for key, value in named.get("joint", {}).items()
            for part, number in (value.items() if isinstance(value, dict) else [(None, value)])
        }
        labels = [name if name in _RATIOS else f"{name} [{self.unit}]" for name in values]
        head = f"Profile of {size_text(len(self.secrets), len(self.outcomes))}"
        return head, (labels, ["value"], raised(list(values.values())).reshape(-1, 1))


def profile(mechanism: JointLike | ChannelLike, unit: Unit = "nats") -> Profile:
    r"""Return the leakage profile of a channel, or of a joint: every headline measure, in nats, from one pass.

    Parameters
    ----------
    mechanism : Joint or (prior, channel); or Channel or array_like of shape (N, M), and then without a prior

    Returns
    -------
    Profile
        Values equal those of the functions of the same names; the capacity is sought when it is first asked for. Memory
        beside the matrix grows with N + M only.

    Raises
    ------
    DivulgeError
        When `mechanism` is neither a joint nor a channel, or `unit` is unknown.

    Examples
    --------
    >>> leak = profile(dv.Joint(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]))
    >>> leak.lift, leak.bayes_capacity, leak.lift_capacity
    (Fraction(3, 2), Fraction(3, 2), Fraction(3, 1))
    >>> sorted(leak.to_dict())
    ['by_outcome', 'channel', 'joint', 'outcomes', 'secrets', 'unit']
    """
    nats_per(unit)
    if isinstance(mechanism, Joint) or is_pair(mechanism):
        joint = as_joint(mechanism)
        return _exact_profile(joint, unit) if joint.exact else _float_profile(joint, unit)
    channel = as_channel(mechanism)
    if channel.exact or channel.sparse:
        return _profile(channel, extremes(channel.matrix), row_logs(channel), unit)
    ends, logs, first = ends_and_logs(channel.matrix, first_mean(channel))
    return _profile(channel, ends, logs, unit, first)


def _profile(
    channel: Channel, ends: Extremes, logs: np.ndarray, unit: Unit, first: FirstStep | None = None, **of_joint: Any
) -> Profile:
    sides = ends.top, ends.bottom
    worst = density.worst_column(sides)
    return Profile(
        channel.secrets,
        channel.outcomes,
        unit,
        ldp=density.ldp_of(worst, unit),
        lift_capacity=density.lift_capacity_of(worst),
        bayes_capacity=total(ends.top),
        maximal_leakage=maximal_leakage_of(channel, sides, unit),
        maximal_cost_leakage=maximal_cost_leakage_of(channel, sides, unit),
        _search=partial(capacity_from, channel, logs, unit, first=first),
        **of_joint,
    )


def _known(found: Capacity) -> Capacity:
    """Return it: what a profile that was pickled has for its search."""
    return found


def _of_joint(joint: Joint, ends: Extremes, joint_top: np.ndarray, unit: Unit) -> dict[str, Any]:
    ends = ends.only(joint.y)
    q = density.between(joint.outer[joint.y], ends)
    return {
        "pml": density.pml_of(joint, q, ends, unit),
        "pmc": density.pmc_of(joint, q, ends, unit),
        "lift": exact.as_number((ends.top / q).max()),
        "min_entropy_leakage": min_entropy_leakage_of(joint, joint_top, unit),
    }


def _float_profile(joint: Joint, unit: Unit) -> Profile:
    parts = gather(joint.c, joint.p, first_mean(joint.channel))
    if parts.outer is not None:
        vars(joint).setdefault("outer", frozen(parts.outer))
    information = float_mutual_information(joint, parts.row_logs) / nats_per(unit)
    named = _of_joint(joint, parts.likely, parts.joint_top, unit)
    ends = extremes(joint.channel.matrix) if joint.channel.exact else parts.all
    return _profile(joint.channel, ends, parts.row_logs, unit, parts.first, mutual_information=information, **named)


def _exact_profile(joint: Joint, unit: Unit) -> Profile:
    ends = extremes(joint.c)
    support_ends = ends if len(joint.x) == len(joint.p) else extremes(joint.c, joint.x)
    named = _of_joint(joint, support_ends, largest_joint(joint.c, joint.p), unit)
    information = exact_mutual_information(joint, unit)
    return _profile(joint.channel, ends, row_logs(joint.channel), unit, mutual_information=information, **named)
