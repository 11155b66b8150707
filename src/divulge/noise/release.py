"""The release of a number with noise: its outcomes, what each leaks, and what is believed of a record after it."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from divulge.errors import DivulgeError
from divulge.model.entries import whole_number
from divulge.model.prior import Prior
from divulge.noise.answers import outcomes
from divulge.noise.answers.ranges import values
from divulge.noise.families.noise import Noise
from divulge.noise.families.table import as_noise
from divulge.noise.laws.choice import AnyLaw, law_of
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.law import Side
from divulge.noise.secrets.parse import SecretLike, as_secret, clipped
from divulge.noise.secrets.secret import Secret
from divulge.units import Unit, nats_per

_TOO_FAR = 0.01
"""A leakage that values left out may change by more than this share, or so many nats, is none that is known."""


class NoisyRelease:
    """h(X) + Z, or the mean of n records plus Z; see `NoiseMechanism`, which adds what holds over all outcomes."""

    def __init__(
        self,
        noise: Noise | str,
        secret: SecretLike,
        *,
        records: int = 1,
        clip: tuple[float, float] | None = None,
        others: SecretLike | None = None,
        **parameters: float,
    ) -> None:
        records = whole_number(records, "records")
        self.noise: Noise = as_noise(noise, **parameters)
        if clip is not None and np.shape(clip) != (2,):
            raise DivulgeError.of("clip", "be a pair (low, high)", "it", repr(clip))
        self.secret: Secret = as_secret(secret) if clip is None else clipped(as_secret(secret), *clip)
        self.records = int(records)
        self.others: Secret | None = None if others is None else as_secret(others)
        self.law: AnyLaw = law_of(self.noise, self.secret, self.records, self.others)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("noise", "secret", "records", "others")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.law = law_of(self.noise, self.secret, self.records, self.others)

    def pml(self, y: ArrayLike, unit: Unit = "nats") -> Any:
        """Return pml(y) = log sup_x f(y | x) / f(y) for each outcome, in nats.

        Parameters
        ----------
        y : float or array_like of any shape
            Outcomes; on the lattice for lattice noise.

        Returns
        -------
        float or array of the shape of `y`
            In [0, log 1/p_min] for finitely many values, else in [0, +inf]; NaN for an outcome that cannot occur. Exact
            but for rounding for finitely many values and closed forms; else about 1e-12 off, as is estimated
            (see `error`).

        Raises
        ------
        DivulgeError
            If an outcome is no finite number, or is off the lattice.

        References
        ----------
        "Pointwise Maximal Leakage on General Alphabets", arXiv:2304.07722.

        Examples
        --------
        >>> m = dv.NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0)
        >>> round(m.pml(0.0), 6)  # log sqrt 2
        0.346574
        """
        return self._each("pml", y, unit)

    def pmc(self, y: ArrayLike, unit: Unit = "nats") -> Any:
        """Return pmc(y) = log f(y) / inf_x f(y | x) for each outcome, in nats; parameters and accuracy as of `pml`.

        In [0, +inf]: +inf at all y for an unbounded secret, NaN for an outcome that cannot occur.

        References
        ----------
        "Information Density Bounds for Privacy", Definition 11 and Theorem 3, arXiv:2407.01167.

        Examples
        --------
        >>> m = dv.NoiseMechanism("laplace", "rademacher()", scale=2.0)
        >>> round(m.pmc(5.0), 6)  # log cosh(1/2) + 1/2
        0.620115
        """
        return self._each("pmc", y, unit)

    def error(self, y: ArrayLike, side: Side = "pml", unit: Unit = "nats") -> Any:
        """Return a bound on how far off `pml(y)`, or `pmc(y)`, is; shape of `y`.

        For finitely many values and known noise it bounds rounding, and is proved; where it rests on an integral over
        the secret, or on a density of scipy.stats whose form is not known, it is an estimate: it tells how many digits
        are left far out.

        Examples
        --------
        >>> m = dv.NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> 0 < m.error(5.0) < 1e-13
        True
        """
        return outcomes.shaped(values(self.law, side, self.points(y)).off / nats_per(unit), y)

    def _each(self, side: Side, y: Any, unit: Unit) -> Any:
        found, law = values(self.law, side, self.points(y)), self.law
        far = not (found.off <= _TOO_FAR * np.maximum(found.leakage, 1.0)).all()
        if isinstance(law, FiniteLaw) and any(law.beyond) and far:
            hint = "clip the records, or give them as a sample, to ask about any outcome."
            condition = f"be near enough to the values that are kept, {law.values[0]:g} to {law.values[-1]:g}"
            raise DivulgeError.of("y", condition, "an outcome", "nearer to values beyond", hint)
        return outcomes.shaped(found.leakage / nats_per(unit), y)

    def points(self, y: ArrayLike) -> np.ndarray:
        """Return the outcomes less the noise's `loc`, flat and checked: finite, on the lattice of lattice noise.

        Examples
        --------
        >>> m = dv.NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> m.points([0, 1]).tolist()
        [0.0, 1.0]
        """
        points = outcomes.flat(y)
        if not np.isfinite(points).all():
            raise DivulgeError.of("y", "hold finite outcomes", "an outcome", "NaN or infinite")
        if self.noise.step is not None and isinstance(self.law, FiniteLaw):
            steps = (points - self.law.low) / self.noise.step
            if not (np.abs(steps - np.round(steps)) <= 1e-6).all():
                raise DivulgeError.of("y", "hold outcomes on the lattice of the noise", "an outcome", "off it")
        return points - self.noise.loc

    def log_density(self, y: ArrayLike) -> Any:
        """Return log f(y), the log density of the outcome (log probability for lattice noise); shape of `y`.

        -inf for an outcome that cannot occur; raises DivulgeError for outcomes that are no finite numbers.

        Examples
        --------
        >>> round(dv.NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0).log_density(40.0), 6)  # normal, variance 2
        -401.265512
        """
        return outcomes.shaped(self.law.log_density(self.points(y)), y)

    def density(self, y: ArrayLike) -> Any:
        """Return f(y) >= 0, the density of the outcome (probability for lattice noise); shape of `y`.

        Raises DivulgeError for outcomes that are no finite numbers.

        Examples
        --------
        >>> round(dv.NoiseMechanism("laplace", "rademacher()", scale=1.0).density(0.0), 6)  # 1 / 2e
        0.18394
        """
        return outcomes.shaped(np.exp(self.law.log_density(self.points(y))), y)

    def posterior(self, y: float) -> Prior:
        """Return the distribution of one record given the outcome `y`, for a secret with finitely many values.

        Returns
        -------
        Prior
            P(x_i) f(y | x_i) / f(y), labeled by the values; exact but for rounding.

        Raises
        ------
        DivulgeError
            If the secret has a density (see `posterior_density`), or `y` is no finite number.

        Examples
        --------
        >>> m = dv.NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> m.posterior(1.0).floats.round(6).tolist()  # 1 / (1 + e^2)
        [0.119203, 0.880797]
        """
        if not isinstance(self.law, FiniteLaw):
            hint = "ask for `posterior_density`, or bin it first: mechanism.binned(...).posterior(outcome)."
            condition = "have finitely many values for a posterior table"
            raise DivulgeError.of("secret", condition, "it", self.secret.description, hint)
        point = self.points(y)
        weights = self.law.log_prior + self.law.log_given(point)[0] - self.law.log_outcome(point)[0]
        p = np.exp(weights)
        return Prior(p / p.sum(), [float(v) for v in self.law.values])

    def posterior_density(self, y: float, x: ArrayLike) -> Any:
        """Return the density of one record at `x` given the outcome `y`, for a secret with a density; shape of `x`.

        In [0, +inf), 0 outside the support. As exact as `pml`. Raises DivulgeError for a secret with finitely many
        values (see `posterior`), and for `x` or `y` that are no finite numbers.

        Examples
        --------
        >>> m = dv.NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0)
        >>> round(m.posterior_density(1.0, 0.5), 6)  # normal with mean 1/2 and variance 1/2
        0.56419
        """
        law = self.law
        if isinstance(law, FiniteLaw):
            raise DivulgeError.of("secret", "have a density", "it", self.secret.description, "see `posterior`.")
        at, point = np.atleast_1d(np.asarray(x, dtype=np.float64)), self.points(y)
        if not np.isfinite(at).all():
            raise DivulgeError.of("x", "hold finite secrets", "a secret", "NaN or infinite")
        inside = (at >= self.secret.low) & (at <= self.secret.high)
        safe = np.where(inside, at, law.center(point))
        log_ratio = law.log_given(np.broadcast_to(point, safe.shape), safe) - law.log_outcome(point)[0]
        before = self.secret.density(at)
        value = np.where(inside & (before > 0), np.exp(log_ratio + np.log(np.where(before > 0, before, 1.0))), 0.0)
        return outcomes.shaped(value, x)

    def posterior_atoms(self, y: float) -> dict[float, float]:
        """Return the mass of the ends a record was clipped to, given the outcome `y`: what the density leaves out.

        Examples
        --------
        >>> m = dv.NoiseMechanism("laplace", "normal(0, 1)", scale=1.0, clip=(-1, 1))
        >>> {v: round(p, 6) for v, p in m.posterior_atoms(0.0).items()}
        {-1.0: 0.103326, 1.0: 0.103326}
        """
        law = self.law
        if isinstance(law, FiniteLaw):
            return {}
        point = self.points(y)
        ratio = {v: law.log_given(point, np.array([v])) - law.log_outcome(point) for v, _ in self.secret.atoms}
        return {v: p * math.exp(float(ratio[v][0])) for v, p in self.secret.atoms}

    def cdf(self, y: ArrayLike) -> Any:
        """Return P(Y <= y), in [0, 1]; shape of `y`; +-inf are allowed, NaN raises DivulgeError.

        Examples
        --------
        >>> dv.NoiseMechanism("laplace", "rademacher()", scale=1.0).cdf(0.0)
        0.5
        """
        at = outcomes.flat(y)
        if np.isnan(at).any():
            raise DivulgeError.of("y", "hold numbers", "an outcome", "NaN")
        return outcomes.shaped(outcomes.below(self, at - self.noise.loc, above=False), y)

    def __repr__(self) -> str:
        about = f", about one of {self.records} records" if self.records > 1 else ""
        arguments = ", ".join(f"{k}={v:g}" for k, v in self.noise.described.items())
        return f"NoiseMechanism({self.noise.kind}({arguments}) on {self.secret.description}{about})"
