"""What named mechanisms and promises say in closed form: balls, in which claims about them are decided at equality.

The rest of what is asked of them is computed in doubles, and a claim must be kept by more than these may be off.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from divulge import exact
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.closed import GaussianLoss, LaplaceLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.loss.promised import PromisedLoss, RenyiCurve
from divulge.guarantees.deciding.levels import Ball
from divulge.guarantees.deciding.pairs import largest_of
from divulge.guarantees.formulas import loss as formulas


def stated(losses: Sequence[PrivacyLoss], question: str, *arguments: Any) -> Ball | None:
    """Return the largest answer of the losses to a question in a ball; None where one has no closed form for it."""
    balls = [_of(loss, question, arguments) for loss in losses]
    if None in balls:
        return None
    return lambda: largest_of(ball() for ball in balls if ball is not None)


def _of(loss: PrivacyLoss, question: str, arguments: tuple[Any, ...]) -> Ball | None:
    for kind, table in _TABLES:
        if isinstance(loss, kind) and question in table:
            return table[question](loss, *arguments)
    return None


def _rational(value: Fraction) -> Ball:
    return lambda: exact.arb(value)


def _closed(ball: Callable[..., Any]) -> Callable[..., Ball | None]:
    """Return the closed form that a function of mu, or of the largest loss, gives of it as a ball."""

    def form(loss: GaussianLoss | LaplaceLoss, *arguments: Any) -> Ball | None:
        stated = loss.stated
        return None if stated is None else lambda: ball(exact.arb(stated), *arguments)

    return form


def _line_of_gaussian(mu: Any, xi: Fraction, up_to: Any) -> Any:
    """Return sup of mu^2/2 - xi / alpha over 1 < alpha <= up_to, at least 0."""
    hardest = Fraction(1) if xi < 0 else up_to
    return formulas.positive(mu**2 / 2 - (0 if hardest == math.inf else exact.arb(xi) / exact.ball(hardest)))


def _tail_of_gaussian(mu: Any, delta: Fraction) -> Any:
    """Return the t with P(L > t) = Phi(mu/2 - t/mu) = delta, at least 0."""
    if not 0 < delta < 1:
        return exact.ball(math.inf) if delta == 0 else exact.arb(Fraction(0))
    quantile = exact.arb(Fraction(2)).sqrt() * exact.arb(2 * delta).erfcinv()
    return formulas.positive(mu**2 / 2 + mu * quantile)


_GAUSSIAN: dict[str, Callable[..., Ball | None]] = {
    "mean": _closed(lambda mu: mu**2 / 2),
    "renyi": _closed(lambda mu, alpha: exact.ball(alpha) * mu**2 / 2),
    "rho": _closed(_line_of_gaussian),
    "mu": _closed(lambda mu: mu),
    "tau": _closed(lambda mu: mu),
    "variation": _closed(lambda mu: (mu / exact.arb(Fraction(8)).sqrt()).erf()),
    "delta": _closed(lambda mu, delta: formulas.approximate_of_gaussian(mu, exact.arb(delta))),
    "tail": _closed(_tail_of_gaussian),
    "chi-squared": _closed(lambda mu: (mu**2).expm1()),
    "hellinger": _closed(lambda mu: -2 * (-(mu**2) / 8).expm1()),
    "kl": _closed(lambda mu: mu**2 / 2),
}


def _renyi_of_laplace(top: Any, alpha: Any) -> Any:
    """Return log((a e^(h e) + h e^(-a e)) / (2 a - 1)) / h with h = a - 1."""
    if alpha == math.inf:
        return top
    if alpha == 1:
        return top - 1 + (-top).exp()
    a = exact.ball(alpha)
    h = a - 1
    grown = a * (h * top).exp() + h * (-a * top).exp()
    return (grown / (2 * a - 1)).log() / h


def _delta_of_laplace(top: Any, delta: Fraction) -> Any:
    """Return the e with 1 - e^((e - top)/2) = delta, at least 0."""
    return exact.arb(Fraction(0)) if delta == 1 else formulas.positive(top + 2 * (-exact.arb(delta)).log1p())


def _tail_of_laplace(top: Any, delta: Fraction) -> Any:
    """Return the least t >= 0 with 1 - e^((t - top)/2) / 2 <= delta; the top, an atom, below 1/2."""
    if delta < Fraction(1, 2):
        return top
    return exact.arb(Fraction(0)) if delta == 1 else formulas.positive(top + 2 * exact.arb(2 * (1 - delta)).log())


_LAPLACE: dict[str, Callable[..., Ball | None]] = {
    "mean": _closed(lambda top: top - 1 + (-top).exp()),
    "kl": _closed(lambda top: top - 1 + (-top).exp()),
    "renyi": _closed(_renyi_of_laplace),
    "variation": _closed(lambda top: -(-top / 2).expm1()),
    "delta": _closed(_delta_of_laplace),
    "tail": _closed(_tail_of_laplace),
    "chi-squared": _closed(lambda top: _renyi_of_laplace(top, 2).expm1()),
}


def _pure(loss: AtomicLoss, *_: Any) -> Ball | None:
    return None if loss.stated is None or loss.infinite else _rational(loss.stated)


def _delta_of_atoms(loss: AtomicLoss, delta: Fraction) -> Ball | None:
    """Return the stated epsilon at the delta that it is stated for: the mass of the infinite losses."""
    at = loss.stated is not None and delta == Fraction(loss.p_only)
    return _rational(loss.stated) if at and loss.stated is not None else None


def _tail_of_atoms(loss: AtomicLoss, delta: Fraction) -> Ball | None:
    """Return the stated epsilon at every delta below the probability of this loss."""
    return _pure(loss) if len(loss.p) and delta < Fraction(loss.p[-1]) * _SURELY else None


def _variation_of_atoms(loss: AtomicLoss) -> Ball | None:
    """Return 1 - 2 (1 - delta) / (1 + e^epsilon) of a pair with two finite losses, or none but 0."""
    if loss.stated is None or len(loss.losses) > 2:
        return None
    stated, left = loss.stated, 1 - Fraction(loss.p_only)
    return lambda: 1 - 2 * exact.arb(left) / (1 + exact.arb(stated).exp())


_SURELY = 1 - Fraction(1, 10**9)
"""Of a probability in a double no more than this is relied upon."""

_ATOMS: dict[str, Callable[..., Ball | None]] = {
    "delta": _delta_of_atoms,
    "tail": _tail_of_atoms,
    "variation": _variation_of_atoms,
    "renyi": lambda loss, alpha: _pure(loss) if alpha == math.inf else None,
}


def _promised_order(loss: PromisedLoss, alpha: Any) -> Ball | None:
    """Return the promise at an order that it names."""
    if not isinstance(loss.curve, RenyiCurve):
        return None
    named = [Fraction(e) for a, e in loss.curve.points if a < math.inf and e < math.inf and Fraction(a) == alpha]
    if 0 < loss.curve.rho < math.inf and alpha < math.inf:
        named.append(Fraction(loss.curve.rho) * Fraction(alpha))
    return _rational(min(named)) if named else None


def _promised_line(loss: PromisedLoss, xi: Fraction, up_to: Any) -> Ball | None:
    curve = loss.curve
    usable = xi == 0 and isinstance(curve, RenyiCurve) and curve.rho < math.inf and up_to > 1
    return _rational(Fraction(curve.rho)) if usable and isinstance(curve, RenyiCurve) else None


_PROMISED: dict[str, Callable[..., Ball | None]] = {"renyi": _promised_order, "rho": _promised_line}

_TABLES: tuple[tuple[type[PrivacyLoss], dict[str, Callable[..., Ball | None]]], ...] = (
    (GaussianLoss, _GAUSSIAN),
    (LaplaceLoss, _LAPLACE),
    (PromisedLoss, _PROMISED),
    (AtomicLoss, _ATOMS),
)
"""Kind of loss -> question -> the closed form of its answer."""
