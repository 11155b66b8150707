"""Which law of the outcome a secret, its number of records and a noise have."""

from typing import Any, Protocol

import numpy as np

from divulge.errors import DivulgeError
from divulge.noise.families.noise import Noise
from divulge.noise.laws.continuous import ContinuousLaw
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.means import MeanLaw, NormalLaw, mean_law
from divulge.noise.laws.mixture import Mixture
from divulge.noise.laws.sums import sums
from divulge.noise.secrets.secret import Secret

AnyLaw = FiniteLaw | ContinuousLaw | NormalLaw | MeanLaw


class Subject(Protocol):
    """A noise mechanism, as far as an answer about it needs it."""

    noise: Noise
    secret: Secret
    records: int
    law: AnyLaw

    def points(self, y: Any) -> np.ndarray:
        """Return the outcomes as a flat array, checked."""
        ...


def law_of(noise: Noise, secret: Secret, records: int, others: Secret | None = None) -> AnyLaw:
    """Return the law of (mean of `records` independent records) + noise, about one record.

    `others` is the distribution of the other records, where it is not that of the one.
    """
    if others is not None and records > 1:
        return _among_others(noise, secret, records, others)
    if secret.values is not None and secret.probabilities is not None:
        return _finite_law(noise, secret, secret.values, records)
    if noise.step is not None:
        hint = "round it: a sample, values(...), or a discrete scipy.stats name."
        condition = f"have finitely many values on a lattice for {noise.kind} noise"
        raise DivulgeError.of("secret", condition, "it", secret.description, hint)
    if records == 1:
        return ContinuousLaw(noise, secret)
    if secret.continuous.dist.name == "norm" and noise.gaussian and not secret.atoms:
        return NormalLaw(noise, float(secret.continuous.mean()), float(secret.continuous.std()), records)
    return mean_law(noise, secret, records)


def _finite_law(noise: Noise, secret: Secret, values: np.ndarray, records: int) -> FiniteLaw:
    log_prior, left_out = secret.log_probabilities, records * sum(secret.beyond)
    if not left_out <= _MOST_BEYOND:
        hint = "clip the records, as in clip=(0, 1000), or give them as a sample."
        condition = f"have all but {_MOST_BEYOND:g} of its mass on {len(values):,} values"
        raise DivulgeError.of("secret", condition, "the mass beyond", f"{left_out:.2g}", hint)
    if records == 1:
        others, everyone, off = Mixture(noise, np.zeros(1), np.zeros(1)), Mixture(noise, values, log_prior), (0.0, 0.0)
    else:
        assert secret.probabilities is not None
        if not secret.probabilities.min() > 0:
            hint = "clip the records, or give them as a sample."
            condition = "have values with probabilities above 1e-308 for the mean of several records"
            raise DivulgeError.of("secret", condition, "one of them", "rarer", hint)
        *both, off = sums(values, secret.probabilities, records, on_lattice=False)
        others, everyone = (Mixture(noise, places / records, log_p) for places, log_p in both)
    beyond = records * secret.beyond[0], records * secret.beyond[1]
    off = off[0], off[1] / records
    law = FiniteLaw(noise, values, log_prior, values / records, others, everyone, secret, *off, beyond)
    return _on_lattice(law)


def _among_others(noise: Noise, secret: Secret, records: int, others: Secret) -> FiniteLaw:
    """Return the law for one record among others of another distribution, all with finitely many values."""
    base = law_of(noise, others, records)
    few = isinstance(base, FiniteLaw) and secret.values is not None
    if not (isinstance(base, FiniteLaw) and few) or any(base.beyond) or any(secret.beyond):
        condition = "have finitely many values where the other records differ from it"
        raise DivulgeError.of("secret", condition, "it", secret.description)
    assert secret.values is not None
    shares, log_prior = secret.values / records, secret.log_probabilities
    if len(shares) * len(base.others.places) > _MOST_PLACES:
        raise DivulgeError.of("records", "leave few enough distinct sums to enumerate", "their number", "too large")
    places = np.add.outer(base.others.places, shares).ravel()
    log_p = np.add.outer(base.others.log_weights, log_prior).ravel()
    order = np.argsort(places, kind="stable")
    places, log_p = places[order], log_p[order]
    starts = np.flatnonzero(np.diff(places, prepend=-np.inf) > 1e-12 * (places[-1] - places[0]))
    everyone = Mixture(noise, places[starts], np.logaddexp.reduceat(log_p, starts))
    off = base.places_off + 1e-12 * float(places[-1] - places[0])
    law = FiniteLaw(noise, secret.values, log_prior, shares, base.others, everyone, secret, base.weights_off, off)
    return _on_lattice(law)


_MOST_BEYOND = 1e-6
"""Mass of values of a countable secret that may be left out: it stands in the error of every answer."""

_MOST_PLACES = 1_000_000
"""Places of one record and the sum of the others."""


def _on_lattice(law: FiniteLaw) -> FiniteLaw:
    """Return the law; refuse lattice noise at locations that are on no lattice of its step."""
    step = law.noise.step
    steps = (law.locations - law.locations[0]) / (step or 1.0)
    if step is not None and not (np.abs(steps - np.round(steps)) <= 1e-9).all():
        hint = "choose the noise's step to divide the distances between the values (1/n for a mean of n)."
        condition = f"have locations on one lattice of step {step:g} for {law.noise.kind} noise"
        raise DivulgeError.of("secret", condition, "a location", "off it", hint)
    return law
