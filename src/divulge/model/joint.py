"""A prior and a channel together: all that a Bayesian adversary works with."""

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from divulge import exact
from divulge.errors import DivulgeError
from divulge.late import Kept
from divulge.model.arraylike import Matrix, Number, Probabilities
from divulge.model.channel import Channel, is_sparse
from divulge.model.entries import FAINT, MOST_EXACTLY, TOLERANCE, entries, floats_of, frozen, positive, short_floats
from divulge.model.labels import Labels, alignment, is_default, position, same_letters
from divulge.model.prior import Prior
from divulge.model.shown import Table, Tabled, size_text
from divulge.model.tables import axis_labels, is_labelled_array, is_table, labelled_frame, labelled_matrix, polars_frame
from divulge.panels import weighted_sum

if TYPE_CHECKING:
    import pandas
    import polars


def _in_proportion(weights: np.ndarray) -> np.ndarray:
    """Return doubles at their exact values, divided by their exact sum."""
    given = exact.as_fractions(weights)
    return given / exact.total(given.tolist())


class Joint(Tabled):
    """The joint distribution of secret and outcome, P(x, y) = P_x C_xy.

    Prior and channel are matched by label; one that has no names takes those of the other. The joint is exact when
    both are, and where doubles would take the probability of an outcome that occurs for 0. Attributes: `prior`,
    `channel`, `secrets`, `outcomes`.

    Examples
    --------
    >>> joint = Joint(["1/4", "3/4"], [["1/2", "1/2"], ["0", "1"]])
    >>> joint.outer.tolist()
    [Fraction(1, 8), Fraction(7, 8)]
    >>> joint.lift.tolist()[0]
    [Fraction(4, 1), Fraction(4, 7)]
    """

    __slots__ = ("__dict__", "channel", "prior")

    prior: Prior
    channel: Channel

    def __init__(self, prior: Prior | Probabilities, channel: Channel | Matrix) -> None:
        channel = channel if isinstance(channel, Channel) else Channel(channel)
        prior = prior if isinstance(prior, Prior) else Prior(prior)
        if prior.secrets != channel.secrets:
            if is_default(channel.secrets) and not same_letters(channel.secrets, prior.secrets):
                alignment(channel.secrets, prior.secrets, "prior", "the channel")
                channel = Channel(channel.matrix, prior.secrets, channel.outcomes)
            prior = prior.aligned(channel.secrets)
        _set_prior(self, prior)
        _set_channel(self, channel)

    @classmethod
    def from_matrix(
        cls, p_xy: Matrix, secrets: Iterable[Hashable] | None = None, outcomes: Iterable[Hashable] | None = None
    ) -> "Joint":
        """Return the joint with the probabilities `p_xy`, shape (N, M), summing to 1 within 1e-9.

        A secret of probability 0 has no row of its own; it is given the distribution of the outcome.

        Examples
        --------
        >>> Joint.from_matrix([["3/8", "1/8"], ["1/8", "3/8"]]).c.tolist()[0]
        [Fraction(3, 4), Fraction(1, 4)]
        """
        if isinstance(p_xy, Joint):
            return p_xy
        return cls._from_weights(p_xy, secrets, outcomes, "p_xy", must_sum_to_one=True)

    @classmethod
    def from_counts(
        cls,
        table: Matrix | Mapping[Any, Number],
        secrets: Iterable[Hashable] | None = None,
        outcomes: Iterable[Hashable] | None = None,
    ) -> "Joint":
        """Return the empirical joint of a table of counts, shape (N, M).

        The table is an array, a data frame, or a mapping {(secret, outcome): count}. Exact for whole counts.

        Examples
        --------
        >>> Joint.from_counts([[1, 1], [0, 2]]).prior.probabilities.tolist()
        [Fraction(1, 2), Fraction(1, 2)]
        """
        if isinstance(table, Mapping) and not is_sparse(table):
            keys = list(table)
            if not all(isinstance(key, tuple) and len(key) == 2 for key in keys):
                raise DivulgeError.of("table", "have pairs (secret, outcome) as keys", "a key", "something else")
            secrets = list(dict.fromkeys(x for x, _ in keys)) if secrets is None else list(secrets)
            outcomes = list(dict.fromkeys(y for _, y in keys)) if outcomes is None else list(outcomes)
            for axis, known, i in (("secrets", set(secrets), 0), ("outcomes", set(outcomes), 1)):
                if not {key[i] for key in keys} <= known:
                    raise DivulgeError.of(axis, "name every letter of the table", "one", "missing")
            return cls._from_weights([[table.get((x, y), 0.0) for y in outcomes] for x in secrets],
                                     secrets, outcomes, "table", must_sum_to_one=False)  # fmt: skip
        return cls._from_weights(table, secrets, outcomes, "table", must_sum_to_one=False)

    @classmethod
    def _from_weights(
        cls, weights: Any, secrets: Any, outcomes: Any, argument: str, *, must_sum_to_one: bool
    ) -> "Joint":
        if is_table(weights) or (is_labelled_array(weights) and weights.ndim == 2):
            read = labelled_matrix(weights, argument) if is_table(weights) else (weights.values, *axis_labels(weights))
            weights, rows, columns = read
            secrets, outcomes = rows if secrets is None else secrets, columns if outcomes is None else outcomes
        weights = weights.toarray() if is_sparse(weights) else weights
        w = entries(weights, argument, 2, lambda index: f"the entry in row {index[0]}, column {index[1]}")
        if 0 in w.shape:
            raise DivulgeError.of(argument, "have at least one row and one column", "its shape", str(w.shape))
        total = sum(w.ravel().tolist()) if w.dtype == object else float(w.sum())
        if must_sum_to_one and not abs(total - 1) <= TOLERANCE:
            sums = np.abs(floats_of(w.sum(axis=1)) - 1)
            hint = short_floats(weights) or "for counts use Joint.from_counts."
            if (sums <= TOLERANCE).all():
                hint = "each row sums to 1, as in a channel: give a prior with it, as a pair (prior, channel)."
            raise DivulgeError(
                f"`{argument}` must have entries that sum to 1 (tolerance {TOLERANCE:g}); "
                f"their sum is {float(total):.12g}. Hint: {hint}"
            )
        if not total > 0:
            raise DivulgeError.of(argument, "have a positive sum", "it", str(total))
        rows_total, columns_total = w.sum(axis=1), w.sum(axis=0)
        matrix = np.empty_like(w)
        for i, row_total in enumerate(rows_total):
            matrix[i] = w[i] / row_total if row_total > 0 else columns_total / total
        return cls(Prior(rows_total / total, secrets), Channel(matrix, secrets, outcomes))

    @property
    def secrets(self) -> Labels:
        """The labels of the secret."""
        return self.channel.secrets

    @property
    def outcomes(self) -> Labels:
        """The labels of the outcome."""
        return self.channel.outcomes

    @Kept
    def exact(self) -> bool:
        """Whether all is computed in Fractions.

        It is where both prior and channel are exact, and where doubles would lose an outcome that occurs: they then
        stand for what they are in proportion to.
        """
        return self._given_exactly or self._loses_an_outcome

    @property
    def _given_exactly(self) -> bool:
        return self.prior.probabilities.dtype.hasobject and self.channel.matrix.dtype.hasobject

    @property
    def _loses_an_outcome(self) -> bool:
        """Whether an outcome that occurs is so unlikely that q_y has lost digits, or is 0."""
        q = self._outer_of_doubles
        if q.item(q.argmin()) >= FAINT:
            return False
        faint, width = np.flatnonzero(q < FAINT), max(1, MOST_EXACTLY // len(self.prior))
        parts = (self.channel.matrix[:, faint[i : i + width]][self.x] for i in range(0, len(faint), width))
        lost = any((part > 0).sum() for part in parts)
        if lost and len(self.x) * len(q) > MOST_EXACTLY:
            raise DivulgeError.of(
                "channel", "leave every outcome that occurs a probability above 1e-289, or be smaller",
                "that of one", "less", "put such outcomes together, or leave them out.",
            )  # fmt: skip
        return lost

    @Kept
    def p(self) -> np.ndarray:
        """The prior in the arithmetic of the joint: Fractions when it is exact, else float64; shape (N,)."""
        if not self.exact:
            return self.prior.floats
        return self.prior.probabilities if self.prior.exact else frozen(_in_proportion(self.prior.floats))

    @Kept
    def c(self) -> Any:
        """The channel matrix in the arithmetic of the joint, shape (N, M); sparse stays sparse."""
        floats = self.channel.floats
        if not self.exact or self.channel.exact:
            return self.channel.matrix if self.exact else floats
        dense = floats.toarray() if is_sparse(floats) else floats
        return frozen(np.array([_in_proportion(row) for row in dense]))

    @cached_property
    def matrix(self) -> Any:
        """P(x, y), shape (N, M), formed when it is first asked for."""
        if is_sparse(self.c):
            return self.c.multiply(self.p[:, None]).tocsc()
        return frozen(self.p[:, None] * self.c)

    @Kept
    def outer(self) -> np.ndarray:
        """The distribution of the outcome, q_y = sum_x P_x C_xy, shape (M,)."""
        return frozen(exact.product(self.p, self.c)) if self.exact else self._outer_of_doubles

    @Kept
    def _outer_of_doubles(self) -> np.ndarray:
        p, c = self.prior.floats, self.channel.floats
        return frozen(weighted_sum(c, p) if type(c) is np.ndarray else np.asarray(p @ c).ravel())

    @Kept
    def occurring(self) -> np.ndarray:
        """Which outcomes have q_y > 0, boolean of shape (M,). The others take no part in prior-dependent quantities."""
        return frozen(self.outer > 0)

    @Kept
    def x(self) -> np.ndarray:
        """The positions of the secrets with P_x > 0, rising."""
        return positive(self.prior.probabilities)

    @Kept
    def y(self) -> np.ndarray:
        """The positions of the outcomes with q_y > 0, rising."""
        return positive(self.outer)

    @cached_property
    def lift(self) -> np.ndarray:
        """L_xy = C_xy / q_y, shape (N, M); NaN in the column of an outcome that never occurs."""
        c = self.c.toarray() if is_sparse(self.c) else self.c
        out = np.full(c.shape, np.nan, dtype=c.dtype)
        seen = self.occurring
        out[:, seen] = c[:, seen] / self.outer[seen]
        return frozen(out)

    @cached_property
    def posteriors(self) -> np.ndarray:
        """P(x | y) = P_x L_xy, shape (N, M): column y is the posterior given y; NaN where y never occurs."""
        return frozen(self.p[:, None] * self.lift)

    @cached_property
    def information_density(self) -> np.ndarray:
        """i(x; y) = log L_xy in nats, float64 of shape (N, M); -inf where C_xy = 0, NaN where y never occurs.

        Of floats it is known to about 1e-15, absolutely; the leakages `pml` and `pmc` to as many digits of their own.
        """
        if self.exact:
            logs = [v if v != v else exact.log(v) for v in self.lift.ravel().tolist()]
            return frozen(np.array(logs, dtype=np.float64).reshape(self.lift.shape))
        c, likeliest = self.c.toarray() if is_sparse(self.c) else self.c, int(np.argmax(self.p))
        others = self.p.copy()
        others[likeliest] = 0.0
        offsets = c - c[likeliest]
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = (offsets - others @ offsets) / self.outer
            return frozen(np.where(np.abs(excess) < 0.5, np.log1p(excess), np.log(self.lift)))

    def posterior(self, outcome: Hashable) -> Prior:
        """Return the adversary's knowledge after seeing `outcome`, as a Prior.

        Examples
        --------
        >>> joint = Joint({"sick": "1/4", "well": "3/4"}, [["3/4", "1/4"], ["1/4", "3/4"]])
        >>> joint.posterior(0).to_dict()
        {'sick': Fraction(1, 2), 'well': Fraction(1, 2)}
        """
        j = position(self.outcomes, outcome, "outcome")
        if not self.outer[j] > 0:
            raise DivulgeError.of(
                "outcome", "occur with positive probability", repr(outcome), "never seen under this prior"
            )
        column = self.c[:, j] if self.exact else exact.as_floats(self.channel.column(outcome))
        return Prior(self.p * column / self.outer[j], self.secrets)

    @overload
    def to_frame(self, library: Literal["pandas"] = "pandas") -> "pandas.DataFrame": ...

    @overload
    def to_frame(self, library: Literal["polars"]) -> "polars.DataFrame": ...

    def to_frame(self, library: Literal["pandas", "polars"] = "pandas") -> "pandas.DataFrame | polars.DataFrame":
        """Return P(x, y) as a pandas DataFrame: index = secrets, columns = outcomes.

        In polars the secrets are the first column, labels are text, and fractions become floats.

        Examples
        --------
        >>> Joint({"sick": "1/4", "well": "3/4"}, [["3/4", "1/4"], ["1/4", "3/4"]]).to_frame().loc["sick", 0]
        Fraction(3, 16)
        """
        m = self.matrix.toarray() if is_sparse(self.matrix) else self.matrix
        if library == "polars":
            return polars_frame("secret", self.secrets, dict(zip(self.outcomes, m.T, strict=True)))
        return labelled_frame(m, self.secrets, self.outcomes)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("a Joint is immutable")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Joint):
            return NotImplemented
        return self.prior == other.prior and self.channel == other.channel

    def __hash__(self) -> int:
        return hash((self.prior, self.channel))

    def __reduce__(self) -> tuple[Any, ...]:
        return (Joint, (self.prior, self.channel))

    def _shown(self) -> tuple[str, Table]:
        head = f"{'exact ' if self.exact else ''}Joint, {size_text(len(self.secrets), len(self.outcomes))}"
        return head, (self.secrets, self.outcomes, self.matrix)


# A Joint is immutable to all others; its own slots are set without a search for the attribute.
_set_prior: Any = vars(Joint)["prior"].__set__
_set_channel: Any = vars(Joint)["channel"].__set__
