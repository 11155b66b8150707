"""The two theorems on when leakage is bounded at all, checked on a mechanism."""

import math
from dataclasses import dataclass

from divulge.model.shown import promised
from divulge.noise.answers.supremum import Supremum
from divulge.units import Unit, nats_per

SOURCE = "Information Density Bounds for Privacy"
_SIXTH = "PMC is bounded if and only if some finite epsilon-LDP holds"


@dataclass(frozen=True)
class Verdict:
    """What a theorem says of a mechanism.

    Attributes
    ----------
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


def verdicts(pmc_supremum: Supremum, pml_supremum: Supremum, ldp: float, exact: bool) -> tuple[Verdict, Verdict]:
    """Return what Theorems 5 and 6 say of the mechanism.

    Theorem 5: bounded PMC implies bounded PML. Theorem 6: PMC is bounded if and only if some finite epsilon-LDP holds.
    The three facts come from different computations: two searches over outcomes, and the likelihood ratio of the noise.
    """
    pmc, pml = _bounded(pmc_supremum), _bounded(pml_supremum)
    fifth = True if pmc is False or pml is True else (None if pmc is None or pml is None else False)
    some = True if math.isfinite(ldp) else (False if exact else None)
    sixth = None if pmc is None or some is None else pmc == some
    return (
        Verdict(f"{SOURCE}, Theorem 5", "bounded PMC implies bounded PML", pmc, pml, ldp, fifth),
        Verdict(f"{SOURCE}, Theorem 6", _SIXTH, pmc, pml, ldp, sixth),
    )
