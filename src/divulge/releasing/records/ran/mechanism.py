"""What ran on columns, as receipts and the ledger have it: a matrix of whole numbers, or a frequency protocol."""

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.files.forms import Form, Some, fits, label, level, share, whole
from divulge.guarantees.kinds.metric import MetricPrivacy
from divulge.measures.robust import ConvexHull
from divulge.model.entries import frozen, rational
from divulge.model.integer import IntegerChannel
from divulge.model.joint import Joint
from divulge.model.metrics import written as metrics
from divulge.model.prior import Prior
from divulge.model.record import Record
from divulge.releasing.planning.assumed import SOURCES, Assumed
from divulge.releasing.records.levels import contradiction, levels, refuse_levels
from divulge.releasing.records.promised import Spent, added

HEAD: Form = {
    "columns": Some(str), "guarantees": {"ldp": level, "*": level},
    "prior_source": str, "prior": (None, {"secrets": Some(label), "probabilities": Some(str)}),
    "prior_set?": {"least?": share, "radius?": level, "epsilon?": level, "beliefs?": Some(Some(str)), "within?": [str]},
    "times?": lambda n: whole(n) and n > 0,
    "person?": str,
}  # fmt: skip
"""What all mechanisms on record have."""

MECHANISM: Form = HEAD | {
    "rounded": bool,
    "bits": whole,
    "weights": Some(Some(whole)),
    "secrets": Some(label),
    "outcomes": Some(label),
    "distance?": {
        "rate": str,
        "metric": {
            "places": Some(label),
            "unit": str,
            "squared": bool,
            "lengths": Some(str),
            "which": Some(Some(whole)),
        },
    },
}
"""What a matrix on record is made of; labels, weights and probabilities are checked where they come together."""


class Ran(Record, ABC):
    """What matrices and protocols have in common: the columns, what is assumed, levels, and whom they are about."""

    columns: tuple[str, ...]
    assumed: Assumed
    guarantees: Mapping[str, float]
    times: int
    person: str | None
    promise: "MetricPrivacy | None" = None

    @property
    def prior(self) -> Prior | None:
        """The prior of the guarantees that need one, where it is one and not a set."""
        return self.assumed.alone

    @property
    def prior_source(self) -> str:
        """Where the prior is from, in words."""
        return SOURCES[self.assumed.source]

    def about(self, person: str | None) -> "Ran":
        """Return the same, of the people of a column."""
        same: Any = self
        return replace(same, person=person)

    def of_draws(self, times: int) -> Spent:
        """Return what so many draws about a person add to other releases, whatever `times` says."""
        same: Any = self
        return replace(same, times=times).spent

    @property
    def for_a_person(self) -> dict[str, float]:
        """What all draws about a person guarantee together, without an estimate of the prior.

        ldp adds up; pml and pmc, whose sums bound nothing, are at most the ldp of all.
        """
        if self.times == 1:
            return dict(self.guarantees)
        ldp = self.guarantees["ldp"]
        whole_ = exact.double_above(added([Fraction(ldp) * self.times])) if math.isfinite(ldp) else math.inf
        return dict.fromkeys(self.guarantees, whole_)

    @property
    def level_spent(self) -> Spent:
        """What the release adds to others where only its levels count: ldp, and the zCDP that follows from it."""
        loss = self.guarantees["ldp"]
        rho = exact.double_above(added([Fraction(loss) ** 2 / 2 * self.times])) if math.isfinite(loss) else math.inf
        beside = exact.double_above(added([self.assumed.epsilon] * self.times))
        return Spent(self.columns, None, None, beside, self.for_a_person["ldp"], rho, self._least)

    @property
    def _least(self) -> Fraction | None:
        """0 where there is a prior of what is released that does not go along: that of another secret does not do."""
        return None if self.assumed.prior is None else Fraction(0)

    def _head(self, keeper: bool) -> dict[str, Any]:
        """Return what JSON can hold of what all have; a prior that was counted is for the keeper only."""
        known = self.assumed.prior if keeper or self.assumed.public else None
        prior = None
        if known is not None:
            shares = [str(p) for p in known.probabilities.tolist()]
            prior = {"secrets": [written_label(x) for x in known.secrets], "probabilities": shares}
        return {
            "columns": list(self.columns),
            "guarantees": finite(self.guarantees),
            "prior": prior,
            "prior_source": self.assumed.source,
            "prior_set": self.assumed.to_dict(keeper=keeper),
            **({"times": self.times} if self.times != 1 else {}),
            **({"person": self.person} if keeper and self.person is not None else {}),
        }

    def on_record(self) -> dict[str, Any]:
        """Return what the ledger keeps of it."""
        return self.to_dict(keeper=True)

    @property
    @abstractmethod
    def computed(self) -> dict[str, float]:
        """The levels that follow from the rest of it."""

    @property
    @abstractmethod
    def subject(self) -> Any:
        """What guarantees are asked about: what ran, with the prior where there is one."""

    @property
    @abstractmethod
    def spent(self) -> Spent:
        """What it adds to other releases."""

    @abstractmethod
    def to_dict(self, *, keeper: bool = False) -> dict[str, Any]:
        """Return what JSON can hold of it."""


