"""The one way in: whatever has privacy losses becomes its ordered pairs."""

from typing import Any, Protocol, TypeAlias

from divulge.dp.knowledge import refused, weakest
from divulge.dp.loss.atoms import AtomicLoss
from divulge.dp.loss.pair import PrivacyLoss
from divulge.errors import DivulgeError
from divulge.model.accepted import ChannelLike
from divulge.model.channel import Channel
from divulge.model.convert import as_channel
from divulge.model.entries import whole_number
from divulge.model.neighbors import NeighborsLike, ordered_pairs


class HasLosses(Protocol):
    """A mechanism that knows its privacy losses."""

    def losses(self) -> tuple[PrivacyLoss, ...]:
        """Return the loss of each dominating pair."""
        ...


SubjectLike: TypeAlias = PrivacyLoss | tuple[PrivacyLoss, ...] | HasLosses | ChannelLike
"""What has privacy losses: a mechanism, the losses themselves, or a channel."""


Losses: TypeAlias = Channel | tuple[PrivacyLoss, ...]
"""What has privacy losses, as it is asked: a channel, of all pairs of its rows, or the losses of dominating pairs."""
ReleaseLike: TypeAlias = SubjectLike | tuple[SubjectLike, float]
"""A release, alone or with how often it is made."""


MOST_LOSSES = 1 << 26
"""Losses of pairs of rows that are kept, some three and a half gigabytes: 160,000 pairs of 400 outcomes took 3.3."""


def _allow(pairs: int, outcomes: int) -> None:
    """Refuse a channel whose losses would fill the memory."""
    if pairs * outcomes > MOST_LOSSES:
        raise DivulgeError.of(
            "subject", f"have at most {MOST_LOSSES:,} losses, one for each pair of neighbors and outcome",
            "their number", f"{pairs * outcomes:,}",
            "merge values, or take `dv.ldp`, which needs no pairs: n releases have at most n times as much.",
        )  # fmt: skip


def privacy_losses(subject: SubjectLike, neighbors: NeighborsLike = None) -> tuple[PrivacyLoss, ...]:
    """Return the privacy loss of every ordered pair that `subject` must make hard to tell apart.

    Parameters
    ----------
    subject : mechanism, PrivacyLoss, or Channel (or array_like of shape (N, M))
        A named mechanism gives its dominating pairs; a loss gives itself and its reverse; a channel gives the pairs of
        its rows that are neighbors.
    neighbors : None, boolean matrix (N, N), pairs of labels, graph, Metric, or function of two labels
        Of a metric those at distance 1 at most. For channels; all pairs when not given.

    Returns
    -------
    tuple of PrivacyLoss
        One for each ordered pair, named by `.pair`; in nats.

    Raises
    ------
    DivulgeError
        When `subject` has no privacy losses, or more than memory holds, and when `neighbors` is given for a mechanism
        or is no relation between secrets.

    References
    ----------
    Desfontaines, "Lowering the cost of anonymization", 2020, Definition 13.

    Examples
    --------
    >>> [loss.pair for loss in privacy_losses([["3/4", "1/4"], ["1/4", "3/4"]])]
    [(0, 1), (1, 0)]
    """
    subject = as_subject(subject)
    if isinstance(subject, Channel):
        rows, secrets = subject.matrix.toarray() if subject.sparse else subject.matrix, subject.secrets
        if neighbors is None:  # before all pairs are listed
            _allow(len(secrets) * (len(secrets) - 1), len(subject.outcomes))
        pairs = ordered_pairs(secrets, neighbors)
        _allow(len(pairs), len(subject.outcomes))
        return tuple(AtomicLoss.of_rows(rows[i], rows[j], (secrets[i], secrets[j])) for i, j in pairs.tolist())
    if neighbors is not None:
        raise DivulgeError.of("neighbors", "be given for a channel only", "it", "given for a mechanism")
    return subject


def as_subject(subject: Any) -> Losses:
    """Return the losses of a mechanism (or of one loss, both ways), or else the channel it converts to."""
    if isinstance(subject, PrivacyLoss):
        return subject, subject.reverse()
    if isinstance(subject, type):
        hint = f"write {subject.__name__}(...) with its parameters."
        raise DivulgeError.of("release", "be a mechanism or a channel", "it", f"the class {subject.__name__}", hint)
    if hasattr(subject, "losses"):
        return subject.losses()
    if isinstance(subject, tuple) and subject and all(isinstance(loss, PrivacyLoss) for loss in subject):
        return subject
    if isinstance(subject, (list, tuple)) and any(
        hasattr(one, "losses") for item in subject for one in (item if isinstance(item, (list, tuple)) else (item,))
    ):
        hint = "several go in one by one, each alone or with how often: compose(a, (b, 10))."
        raise DivulgeError.of("release", "be one mechanism", "it", f"a {type(subject).__name__} of mechanisms", hint)
    if hasattr(subject, "implies"):
        hint = "AdpRelease(epsilon, delta) and ZcdpRelease(rho) stand for a promise; pure epsilon has delta 0."
        raise DivulgeError.of("release", "be a mechanism, or a promise as a release", "it", "a guarantee", hint)
    return as_channel(subject)


def as_rows(subject: SubjectLike, argument: str = "channel") -> Channel:
    """Return the channel that a subject converts to; what only stands for one is refused by the table of questions."""
    if isinstance(subject, PrivacyLoss) or hasattr(subject, "losses"):
        raise refused("rows", weakest(loss.known for loss in privacy_losses(subject)), argument)
    return as_channel(subject)


def counted(release: Any) -> tuple[Any, int]:
    """Return a release and how often it is made: a pair (release, count) as it is, anything else once."""
    subject, count = release if isinstance(release, tuple) and len(release) == 2 else (release, 1)
    return subject, whole_number(count, "count")
