"""What the ledger keeps of published statistics, and of tables of groups: what they can say about one record."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

from divulge import exact
from divulge.files.forms import Form, fits, level, whole
from divulge.model.entries import rational
from divulge.releasing.records.promised import Spent, added

AGGREGATE: Form = {
    "statistics": True, "columns": [str], "ldp": level, "rho": level, "least": (None, str),
    "adp?": {"epsilon": level, "delta": level}, "person?": str,
    "groups?": {"known": [str], "k": whole, "guarantees": [str], "lift": (None, str)},
    "account?": {"goal": str, "book": str},
}  # fmt: skip


@dataclass(frozen=True)
class Aggregate:
    """Statistics with noise, as one release about the records of a table.

    columns : every column that was read
    guarantees : {"ldp": the most that a log-likelihood changes when one record is replaced, in nats; may be inf}
    rho : zCDP of the same change, for noise without such a bound
    least : probability that every value of the secret has at least, where pml or pmc were asked for
    adp : (epsilon, delta) of the same change that was asked for, where ldp is infinite
    person : the column that says whose rows are one record; a row is one where it is None
    groups : {"known", "k", "guarantees", "lift"} or None; of a table of groups, which no ldp bounds: the columns that
        people may know, the rows of the smallest group, what was asked of all, and how many times as likely an answer
        becomes at most to somebody who knows these columns of one person
    account : what each person's account holds, where this release is on accounts: "dp=2"; all that is said above is
        then about everything that goes on them together, and counts once
    book : what the ledger calls these accounts
    """

    columns: tuple[str, ...]
    guarantees: Mapping[str, float]
    rho: float
    least: Fraction | None = None
    adp: tuple[float, float] | None = None
    person: str | None = None
    groups: Mapping[str, Any] | None = None
    account: str | None = None
    book: str = ""

    channel: ClassVar[None] = None
    prior: ClassVar[None] = None
    times: ClassVar[int] = 1

    @property
    def for_a_person(self) -> dict[str, float]:
        """The same: all rows of whom is protected are one record."""
        return dict(self.guarantees)

    @property
    def spent(self) -> Spent:
        """What counts for a total."""
        return Spent(
            self.columns, None, None, loss=self.guarantees["ldp"], rho=self.rho, least=self.least, adp=self.adp
        )

    def booked(self, book: str) -> "Aggregate":
        """Return it with the name of its accounts, where it is on accounts."""
        return self if self.account is None else replace(self, book=book)

    def of_draws(self, times: int) -> Spent:
        """Return what counts for a total about somebody who is so many records.

        Group privacy: k epsilon, k^2 rho, and delta (e^(k epsilon) - 1) / (e^epsilon - 1) at k epsilon (Dwork, Roth,
        2014, theorem 2.2; Vadhan, 2017, lemma 2.2; Bun, Steinke, 2016, proposition 27). A prior of one record is none
        of several.
        """
        if times == 1:
            return self.spent
        loss = exact.double_above(added([self.guarantees["ldp"]] * times))
        rho = exact.double_above(added([self.rho] * times**2)) if math.isfinite(self.rho) else math.inf
        least = None if self.least is None else Fraction(0)
        adp = self.adp and _of_group(*self.adp, times)
        return Spent(self.columns, None, None, loss=loss, rho=rho, least=least, adp=adp)

    def to_dict(self, keeper: bool = False) -> dict[str, Any]:
        """Return what JSON can hold of it."""
        ldp = self.guarantees["ldp"]
        return {
            "statistics": True, "columns": list(self.columns), "ldp": ldp if math.isfinite(ldp) else "inf",
            "rho": self.rho if math.isfinite(self.rho) else "inf",
            "least": None if self.least is None else str(self.least),
            **({} if self.adp is None else {"adp": {"epsilon": self.adp[0], "delta": self.adp[1]}}),
            **({} if self.person is None else {"person": self.person}),
            **({} if self.groups is None else {"groups": dict(self.groups)}),
            **({} if self.account is None else {"account": {"goal": self.account, "book": self.book}}),
        }  # fmt: skip

    def on_record(self) -> dict[str, Any]:
        """Return what the ledger keeps of it."""
        return self.to_dict()

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> "Aggregate":
        """Return what `to_dict` described."""
        if not fits(found, AGGREGATE):
            raise ValueError("a part is missing or malformed")
        least = None if found["least"] is None else rational(found["least"])
        ldp, rho = float(found["ldp"]), float(found["rho"])
        if least is not None and not 0 < least <= 1:
            raise ValueError("a probability is above 0 and at most 1")
        adp = found.get("adp")
        kept = None if adp is None else (float(adp["epsilon"]), float(adp["delta"]))
        groups = found.get("groups")
        if groups is not None and groups["lift"] is not None and rational(groups["lift"]) < 1:
            raise ValueError("a largest lift is at least 1")
        account = found.get("account", {"goal": None, "book": ""})
        return cls(tuple(found["columns"]), {"ldp": ldp}, rho, least, kept, found.get("person"), groups,
                   account["goal"], account["book"])  # fmt: skip


def _of_group(epsilon: float, delta: float, times: int) -> tuple[float, float]:
    """Return (epsilon, delta) of so many records together, rounded up."""
    one = exact.ball(epsilon)
    many = exact.ball(times) if epsilon == 0 else (one * times).expm1() / one.expm1()
    return exact.double_above(added([epsilon] * times)), min(exact.round_up(exact.ball(delta) * many), 1.0)
