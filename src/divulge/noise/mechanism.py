"""Noise on a number: what each outcome leaks about one record, and what the mechanism leaks at most."""

import html
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from divulge.errors import DivulgeError
from divulge.model.joint import Joint
from divulge.model.prior import Prior
from divulge.model.shown import html_table
from divulge.noise.answers import outcomes, tails
from divulge.noise.answers.ranges import leakage, values
from divulge.noise.answers.supremum import Supremum, supremum
from divulge.noise.answers.theorems import Verdict, verdicts
from divulge.noise.families.noise import Noise
from divulge.noise.families.table import as_noise
from divulge.noise.laws.choice import AnyLaw, law_of
from divulge.noise.laws.finite import FiniteLaw
from divulge.noise.laws.law import SIDES, Side
from divulge.noise.secrets.expectations import mean
from divulge.noise.secrets.parse import as_secret, clipped
from divulge.noise.secrets.secret import Secret
from divulge.units import Unit, nats_per


@dataclass(frozen=True)
class Local:
    """The local-DP epsilon of the mechanism, in nats; exact for one record, an upper bound for the mean of several."""

    epsilon: float
    exact: bool


class NoiseMechanism:
    """The release of h(X) + Z, or of the mean of n records plus Z, and what it leaks about one record.

    Parameters
    ----------
    noise : str, Noise, or frozen continuous scipy.stats distribution
        A family ("laplace", "gaussian", "staircase", "student-t", "logistic", "discrete-laplace", "discrete-gaussian")
        with its parameters as keywords; `scale` is b of Laplace, sigma of Gaussian.
    secret : Secret, str, Prior with numeric labels, frozen scipy.stats distribution, or sample of numbers
    records : int
        The released location is the mean of so many independent records; leakage is about one of them.
    clip : (low, high), optional
        Records are clipped to this interval first.
    **parameters : float
        Of the noise: `scale` and, by family, `df`, `sensitivity`, `gamma` or `step`.

    Raises
    ------
    DivulgeError
        If noise, secret or their parameters are unknown or out of range, or nothing bounds what is asked of them, such
        as means of several unbounded records; the message says what to change.

    References
    ----------
    Saeidian, Cervia, Oechtering, Skoglund, "Pointwise Maximal Leakage on General Alphabets", arXiv:2304.07722.
    Saeidian, Grosse, Sadeghi, Skoglund, Oechtering, "Information Density Bounds for Privacy", arXiv:2407.01167.

    Examples
    --------
    >>> m = NoiseMechanism("laplace", secret="rademacher()", scale=2.0)
    >>> round(m.pmc_supremum.value, 6), round(m.pml_supremum.value, 6)  # log cosh(1/2) +- 1/2
    (0.620115, 0.379885)
    """

    def __init__(
        self,
        noise: Any,
        secret: Any,
        *,
        records: Any = 1,
        clip: tuple[float, float] | None = None,
        **parameters: float,
    ) -> None:
        if isinstance(records, bool) or not isinstance(records, (int, np.integer)) or not records >= 1:
            raise DivulgeError.of("records", "be a whole number of at least 1", "it", repr(records))
        self.noise: Noise = as_noise(noise, **parameters)
        if clip is not None and np.shape(clip) != (2,):
            raise DivulgeError.of("clip", "be a pair (low, high)", "it", repr(clip))
        self.secret: Secret = as_secret(secret) if clip is None else clipped(as_secret(secret), *clip)
        self.records = int(records)
        self.law: AnyLaw = law_of(self.noise, self.secret, self.records)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("noise", "secret", "records")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.law = law_of(self.noise, self.secret, self.records)

    def pml(self, y: Any, unit: Unit = "nats") -> Any:
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
        >>> m = NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0)
        >>> round(m.pml(0.0), 6)  # log sqrt 2
        0.346574
        """
        return self._each("pml", y, unit)

    def pmc(self, y: Any, unit: Unit = "nats") -> Any:
        """Return pmc(y) = log f(y) / inf_x f(y | x) for each outcome, in nats.

        Parameters
        ----------
        y : float or array_like of any shape
            Outcomes; on the lattice for lattice noise.

        Returns
        -------
        float or array of the shape of `y`
            In [0, +inf]: +inf at all y for an unbounded secret, NaN for one that cannot occur. As exact as `pml`.

        Raises
        ------
        DivulgeError
            If an outcome is no finite number, or is off the lattice.

        References
        ----------
        "Information Density Bounds for Privacy", Definition 11 and Theorem 3, arXiv:2407.01167.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=2.0)
        >>> round(m.pmc(5.0), 6)  # log cosh(1/2) + 1/2
        0.620115
        """
        return self._each("pmc", y, unit)

    def error(self, y: Any, side: Side = "pml", unit: Unit = "nats") -> Any:
        """Return a bound on how far off `pml(y)`, or `pmc(y)`, is; shape of `y`.

        For finitely many values and known noise it bounds rounding, and is proved; where it rests on an integral over
        the secret, or on a density of scipy.stats whose form is not known, it is an estimate: it tells how many digits
        are left far out.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> 0 < m.error(5.0) < 1e-13
        True
        """
        off = values(self.law, side, self.points(y)).off / nats_per(unit)
        return float(off[0]) if np.ndim(y) == 0 else off.reshape(np.shape(y))

    def _each(self, side: Side, y: Any, unit: Unit) -> Any:
        points = self.points(y)
        value = leakage(self.law, side, points) / nats_per(unit)
        return float(value[0]) if np.ndim(y) == 0 else value.reshape(np.shape(y))

    def points(self, y: Any) -> np.ndarray:
        """Return the outcomes less the noise's `loc`, flat and checked: finite, on the lattice of lattice noise.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> m.points([0, 1]).tolist()
        [0.0, 1.0]
        """
        try:
            points = np.atleast_1d(np.asarray(y, dtype=np.float64))
        except (TypeError, ValueError):
            raise DivulgeError.of("y", "hold numbers", "it", type(y).__name__) from None
        if not np.isfinite(points).all():
            raise DivulgeError.of("y", "hold finite outcomes", "an outcome", "NaN or infinite")
        if self.noise.step is not None and isinstance(self.law, FiniteLaw):
            steps = (points - self.law.low) / self.noise.step
            if not (np.abs(steps - np.round(steps)) <= 1e-6).all():
                raise DivulgeError.of("y", "hold outcomes on the lattice of the noise", "an outcome", "off it")
        return points.ravel() - self.noise.loc

    def log_density(self, y: Any) -> Any:
        """Return log f(y), the log density of the outcome (log probability for lattice noise); shape of `y`.

        -inf for an outcome that cannot occur; raises DivulgeError for outcomes that are no finite numbers.

        Examples
        --------
        >>> round(NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0).log_density(40.0), 6)  # normal, variance 2
        -401.265512
        """
        value = self.law.log_density(self.points(y))
        return float(value[0]) if np.ndim(y) == 0 else value.reshape(np.shape(y))

    def density(self, y: Any) -> Any:
        """Return f(y) >= 0, the density of the outcome (probability for lattice noise); shape of `y`.

        Raises DivulgeError for outcomes that are no finite numbers.

        Examples
        --------
        >>> round(NoiseMechanism("laplace", "rademacher()", scale=1.0).density(0.0), 6)  # 1 / 2e
        0.18394
        """
        value = np.exp(self.log_density(y))
        return float(value) if np.ndim(y) == 0 else value

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
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> m.posterior(1.0).floats.round(6).tolist()  # 1 / (1 + e^2)
        [0.119203, 0.880797]
        """
        if not isinstance(self.law, FiniteLaw):
            raise DivulgeError.of(
                "secret", "have finitely many values for a posterior table", "it", self.secret.description,
                "ask for `posterior_density`, or bin it first: mechanism.binned(...).posterior(outcome).",
            )  # fmt: skip
        point = self.points(y)
        weights = self.law.log_prior + self.law.log_given(point)[0] - self.law.log_outcome(point)[0]
        p = np.exp(weights)
        return Prior(p / p.sum(), [float(v) for v in self.law.values])

    def posterior_density(self, y: float, x: Any) -> Any:
        """Return the density of one record at `x` given the outcome `y`, for a secret with a density; shape of `x`.

        In [0, +inf), 0 outside the support. As exact as `pml`. Raises DivulgeError for a secret with finitely many
        values (see `posterior`), and for `x` or `y` that are no finite numbers.

        Examples
        --------
        >>> m = NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0)
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
        return float(value[0]) if np.ndim(x) == 0 else value.reshape(np.shape(x))

    def posterior_atoms(self, y: float) -> dict[float, float]:
        """Return the mass of the ends a record was clipped to, given the outcome `y`: what the density leaves out.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "normal(0, 1)", scale=1.0, clip=(-1, 1))
        >>> {v: round(p, 6) for v, p in m.posterior_atoms(0.0).items()}
        {-1.0: 0.103326, 1.0: 0.103326}
        """
        law = self.law
        if isinstance(law, FiniteLaw):
            return {}
        point = self.points(y)
        ratio = {v: law.log_given(point, np.array([v])) - law.log_outcome(point) for v, _ in self.secret.atoms}
        return {v: p * math.exp(float(ratio[v][0])) for v, p in self.secret.atoms}

    @cached_property
    def pml_supremum(self) -> Supremum:
        """sup_y pml(y) in nats, with a bracket, and the outcome or limit that reaches it.

        Whether the bracket is proved is told by `certified`, and what it rests on by `method` and `reason`.

        Examples
        --------
        >>> found = NoiseMechanism("laplace", "bernoulli(0.3)", scale=1.0).pml_supremum
        >>> found.at, round(found.value, 6), found.certified
        (inf, 0.584265, True)
        """
        return supremum(self.law, "pml").moved(self.noise.loc)

    @cached_property
    def pmc_supremum(self) -> Supremum:
        """sup_y pmc(y) in nats, with a bracket, and the outcome or limit that reaches it; see `pml_supremum`.

        Examples
        --------
        >>> NoiseMechanism("gaussian", "bernoulli(0.3)", scale=1.0).pmc_supremum.value
        inf
        """
        return supremum(self.law, "pmc").moved(self.noise.loc)

    def supremum(self, side: Side) -> Supremum:
        """Return `pml_supremum` or `pmc_supremum`.

        Examples
        --------
        >>> NoiseMechanism("laplace", "rademacher()", scale=1.0).supremum("pml").certified
        True
        """
        return self.pml_supremum if side == "pml" else self.pmc_supremum

    @cached_property
    def ldp(self) -> Local:
        """sup over outcomes and pairs of records of the log likelihood ratio, in nats; +inf when there is none.

        Examples
        --------
        >>> NoiseMechanism("laplace", "uniform(-1, 1)", scale=2.0).ldp
        Local(epsilon=1.0, exact=True)
        """
        span = (self.secret.high - self.secret.low) / self.records
        if span == 0:
            return Local(0.0, True)
        loss = self.noise.shift_loss(span) if math.isfinite(span) else math.inf
        if not self.noise.of_family:
            return Local(loss, False)
        attained = self.noise.kind in ("laplace", "logistic", "discrete-laplace")
        return Local(loss, self.records == 1 or math.isinf(loss) or attained)

    def theorems(self) -> tuple[Verdict, Verdict]:
        """Return what Theorems 5 and 6 of Information Density Bounds for Privacy say of this mechanism.

        Examples
        --------
        >>> for verdict in NoiseMechanism("gaussian", "bernoulli(0.3)", scale=1.0).theorems():
        ...     print(verdict.pmc, verdict.pml, verdict.ldp, verdict.holds)
        False True inf True
        False True inf True
        """
        return verdicts(self.pmc_supremum, self.pml_supremum, self.ldp.epsilon, self.ldp.exact)

    def mean_pml(self, unit: Unit = "nats") -> outcomes.Estimate:
        """Return E pml(Y), in nats, with an estimate of the quadrature error; in [I(X; Y), sup pml].

        Examples
        --------
        >>> NoiseMechanism("discrete-laplace", "bernoulli(0.5)", scale=1.0).mean_pml().value.__round__(6)
        0.379885
        """
        return outcomes.mean(self, lambda y: leakage(self.law, "pml", y)).to(unit)

    def mutual_information(self, unit: Unit = "nats") -> outcomes.Estimate:
        """Return I(X; Y), about one record, with an estimate of the quadrature error.

        Examples
        --------
        >>> NoiseMechanism("gaussian", "normal(0, 1)", scale=1.0).mutual_information("bits").value.__round__(9)
        0.5
        """
        return outcomes.mutual_information(self).to(unit)

    def cdf(self, y: Any) -> Any:
        """Return P(Y <= y), in [0, 1]; shape of `y`; +-inf are allowed, NaN raises DivulgeError.

        Examples
        --------
        >>> NoiseMechanism("laplace", "rademacher()", scale=1.0).cdf(0.0)
        0.5
        """
        return outcomes.cdf(self, y)

    def tail(self, threshold: float, side: Side = "pml", unit: Unit = "nats") -> outcomes.Estimate:
        """Return P(pml(Y) > threshold) (or of pmc), the delta that goes with epsilon = threshold.

        In [0, 1]. For finitely many values and known noise the error is proved (`certified`), else an estimate. What
        leaks as much as `threshold`, as far as rounding tells, is not counted, and then nothing is certified. Raises
        DivulgeError where `threshold` is NaN.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=2.0)
        >>> round(m.tail(0.0).value, 9), m.tail(m.pml_supremum.value).value
        (1.0, 0.0)
        """
        return tails.tail(self, threshold * nats_per(unit), side)

    def quantile(self, p: float, side: Side = "pml", unit: Unit = "nats") -> outcomes.Estimate:
        """Return the smallest v with P(leakage(Y) <= v) >= p, with its error; proved or estimated as that of `tail`.

        Raises DivulgeError where `p` is not in [0, 1].

        Examples
        --------
        >>> NoiseMechanism("laplace", "rademacher()", scale=2.0).quantile(0.9).value.__round__(6)
        0.379885
        """
        return tails.quantile(self, p, side).to(unit)

    def curve(self, epsilons: Any, side: Side = "pml", unit: Unit = "nats") -> list[tuple[float, float]]:
        """Return [(epsilon, delta)]: leakage is at most epsilon except with probability delta under Y; see `tail`.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=2.0)
        >>> [(epsilon, round(delta, 6)) for epsilon, delta in m.curve([0.0, 0.3, 0.5])]
        [(0.0, 1.0), (0.3, 0.773485), (0.5, 0.0)]
        """
        return [(float(e), self.tail(float(e), side, unit).value) for e in np.atleast_1d(epsilons)]

    def binned(self, outcome_edges: Any, secret_edges: Any = None) -> Joint:
        """Return the finite joint of (bin of the secret, bin of the outcome); see `noise.answers.binning.binned`.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> m.binned([-1.0, 0.0, 1.0]).channel.shape  # two bins and what lies beyond on either side
        (2, 4)
        """
        from divulge.noise.answers.binning import binned

        return binned(self, outcome_edges, secret_edges)

    def sub_gaussian_tail(self, epsilon: float) -> float:
        """Return an upper bound on P(pmc(Y) > epsilon) for Gaussian noise on one bounded record.

        With |X - E X| <= B and a = |y - E X| B / s^2, pmc(y) <= a^2/2 + a + B^2/(2 s^2), and Y is sub-Gaussian with
        variance proxy s^2 + B^2; so the tail is at most 2 exp(-t^2 / 2(s^2 + B^2)) at the t where that bound reaches
        epsilon. `tail(epsilon, "pmc")` is the exact value beside it.

        Examples
        --------
        >>> m = NoiseMechanism("gaussian", "rademacher()", scale=1.0)
        >>> m.tail(5.0, "pmc").value < m.sub_gaussian_tail(5.0) < 1
        True
        """
        if not epsilon >= 0:
            raise DivulgeError.of("epsilon", "be at least 0", "it", str(epsilon))
        if self.noise.kind != "gaussian" or self.records != 1 or not self.secret.bounded:
            raise DivulgeError.of("mechanism", "add Gaussian noise to one bounded record", "it", repr(self))
        s, center = self.noise.parameters["scale"], mean(self.secret)
        b = max(self.secret.high - center, center - self.secret.low)
        inside = 1 + 2 * epsilon - (b / s) ** 2
        if not inside > 1:
            return 1.0
        t = (math.sqrt(inside) - 1) * s * s / b
        return min(1.0, 2 * math.exp(-t * t / (2 * (s * s + b * b))))

    def to_dict(self, at: Any = (), epsilons: Any = (), unit: Unit = "nats") -> dict[str, Any]:
        """Return the mechanism's leakage as plain data: noise, secret, pml, pmc, ldp, mean_pml, mutual_information.

        With outcomes `at` also "points"; with `epsilons` (in `unit`) also "tail", delta = P(pml > epsilon). Errors that
        are not `certified` are estimates.

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> round(m.to_dict(at=[0.0])["pml"]["value"], 6)  # log sup f(y | x) / f(y) = log 2 / (1 + e^-2)
        0.566219
        """
        nats = nats_per(unit)

        def side(found: Supremum) -> dict[str, Any]:
            numbers = {name: getattr(found, name) / nats for name in ("value", "lower", "upper")}
            return {
                **numbers,
                "at": found.at,
                "method": found.method,
                "reason": found.reason,
                "certified": found.certified,
            }

        out: dict[str, Any] = {
            "noise": {"kind": self.noise.kind, **self.noise.described},
            "secret": {
                "distribution": self.secret.description,
                "low": self.secret.low,
                "high": self.secret.high,
                "records": self.records,
            },
            "unit": unit,
            "pml": side(self.pml_supremum),
            "pmc": side(self.pmc_supremum),
            "ldp": self.ldp.epsilon / nats,
            "theorems": [
                {"theorem": v.theorem, "claim": v.claim, "holds": v.holds, "words": v.sentence(unit)}
                for v in self.theorems()
            ],
        }
        for name, found in (("mean_pml", self.mean_pml(unit)), ("mutual_information", self.mutual_information(unit))):
            out[name], out[f"{name}_error"], out[f"{name}_certified"] = found.value, found.error, found.certified
        if np.size(at):
            y = np.atleast_1d(np.asarray(at, dtype=np.float64))
            errors = (values(self.law, side, self.points(y)).off / nats for side in SIDES)
            columns = (y, self.pml(y, unit), self.pmc(y, unit), self.density(y), *errors)
            names = ("y", "pml", "pmc", "density", "pml_error", "pmc_error")
            out["points"] = [dict(zip(names, map(float, row), strict=True)) for row in zip(*columns, strict=True)]
        if np.size(epsilons):
            rows = [(float(e), self.tail(float(e), "pml", unit)) for e in np.atleast_1d(epsilons)]
            out["tail"] = [
                {"epsilon": e, "delta": delta.value, "error": delta.error, "certified": delta.certified}
                for e, delta in rows
            ]
        return out

    def plot(self, y: Any = None, ax: Any = None, unit: Unit = "nats") -> Any:
        """Draw pml(y) and pmc(y) over y with the outcome density under them, and return the axes (extra: plot).

        Examples
        --------
        >>> m = NoiseMechanism("laplace", "rademacher()", scale=1.0)
        >>> m.plot().get_xlabel()
        'outcome y'
        """
        from divulge.noise.picture import plot

        return plot(self, y, ax, unit)

    def _repr_html_(self) -> str:
        found = self.to_dict()
        rows = [(name, found[name]["value"]) for name in ("pml", "pmc")]
        rows += [(name, found[name]) for name in ("ldp", "mean_pml", "mutual_information")]
        table = html_table([name for name, _ in rows], ["nats"], np.array([[value] for _, value in rows]))
        return f"<p>{html.escape(repr(self))}</p>{table}"

    def __repr__(self) -> str:
        about = f", about one of {self.records} records" if self.records > 1 else ""
        arguments = ", ".join(f"{k}={v:g}" for k, v in self.noise.described.items())
        return f"NoiseMechanism({self.noise.kind}({arguments}) on {self.secret.description}{about})"
