"""How leakage grows with the number of releases: its mean after each of them."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from divulge.dp.releases.joint import LEAKAGES, MOST_DENSITIES, Releases, over_types, releases_of, sampled_leakage
from divulge.errors import DivulgeError
from divulge.model.accepted import ChannelLike, PriorLike
from divulge.model.record import Record
from divulge.model.shown import Table, Tabled

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False, repr=False)
class Growth(Tabled, Record):
    """Expected pml as the same release is made again and again, for every secret that may be the true one.

    Attributes
    ----------
    counts : how many releases, shape (K,)
    by_secret : E[pml | X = x] in nats, shape (K, N)
    limits : -log P_x, shape (N,); reached as counts grow when no two secrets have the same row
    exact : whether every type was listed, for each count, shape (K,)

    Examples
    --------
    >>> coin = leakage_growth(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]], [1, 1000])
    >>> coin.mean().round(6).tolist()  # log 3/2 after one release, log 2 in the end
    [0.405465, 0.693147]
    """

    counts: np.ndarray
    by_secret: np.ndarray
    limits: np.ndarray
    secrets: tuple[Hashable, ...]
    probabilities: np.ndarray
    exact: np.ndarray

    def _shown(self) -> tuple[str, Table]:
        return "E[pml | X = x] in nats after so many releases", (self.counts.tolist(), self.secrets, self.by_secret)

    def mean(self) -> np.ndarray:
        """Return E[pml] for every count, shape (K,); its limit is the entropy of the secret when all rows differ.

        Examples
        --------
        >>> dv.dp.leakage_growth(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]], [1, 10]).mean().round(6).tolist()
        [0.405465, 0.632051]
        """
        return self.by_secret @ self.probabilities

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw E[pml | X = x] over the number of releases, with -log P_x, and return the axes (extra: plot).

        Examples
        --------
        >>> dv.dp.leakage_growth(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]], [1, 10]).plot().get_xlabel()
        'releases about the same secret'
        """
        from divulge.dp.pictures import growth

        return growth(self, ax)


def leakage_growth(
    prior: PriorLike,
    channel: ChannelLike,
    counts: Sequence[int],
    *,
    rng: np.random.Generator | None = None,
    samples: int = 4000,
) -> Growth:
    """Return how the expected pml grows towards -log P_x as the same release is made again and again.

    Exact while all types can be listed, sampled beyond that (which needs `rng`).

    Parameters
    ----------
    prior : Prior or what converts to one, of N secrets
    channel : Channel, or array_like of shape (N, M)
    counts : K numbers of releases
    rng : numpy Generator, optional
        For counts with too many types to list.
    samples : int
        Draws for each such count.

    Returns
    -------
    Growth
        `by_secret` of shape (K, N), in nats; `limits` of shape (N,).

    Raises
    ------
    DivulgeError
        When a count is no whole number of at least 1, or one needs draws and there is no `rng`.

    Examples
    --------
    >>> found = leakage_growth(["1/4", "3/4"], [["3/4", "1/4"], ["1/4", "3/4"]], [1, 10, 400])
    >>> found.by_secret[-1].round(6).tolist(), found.limits.round(6).tolist()
    ([1.386294, 0.287682], [1.386294, 0.287682])
    """
    rows: list[np.ndarray] = []
    listed: list[bool] = []
    if not np.ndim(counts) == 1 or not len(counts):
        raise DivulgeError.of("counts", "be a list of at least one number of releases", "it", repr(counts))
    given = releases_of(prior, [channel])
    for release in [(channel, count) for count in counts]:
        repeated = releases_of(prior, [release])
        listed.append(repeated.number_of_types * len(repeated.prior) <= MOST_DENSITIES)
        rows.append(_listed_means(repeated) if listed[-1] else _drawn_means(prior, release, rng, samples, given))
    p = given.prior
    return Growth(np.asarray(counts), np.array(rows), -np.log(p), given.secrets, p, np.array(listed))


def _listed_means(releases: Releases) -> np.ndarray:
    likelihoods, ways, _ = over_types(releases)
    densities, _ = releases.densities(likelihoods)
    seen = np.flatnonzero(likelihoods.max(axis=1) > -math.inf)
    return np.exp(likelihoods[seen] + ways[seen, None]).T @ LEAKAGES["pml"](densities[seen])


def _drawn_means(
    prior: Any, release: tuple[Any, int], rng: np.random.Generator | None, samples: int, given: Releases
) -> np.ndarray:
    if rng is None:
        hint, where = "give rng=numpy.random.default_rng().", f"for {release[1]} releases it"
        raise DivulgeError.of("rng", "be given where types are too many to list", where, "None", hint)
    drawn = sampled_leakage(prior, release, rng=rng, samples=samples)
    often = np.bincount(drawn.truth, minlength=len(given.prior))
    with np.errstate(invalid="ignore"):
        return np.bincount(drawn.truth, drawn.values, minlength=len(given.prior)) / often
