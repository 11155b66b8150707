"""The one way in: what is accepted, when it is exact, and how the rest is refused."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import divulge as dv
from divulge.model.entries import open_share, whole_number

HALF = Fraction(1, 2)


def kind_of(value: Any) -> str:
    """Name a case by its type: unlike its text, that is the same in every process."""
    return type(value).__name__


@pytest.mark.parametrize(
    "entry", [HALF, "1/2", "0.5", "5e-1", " 1/2 ", b"1/2", Decimal("0.5")], ids=lambda entry: type(entry).__name__
)
def test_one_exact_entry_makes_all_exact(entry: Any) -> None:
    channel = dv.Channel([[entry, 0.5], [0.25, 0.75]])
    assert channel.exact
    assert channel.matrix.tolist() == [[HALF, HALF], [Fraction(1, 4), Fraction(3, 4)]]


def test_whole_numbers_are_exact_and_floats_are_not() -> None:
    assert dv.Channel([[1, 0], [0, 1]]).exact
    assert dv.Channel(np.eye(2, dtype=int)).exact
    assert not dv.Channel(np.eye(2)).exact
    assert not dv.Channel([[1.0, 0.0]]).exact
    assert not dv.Channel(np.eye(2, dtype=np.float32)).exact


def test_absent_pairs_of_a_mapping_leave_floats_floats() -> None:
    assert not dv.Channel({"a": {"x": 1.0}, "b": {"x": 0.5, "y": 0.5}}).exact
    assert dv.Channel({"a": {"x": 1}, "b": {"x": HALF, "y": HALF}}).exact
    assert not dv.Joint.from_counts({("a", "x"): 1.0, ("b", "y"): 3.0}).exact
    assert dv.Joint.from_counts({("a", "x"): 1, ("b", "y"): 3}).exact


def test_minus_zero_becomes_zero() -> None:
    for matrix in ([[-0.0, 1.0], [0.5, 0.5]], np.array([[-0.0, 1.0], [0.5, 0.5]])):
        channel = dv.Channel(matrix)
        assert math.copysign(1.0, channel.matrix[0, 0]) == 1.0
        assert dv.ldp(channel) == math.inf
        assert dv.lift_capacity(channel) == math.inf


def test_rows_nearly_1_are_renormalized_and_others_refused() -> None:
    channel = dv.Channel([[0.5, 0.5 + 5e-10]])
    assert channel.matrix.sum() == pytest.approx(1.0, abs=1e-15)
    exact = dv.Channel([["0.3333333333", "0.3333333333", "0.3333333333"]])
    assert exact.matrix.tolist() == [[Fraction(1, 3)] * 3]
    with pytest.raises(dv.DivulgeError, match=r"row 'q' sums to 1\.000000002"):
        dv.Channel([[0.5, 0.5], [0.5, 0.500000002]], secrets=["p", "q"])


def test_entries_that_sum_to_1_stay_what_they_are() -> None:
    assert dv.Prior([0.1] * 10).probabilities.tolist() == [0.1] * 10


FRAMES: dict[str, Any] = {
    "pandas": pd.DataFrame([[0.5, 0.5], [0.25, 0.75]], index=["p", "q"], columns=["a", "b"]),
    "polars": pl.DataFrame({"x": ["p", "q"], "a": [0.5, 0.25], "b": [0.5, 0.75]}),
    "pyarrow": pa.table({"x": ["p", "q"], "a": [0.5, 0.25], "b": [0.5, 0.75]}),
    "mapping": {"p": {"a": 0.5, "b": 0.5}, "q": {"a": 0.25, "b": 0.75}},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_tables_bring_their_labels(kind: str) -> None:
    assert dv.Channel(FRAMES[kind]) == dv.Channel([[0.5, 0.5], [0.25, 0.75]], ["p", "q"], ["a", "b"])


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_of_counts(kind: str) -> None:
    counts = {
        "pandas": pd.DataFrame([[1, 1], [0, 2]], index=["p", "q"], columns=["a", "b"]),
        "polars": pl.DataFrame({"x": ["p", "q"], "a": [1, 0], "b": [1, 2]}),
        "pyarrow": pa.table({"x": ["p", "q"], "a": [1, 0], "b": [1, 2]}),
    }[kind]
    assert dv.Joint.from_counts(counts) == dv.Joint.from_counts({("p", "a"): 1, ("p", "b"): 1, ("q", "b"): 2})


def test_a_frame_nobody_named_has_numbered_letters() -> None:
    channel = dv.Channel(pd.DataFrame([[0.5, 0.5], [0.25, 0.75]]))
    assert dv.Joint(dv.Prior({"p": 0.5, "q": 0.5}), channel).secrets == ("p", "q")


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([0.25, 0.75], index=["p", "q"]),
        pl.DataFrame({"x": ["p", "q"], "n": [0.25, 0.75]}),
        pa.table({"x": ["p", "q"], "n": [0.25, 0.75]}),
        {"p": 0.25, "q": 0.75},
    ],
    ids=lambda values: type(values).__module__,
)
def test_priors_bring_their_labels(values: Any) -> None:
    assert dv.Prior(values).to_dict() == {"p": 0.25, "q": 0.75}


@pytest.mark.parametrize(
    "column",
    [
        ["no", "yes", "no"],
        np.array(["no", "yes", "no"]),
        pd.Series(["no", "yes", "no"], dtype="category"),
        pl.Series(["no", "yes", "no"]),
        pa.array(["no", "yes", "no"]),
        pa.chunked_array([["no"], ["yes", "no"]]).dictionary_encode(),
    ],
    ids=lambda column: type(column).__module__,
)
def test_columns_are_counted(column: Any) -> None:
    assert dv.Prior.from_column(column).to_dict() == {"no": Fraction(2, 3), "yes": Fraction(1, 3)}


@pytest.mark.parametrize("hole", [None, math.nan, pd.NA, pd.NaT, np.nan, Decimal("NaN")], ids=kind_of)
def test_a_hole_in_a_column_is_refused_with_its_row(hole: Any) -> None:
    with pytest.raises(dv.DivulgeError, match="row 1"):
        dv.Prior.from_column(["a", hole])


BAD_ENTRIES: list[Any] = [
    math.nan,
    math.inf,
    -math.inf,
    -0.5,
    True,
    np.True_,
    None,
    1j,
    "half",
    "1/0",
    "",
    "nan",
    "1e9999",
    [0.5],
    {},
    "9" * 500,
    object(),
    Decimal("NaN"),
    Decimal("Infinity"),
    np.float64("nan"),
    pd.NA,
    b"\xff",
    -HALF,
    "-1/2",
]


@pytest.mark.parametrize("entry", BAD_ENTRIES, ids=kind_of)
def test_a_bad_entry_is_refused_with_its_place(entry: Any) -> None:
    with pytest.raises(dv.DivulgeError, match=r"row 'q', column 'b'"):
        dv.Channel([[0.5, 0.5], [0.5, entry]], ["p", "q"], ["a", "b"])
    with pytest.raises(dv.DivulgeError, match="entry 1"):
        dv.Prior([0.5, entry])
    with pytest.raises(dv.DivulgeError, match="row 0, column 1"):
        dv.Joint.from_counts([[1, entry]])


BAD_MATRICES: list[Any] = [
    [],
    [[]],
    [[], []],
    0.5,
    None,
    "1/2",
    [0.5, 0.5],
    [[[1.0]]],
    [[0.5, 0.5], [1.0]],
    [[0.5], 0.5],
    [{"a": 1.0}],
    [{0.5, 0.25}],
    {0.5},
    np.ones((1, 1, 1)),
    np.array([[True, False]]),
    np.array([[1j]]),
    np.empty((0, 0)),
    np.array([["2020"]], dtype="M8[Y]"),
    {"a": 1.0},
    {},
    dv.Prior([1.0]),
    dv.Joint([1.0], [[1.0]]),
    pl.DataFrame(),
    pa.table({"x": ["p"]}),
    pd.DataFrame(),
    pd.DataFrame({"a": ["x"]}),
    sp.csr_array((0, 0)),
    sp.csr_array([[1j]]),
    sp.csr_array([[True, False]]),
    sp.csr_array([[0.5, 0.4]]),
    sp.csr_array([[-0.5, 1.5]]),
    sp.csr_array([[math.nan, 1]]),
    sp.coo_array(np.array([1.0])),
    np.ma.masked_array([[0.5, 0.5]], mask=[[True, False]]),
    lambda: None,
    iter([1.0]),
]


@pytest.mark.parametrize("matrix", BAD_MATRICES, ids=kind_of)
def test_a_bad_matrix_is_refused(matrix: Any) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.Channel(matrix)


BAD_LABELS: list[Any] = [
    ["a"],
    ["a", "b", "c"],
    ["a", "a"],
    "ab",
    b"ab",
    2,
    {"a", "b"},
    [["a"], ["b"]],
    ["a", math.nan],
    ["a", None],
    [{}, 1],
    [True, 1],
    range(3),
    np.array(["a", "a"]),
    ["a", pd.NA],
]


@pytest.mark.parametrize("labels", BAD_LABELS, ids=kind_of)
def test_bad_labels_are_refused(labels: Any) -> None:
    for make in (
        lambda: dv.Channel([[0.5, 0.5], [0.5, 0.5]], secrets=labels),
        lambda: dv.Channel([[0.5, 0.5], [0.5, 0.5]], outcomes=labels),
        lambda: dv.Prior([0.5, 0.5], labels),
        lambda: dv.Joint.from_matrix([[0.5, 0.0], [0.0, 0.5]], labels),
    ):
        with pytest.raises(dv.LabelError):
            make()


@pytest.mark.parametrize(
    "rows",
    [
        [[-0.0, 1.0], [0.5, 0.5]],
        [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]],
        [[0.5, 0.5 + 1e-10], [0.5, 0.5]],
        [[0.5, 0.5], [0.5, 0.6]],
        [[0.5, 0.5], [1.5, -0.5]],
        [[0.5, 0.5], [math.nan, 0.5]],
        [[0.5, 0.5], [math.inf, 0.5]],
        [[], []],
    ],
    ids=str,
)
def test_lists_of_doubles_are_read_as_arrays_are(rows: list[list[float]]) -> None:
    """Lists, of which few doubles are read at once, say the same as tuples, which are read one by one, and arrays."""

    def read(given: Any) -> Any:
        try:
            found = dv.Channel(given).matrix
        except dv.DivulgeError as refusal:
            return str(refusal)
        return found.tobytes(), found.flags.writeable

    assert read(rows) == read(tuple(map(tuple, rows))) == read(np.array(rows))


@pytest.mark.parametrize(
    "labels", [("a", "b"), iter("ab"), np.array(["a", "b"]), pd.Index(["a", "b"]), {"a": 1, "b": 2}], ids=kind_of
)
def test_labels_in_any_sequence(labels: Any) -> None:
    assert dv.Prior([0.5, 0.5], labels).secrets == ("a", "b")


@pytest.mark.parametrize("secrets", [0, -1, 2.5, "ab", None, [], {"a"}], ids=kind_of)
def test_a_uniform_prior_needs_secrets(secrets: Any) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.Prior.uniform(secrets)


@pytest.mark.parametrize("counts", [[], [0, 0], {}, {"a": -1}, {"a": 0}, None, 3, "abc"], ids=kind_of)
def test_counts_must_be_counts(counts: Any) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.Prior.from_counts(counts)


@pytest.mark.parametrize("column", [[], None, 3, "abc", [[1], [2]]], ids=kind_of)
def test_a_column_must_be_one(column: Any) -> None:
    with pytest.raises(dv.DivulgeError):
        dv.Prior.from_column(column)


def test_labels_twice_given_are_refused() -> None:
    for make in (
        lambda: dv.Prior({"a": 1.0}, ["a"]),
        lambda: dv.Prior.from_counts({"a": 1}, ["a"]),
        lambda: dv.Channel({"a": {"x": 1.0}}, ["a"]),
        lambda: dv.Joint.from_counts({("a", "x"): 1, ("b", "x"): 1}, secrets=["a"]),
        lambda: dv.Joint.from_counts({"a": 1}),
    ):
        with pytest.raises(dv.DivulgeError):
            make()


def test_the_caller_keeps_his_array() -> None:
    mine = np.array([[0.5, 0.5], [0.25, 0.75]])
    channel = dv.Channel(mine)
    mine[0] = [1.0, 0.0]
    assert channel.matrix[0].tolist() == [0.5, 0.5]


PAIR = ([0.25, 0.5, 0.25], [[0.75, 0.25], [0.25, 0.75], [0.95, 0.05]])


@pytest.mark.parametrize(
    "pair",
    [PAIR, (dv.Prior(PAIR[0]), PAIR[1]), (PAIR[0], dv.Channel(PAIR[1])), (np.array(PAIR[0]), np.array(PAIR[1])),
     ({0: 0.25, 1: 0.5, 2: 0.25}, pd.DataFrame(PAIR[1])), (PAIR[0], sp.csr_array(PAIR[1]))],
)  # fmt: skip
def test_a_prior_and_a_channel_in_any_form_are_a_joint(pair: tuple) -> None:
    assert dv.lift(pair) == pytest.approx(19 / 11)
    assert dv.profile(pair).lift == pytest.approx(19 / 11)
    assert dv.guarantees.Lift(1.7).holds_for(pair).measured == pytest.approx(19 / 11)
    assert dv.LDP(1).holds_for(pair).measured == pytest.approx(math.log(15))
    assert dv.guarantees.TV(1).holds_for(pair).measured == pytest.approx(0.7)


def test_two_rows_in_a_tuple_are_a_matrix() -> None:
    assert dv.mutual_information(((0.25, 0.25), (0.25, 0.25))) == 0.0
    assert dv.LDP(1).holds_for(((0.75, 0.25), (0.25, 0.75))).measured == pytest.approx(math.log(3))
    assert dv.ADP(1, 0.1).holds_for(((0.75, 0.25), (0.25, 0.75)))


@pytest.mark.parametrize("kind", ["dok", "lil", "coo", "csr"])
@pytest.mark.parametrize("form", ["matrix", "array"])
def test_every_sparse_form_is_a_matrix_of_numbers(kind: str, form: str) -> None:
    sparse = getattr(sp, f"{kind}_{form}")
    assert dv.Channel(sparse(np.array([[0.5, 0.5], [0.25, 0.75]]))).floats.toarray().tolist()[1] == [0.25, 0.75]
    assert dv.Joint.from_counts(sparse(np.array([[1, 2], [3, 4]]))) == dv.Joint.from_counts([[1, 2], [3, 4]])


def test_labels_of_a_labelled_array_are_kept() -> None:
    import xarray

    array = xarray.DataArray(
        [[0.5, 0.5], [0.25, 0.75]], coords={"secret": ["a", "b"], "outcome": [10, 20]}, dims=("secret", "outcome")
    )
    channel = dv.Channel(array)
    assert (channel.secrets, channel.outcomes) == (("a", "b"), (10, 20))
    assert dv.Joint.from_matrix(array / 2).secrets == ("a", "b")
    assert dv.Prior(array[1].rename("p")).secrets == (10, 20)
    assert dv.Channel(array.drop_vars("secret")).secrets == range(2)


@pytest.mark.parametrize("library", [pl.DataFrame, pa.table])
def test_a_first_column_of_numbers_is_none_of_labels(library: Any) -> None:
    """Such a table has no index: a first column of text is one, one of numbers like the others is none."""
    numbers = dv.Channel(library({"u": [0.5, 0.25], "v": [0.5, 0.75]}))
    assert (numbers.secrets, numbers.outcomes) == (range(2), ("u", "v"))
    assert dv.Joint.from_counts(library({"u": [1, 3], "v": [2, 4]})).channel.shape == (2, 2)
    assert dv.Channel(library({"s": ["a", "b"], "u": [0.5, 0.25], "v": [0.5, 0.75]})).secrets == ("a", "b")
    assert dv.Channel(library({"s": [3, 7], "u": [0.5, 0.25], "v": [0.5, 0.75]})).secrets == (3, 7)


def test_a_buffer_is_an_array_and_a_decimal_a_number() -> None:
    assert dv.Channel(memoryview(np.eye(2))) == dv.Channel(np.eye(2))
    with pytest.raises(dv.DivulgeError, match="2 axes"):
        dv.Channel(memoryview(b"ab"))
    assert dv.PML(Decimal("0.1")) == dv.PML("0.1")
    assert dv.PML(Decimal("inf")) == dv.PML(math.inf)
    with pytest.raises(dv.DivulgeError, match="be a number"):
        dv.PML(Decimal("nan"))


def test_texts_that_are_coded_are_read_as_they_are_written() -> None:
    """Each piece of a column has texts of its own, in an order of its own; what is cut off is not counted."""
    written = [["b", "a", "b"], ["", "c", "a"], [], ["a", "b", "c"]]
    pieces = [pa.array(one, pa.string()).dictionary_encode() for one in written]
    column = pa.chunked_array([*pieces[:-1], pieces[-1].slice(1)])
    expected = {"b": Fraction(3, 8), "a": Fraction(2, 8), "": Fraction(1, 8), "c": Fraction(2, 8)}
    assert dv.Prior.from_column(column).to_dict() == expected
    absent = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    for holes in (absent, pa.array(["a", None]).dictionary_encode()):
        with pytest.raises(dv.DivulgeError, match="row 1 is missing"):
            dv.Prior.from_column(holes)


@pytest.mark.parametrize("given", [3, 3.0, np.uint8(3), np.float32(3), Fraction(3)], ids=kind_of)
def test_a_whole_number_is_an_int_however_it_comes(given: Any) -> None:
    found = whole_number(given, "k", 3, 3)
    assert found == 3
    assert type(found) is int


@pytest.mark.parametrize(
    "given",
    [True, np.bool_(True), "3", None, 2.5, Fraction(5, 2), 2, 4, 3j, math.nan, math.inf, -(10**5000), 10**5000,
     Fraction(1, 10**5000), np.array([3, 3]), [3] * 1000],
    ids=lambda given: f"{kind_of(given)}",
)  # fmt: skip
def test_what_is_no_whole_number_of_a_range_is_refused_in_one_line(given: Any) -> None:
    with pytest.raises(dv.DivulgeError, match="`k` must be a whole number from 3 to 3; it is ") as refused:
        whole_number(given, "k", 3, 3)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize("given", [0, 1, True, -1, 2, 1 - 1e-17, math.inf], ids=repr)
def test_a_confidence_lies_between_0_and_1(given: Any) -> None:
    assert open_share("1/2", "confidence") == 0.5
    with pytest.raises(dv.DivulgeError, match="`confidence` must be between 0 and 1"):
        open_share(given, "confidence")