@dataclass(frozen=True, eq=False)
class Mechanism(Ran):
    """An integer channel and the columns it was run on, as one secret.

    columns : several columns: the labels of the channel are tuples with one part a column
    assumed : what the attacker is taken to know, for the guarantees that need a prior
    guarantees : {"ldp": epsilon, "pml": epsilon, ...} in nats, of exactly these integers; rounded up
    times : so many draws, of answers that may differ, are about one person
    person : the column whose people these are; None where it is about a row, or none names them
    promise : MetricPrivacy or None; the rate per distance of its secrets that each draw keeps, where it was asked for
    """

    columns: tuple[str, ...]
    channel: IntegerChannel
    assumed: Assumed
    guarantees: Mapping[str, float]
    times: int = 1
    person: str | None = None
    promise: MetricPrivacy | None = None

    @property
    def computed(self) -> dict[str, float]:
        """The levels that follow from the weights and what is assumed."""
        return levels(self.channel, self.assumed)

    @property
    def subject(self) -> Any:
        """The exact channel, with the prior a joint."""
        return self.channel.exact if self.prior is None else Joint(self.prior, self.channel.exact)

    @property
    def spent(self) -> Spent:
        """What the release of these columns adds to others; of several draws about a person, ldp adds up."""
        if self.times == 1:
            least = self._least if self.prior is None else None
            return Spent(self.columns, self.channel, self.prior, self.assumed.epsilon, least=least)
        return self.level_spent

    def to_dict(self, *, keeper: bool = False) -> dict[str, Any]:
        """Return what JSON can hold of it; a prior that was counted from the column itself is for the keeper only."""
        return {
            **self._head(keeper),
            "rounded": self.channel.rounded,
            "secrets": [written_label(x) for x in self.channel.secrets],
            "outcomes": [written_label(y) for y in self.channel.outcomes],
            "bits": self.channel.bits,
            "weights": self.channel.weights.tolist(),
            **(
                {}
                if self.promise is None
                else {
                    "distance": {
                        "rate": str(Fraction(self.promise.epsilon)),
                        "metric": metrics.as_data(self.promise.metric),
                    }
                }
            ),
        }

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> "Mechanism":
        """Return the mechanism that `to_dict` described; levels that its weights do not have are refused."""
        if not fits(found, MECHANISM):
            raise DivulgeError.of("mechanism", "have all its parts, each of its kind", "a part", "missing or malformed")
        labels = {name: tuple(read_label(label) for label in found[name]) for name in ("secrets", "outcomes")}
        channel = IntegerChannel(
            frozen(np.array(found["weights"], dtype=np.int64)), found["bits"], labels["secrets"], labels["outcomes"],
            found["rounded"],
        )  # fmt: skip
        promise = None if "distance" not in found else MetricPrivacy(
            rational(found["distance"]["rate"]), metrics.of_data(found["distance"]["metric"]))  # fmt: skip
        made = cls(channel=channel, promise=promise, **read_head(found))
        refuse_levels(made)
        if promise is not None and not (verdict := promise.holds_for(channel.exact)).holds:
            raise contradiction("the rate per distance", str(promise), str(verdict.measured))
        return made


def read_head(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all mechanisms have, from JSON."""
    prior = found["prior"]
    if prior is not None:
        exact = "." not in "".join(prior["probabilities"]) and "e" not in "".join(prior["probabilities"])
        shares = [p if exact else float(p) for p in prior["probabilities"]]
        prior = Prior(shares, [read_label(x) for x in prior["secrets"]])
    source = found["prior_source"] if found["prior_source"] in SOURCES else "counted"
    return {
        "columns": tuple(found["columns"]),
        "assumed": _assumed(source, prior, found.get("prior_set", {})),
        "guarantees": {kind: float(value) for kind, value in found["guarantees"].items()},
        "times": found.get("times", 1),
        "person": found.get("person"),
    }


def _assumed(source: str, prior: Prior | None, found: Mapping[str, Any]) -> Assumed:
    """Return what is assumed, from JSON; shares of groups come with the prior in their middle, or not at all."""
    shares = found.get("beliefs")
    if (shares is None) != (source != "groups" or prior is None):
        raise DivulgeError.of("mechanism", "have the shares of groups with their prior", "one", "missing")
    numbers: dict[str, Any] = {
        name: tuple(value) if name == "within" else value for name, value in found.items() if name != "beliefs"
    }
    if shares is None or prior is None:
        return Assumed(source, prior, **numbers)
    return Assumed(source, prior, **numbers, beliefs=ConvexHull(shares, prior.secrets))


def finite(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return numbers as JSON holds them: infinity is the word inf."""
    return {
        name: finite(value) if isinstance(value, Mapping) else "inf" if value == math.inf else value
        for name, value in values.items()
    }


def written_label(label: Hashable) -> Any:
    """Return a label as JSON holds it: tuples as lists, what JSON has no word for as its text."""
    if isinstance(label, tuple):
        return [written_label(part) for part in label]
    return label if label is None or isinstance(label, (str, int, float)) else str(label)


def read_label(label: Any) -> Hashable:
    """Return the label that `written_label` described."""
    return tuple(read_label(part) for part in label) if isinstance(label, list) else label
