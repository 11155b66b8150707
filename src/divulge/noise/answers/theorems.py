"""What is true of when leakage is bounded at all, checked on a mechanism.

The source claims for every alphabet that bounded PMC implies bounded PML (Theorem 5) and some finite epsilon-LDP
(Theorem 6). Both need a least likely secret: who tells the truth with probability 1/2, and draws from the prior
otherwise, has PMC log 2 and a PML that grows without bound as p_min falls. What holds on every alphabet is that a
finite epsilon-LDP bounds both measures, and that PMC bounds the distance of any two rows.
"""

import math
from dataclasses import dataclass

from divulge.model.shown import promised
from divulge.noise.answers.supremum import Supremum
from divulge.units import Unit, nats_per

SOURCE = "Information Density Bounds for Privacy"
_FIFTH = "bounded PMC implies bounded PML where the secret has finitely many values"
_SIXTH = "epsilon-LDP bounds PMC and PML; bounded PMC gives one where the secret has finitely many values"


@dataclass(frozen=True)
class Verdict:
    """What a theorem says of a mechanism.

    theorem, claim : its name, and what it claims of every mechanism
    pmc, pml : whether the measure is bounded over all outcomes; None where the search could not tell
    ldp : the local-DP epsilon in nats, or an upper bound on it; +inf where there is none
    holds : whether the claim is true here; None where it cannot be told. False would be a fault of this library
    """

    theorem: str
    claim: str
    pmc: bool | None
    pml: bool | None
    ldp: float
    holds: bool | None

    @property
    def words(self) -> str:
        """Return the verdict as a sentence, epsilon in nats."""
        return self.sentence()

    def sentence(self, unit: Unit = "nats") -> str:
        """Return the verdict as a sentence."""
        verdict = {True: "holds", False: "is contradicted", None: "cannot be told"}[self.holds]
        if "LDP" not in self.claim:
            return f"{self.theorem} ({self.claim}) {verdict}: PMC is {_WORDS[self.pmc]}, PML {_WORDS[self.pml]}"
        known = f"{promised(self.ldp / nats_per(unit))}-LDP holds [{unit}]"
        ldp = known if math.isfinite(self.ldp) else "no finite epsilon-LDP is known"
        return f"{self.theorem} ({self.claim}) {verdict}: PMC is {_WORDS[self.pmc]}, {ldp}"


_WORDS = {True: "bounded", False: "unbounded", None: "not settled"}


def _bounded(found: Supremum) -> bool | None:
    if math.isfinite(found.upper):
        return True
    return False if math.isinf(found.lower) else None


def verdicts(
    pmc_supremum: Supremum, pml_supremum: Supremum, ldp: float, *, exact: bool, finite: bool
) -> tuple[Verdict, Verdict]:
    """Return what is left of Theorems 5 and 6 for this mechanism; `finite`: the secret has finitely many values.

    The three facts come from different computations: two searches over outcomes, and the likelihood ratio of the noise.
    """
    pmc, pml = _bounded(pmc_supremum), _bounded(pml_supremum)
    fifth = True if not finite or pmc is False or pml is True else (None if pmc is None or pml is None else False)
    local = True if math.isfinite(ldp) else (False if exact else None)
    within = max(pmc_supremum.lower, pml_supremum.lower) <= ldp * (1 + _ROUNDING) + _ROUNDING
    back = True if not finite or pmc is False or local is True else (None if pmc is None or local is None else False)
    return (
        Verdict(f"{SOURCE}, Theorem 5 for finite alphabets", _FIFTH, pmc, pml, ldp, fifth),
        Verdict(f"{SOURCE}, Theorem 6 for finite alphabets", _SIXTH, pmc, pml, ldp, back if within else False),
    )


_ROUNDING = 1e-9
"""What a supremum found by search may lie above a ratio of likelihoods that it reaches."""
