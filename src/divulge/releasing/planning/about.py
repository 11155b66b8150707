"""What a receipt says of another variable that is protected: in sentences, and what of it follows from the rest."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from divulge.model.shown import at_most, promised

RADII = ("1/100", "1/10")
"""How far the law of the protected variable may be off, in total variation, where it is told what that costs."""

FACTORS = ("11/10",)
"""How many times as large or small each probability of that law may be, where it is told what that costs."""


def sentences(found: Mapping[str, Any], names: str) -> tuple[str, ...]:
    """Return what everybody has to know of a release that protects another variable."""
    what = repr(found["variable"]) if found["variable"] else "the protected variable"
    levels = ", ".join(f"{kind} {promised(found['guarantees'][kind])}" for kind in ("pml", "pmc"))
    factor = at_most(np.exp(found["guarantees"]["pml"]))
    law = "counted from this table: the mechanism tells of it" if found["counted"] else "given, and not of this table"
    worse = "; ".join([
        *(f"pml {promised(one['pml'])} where it is off by {one['radius']}" for one in found["off"]),
        *(f"pml {promised(one['pml'])} and pmc {promised(one['pmc'])} where each probability is within a factor of "
          f"{one['factor']}" for one in found.get("within", ())),
    ])  # fmt: skip
    always = "without a bound" if found["always"] == "inf" else f"pml {promised(found['always'])} at most"
    return (
        f"The guarantee is about {what}, not about {names}: no value of it becomes more than {factor} times as likely "
        f"({levels}, decided exactly under the law of both).",
        f"How both go together was {law}. If that is wrong for the people here, {what} is less protected (total "
        f"variation, for each of its values): {worse}; whatever the law is, {always}.",
    )


def bounds(found: Mapping[str, Any]) -> Iterator[tuple[str, float, float]]:
    """Yield what is at most what, by name, in nats: what is told of a variable is no less where its law is further off,
    and at most what the mechanism tells of anything."""
    always = float(found["always"])
    steps = [found["guarantees"]["pml"], *(one["pml"] for one in found["off"]), always]
    for less, more in pairwise(map(float, steps)):
        yield "pml of what is protected", less, more
    yield "pmc of what is protected", float(found["guarantees"]["pmc"]), always
    for one in found.get("within", ()):
        for kind in ("pml", "pmc"):
            yield f"{kind} of what is protected", float(found["guarantees"][kind]), float(one[kind])
            yield f"{kind} of what is protected", float(one[kind]), always
