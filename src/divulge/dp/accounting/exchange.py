"""Privacy-loss distributions of dp-accounting, in and out (extra: accounting)."""

import math
from typing import Any

import numpy as np

from divulge.dp.accounting.summing.extent import QUIET, span
from divulge.dp.knowledge import Known
from divulge.dp.loss import grid
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.dp.subjects import SubjectLike, privacy_losses
from divulge.errors import DivulgeError
from divulge.extras import require

_LEAST = 1e-30
"""Mass under P that is cut off on either side (and counted as infinite loss above)."""

_ROUNDED = 1e-5
"""How far masses of dp-accounting may be from 1: a thousandfold composition multiplies what one rounding adds."""


def from_dp_accounting(distribution: Any) -> tuple[PrivacyLoss, PrivacyLoss]:
    """Return the losses of a `PrivacyLossDistribution` of dp-accounting: a record removed, and a record added.

    The distribution dominates its mechanism, so everything that follows is a bound from above. An optimistic one is
    refused.

    Parameters
    ----------
    distribution : dp_accounting.pld.PrivacyLossDistribution

    Returns
    -------
    pair of PrivacyLoss
        In nats. Epsilons and deltas are those of the distribution.

    Raises
    ------
    DivulgeError
        The masses are no pair of distributions: they do not sum to 1, or those under Q to more than 1; or it is
        optimistic.

    References
    ----------
    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the Dots", arXiv:2207.04380.

    Examples
    --------
    >>> removed, added = from_dp_accounting(to_dp_accounting(dv.dp.LaplaceMechanism(1.0), step=1e-3))
    >>> round(removed.delta(0.5), 4)  # 1 - e^(-1/4)
    0.2212
    """
    forms = (getattr(distribution, name, None) for name in ("_pmf_remove", "_pmf_add"))
    removed, added = (_atoms(form) for form in forms)
    return removed, added


def _atoms(form: Any) -> AtomicLoss:
    if form is None or not hasattr(form, "to_dense_pmf"):
        raise DivulgeError.of("distribution", "be a PrivacyLossDistribution of dp-accounting", "it", "something else")
    dense = form.to_dense_pmf()
    if not getattr(dense, "_pessimistic_estimate", True):
        hint = "build it with pessimistic_estimate=True."
        raise DivulgeError.of("distribution", "be a pessimistic one", "it", "optimistic: it bounds nothing above", hint)
    p = np.asarray(dense._probs, dtype=np.float64)
    losses = dense._discretization * (dense._lower_loss + np.arange(len(p)))
    infinite = float(dense._infinity_mass)
    whole = math.fsum(p.tolist()) + infinite
    if not (bool((p >= -1e-12).all()) and abs(whole - 1.0) <= _ROUNDED):
        raise DivulgeError.of("distribution", "have masses of at least 0 that sum to 1", "it", f"of sum {whole:.9g}")
    p = np.maximum(p, 0.0)
    p = _summing_to(1.0 - infinite, p * max(1.0, (1.0 - infinite) / math.fsum(p.tolist())))
    kept = p > 0
    q = p[kept] * np.exp(-losses[kept])
    total = math.fsum(q.tolist())
    if not total <= 1.0 + _ROUNDED:
        raise DivulgeError.of("distribution", "have a mass under Q of at most 1", "it", f"{total:.12g}")
    known: dict[str, Any] = {"known": Known.DOMINATING, "below": False}
    return AtomicLoss(losses[kept], p[kept], q / max(total, 1.0), infinite, max(0.0, 1.0 - total), **known)


def to_dp_accounting(subject: SubjectLike, step: float = 1e-4) -> Any:
    """Return a pessimistic `PrivacyLossDistribution` of dp-accounting for a mechanism or loss, on a grid of `step`.

    Its delta is nowhere below that of the mechanism, but for epsilons below nearly all losses.

    Parameters
    ----------
    subject : mechanism, PrivacyLoss, or Channel of shape (N, M)
    step : float > 0
        Width of the grid of losses, in nats.

    Returns
    -------
    dp_accounting.pld.PrivacyLossDistribution
        Needs dp-accounting (extra: accounting).

    Raises
    ------
    DivulgeError
        When `subject` is no mechanism or loss with one pair of neighbors, or `step` is not positive.

    References
    ----------
    Doroshenko, Ghazi, Kamath, Kumar, Manurangsi, "Connect the Dots", arXiv:2207.04380.

    Examples
    --------
    >>> to_dp_accounting(dv.dp.LaplaceMechanism(1.0)).get_delta_for_epsilon(0.5).item().__round__(4)
    0.2212
    """
    library = require("dp_accounting.pld.privacy_loss_distribution", "accounting")
    forms = require("dp_accounting.pld.pld_pmf", "accounting")
    if not 0 < step < math.inf:
        raise DivulgeError.of("step", "be positive and finite", "it", str(step))
    losses = privacy_losses(subject)
    if len(losses) > 2:
        raise DivulgeError.of("subject", "have at most two ordered pairs", "it", f"one with {len(losses)}")
    built: list[Any] = []
    for loss in losses:
        first, last = span(loss, step, lambda at: np.full(np.shape(at), math.exp(-QUIET)), math.log(_LEAST))
        atoms = grid.above(loss, step, first, last)
        masses = _summing_to(1.0 - atoms.infinite, atoms.masses)
        built.append(forms.DensePLDPmf(step, atoms.first, masses, atoms.infinite, True))
    return library.PrivacyLossDistribution(built[0], built[-1])


def _summing_to(total: float, masses: np.ndarray) -> np.ndarray:
    """Return masses that sum to `total`: what is too much is taken from the lowest losses."""
    excess = math.fsum(masses.tolist()) - total
    below = np.cumsum(masses)
    kept = np.minimum(masses, np.maximum(below - excess, 0.0))
    kept[0] += max(-excess, 0.0)
    return kept
