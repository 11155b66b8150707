"""Priors, channels and joints: matched by label, immutable, comparable, picklable, and what can be made of them."""

import copy
import itertools
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from support import RUNNING_CHANNEL, RUNNING_PRIOR, few, joints, random_channel, random_joint, random_prior

import divulge as dv

RUNNING = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)
OBJECTS: list[Any] = [
    RUNNING_PRIOR,
    RUNNING_CHANNEL,
    RUNNING,
    random_joint(np.random.default_rng(1), 40, 60),
    random_joint(np.random.default_rng(2), 5, 4, exact=True, zeros=0.4),
    dv.Channel(sp.csr_array(random_channel(np.random.default_rng(3), 300, 200, zeros=0.9).matrix)),
    dv.Prior([0.1] * 10),
]
RESULTS: list[Any] = [
    dv.pml(RUNNING),
    dv.profile(RUNNING),
    dv.dp.trade_off(RUNNING_CHANNEL),
    dv.IntegerChannel.of(RUNNING_CHANNEL),
    dv.design(RUNNING_PRIOR, dv.PML(0.2)),
    dv.measures.capacity(RUNNING_CHANNEL),
    dv.PML(0.2).implies(dv.LDP, prior=RUNNING_PRIOR),
    dv.PML(0.2).holds_for(RUNNING),
]


@pytest.mark.parametrize("thing", OBJECTS + RESULTS, ids=lambda thing: type(thing).__name__)
def test_copies_and_pickles_are_equal(thing: Any) -> None:
    for twin in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
        assert twin == thing
        assert hash(twin) == hash(thing)
    assert thing != 3


@pytest.mark.parametrize("thing", OBJECTS, ids=lambda thing: type(thing).__name__)
def test_nothing_can_be_changed(thing: Any) -> None:
    for name in ("probabilities", "matrix", "secrets", "prior", "channel", "new"):
        with pytest.raises(AttributeError):
            setattr(thing, name, None)
    arrays = [
        getattr(thing, name, None) for name in ("probabilities", "matrix", "outer", "lift", "posteriors", "floats")
    ]
    for array in arrays:
        if isinstance(array, np.ndarray) and array.ndim:
            with pytest.raises(ValueError, match="read-only"):
                array[..., 0] = 1


def test_equality_is_of_labels_and_numbers() -> None:
    half = dv.Channel([["1/2", "1/2"]], ["a"])
    assert half == dv.Channel([[0.5, 0.5]], ["a"])
    assert half != dv.Channel([["1/2", "1/2"]], ["b"])
    assert half != dv.Channel([["1/4", "3/4"]], ["a"])
    assert half != dv.Channel([["1/2", "1/2"]], ["a"], ["x", "y"])
    assert half != dv.Channel([["1", "0"], ["0", "1"]])
    assert dv.Prior([0.5, 0.5]) != dv.Prior([0.5, 0.5], ["a", "b"])
    assert dv.Channel([["1/3", "2/3"]]) != dv.Channel([[1 / 3, 2 / 3]])
    dense = np.array([[0.5, 0.5], [0.0, 1.0]])
    assert dv.Channel(sp.csc_array(dense)) == dv.Channel(dense)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_prior_is_matched_by_label(order: tuple[int, ...]) -> None:
    letters = [RUNNING_PRIOR.secrets[i] for i in order]
    mixed = dv.Prior([RUNNING_PRIOR[letter] for letter in letters], letters)
    assert dv.Joint(mixed, RUNNING_CHANNEL) == RUNNING


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_numbers_are_labels_too(order: tuple[int, ...]) -> None:
    channel = dv.Channel([["1/2", "1/2"], ["1/4", "3/4"], ["1", "0"]])
    values = [Fraction(1, 10), Fraction(2, 10), Fraction(7, 10)]
    for key in (int, str):
        mixed = dv.Prior({key(i): values[i] for i in order})
        assert dv.Joint(mixed, channel).prior.probabilities.tolist() == values


def test_names_are_taken_from_whoever_has_them() -> None:
    named = dv.Joint(["1/4", "1/2", "1/4"], RUNNING_CHANNEL)
    assert named == RUNNING
    other = dv.Joint(RUNNING_PRIOR, dv.Channel(RUNNING_CHANNEL.matrix, outcomes=["b", "g"]))
    assert other == RUNNING
    assert dv.Joint([0.5, 0.5], [[0.5, 0.5], [1.0, 0.0]]).secrets == range(2)


@pytest.mark.parametrize("prior", [{"b": 0.5, "g": 0.5}, {"b": 0.5, "g": 0.25, "x": 0.25}, [0.5, 0.5], [0.25] * 4])
def test_letters_that_differ_are_refused(prior: Any) -> None:
    with pytest.raises(dv.LabelError):
        dv.Joint(prior, RUNNING_CHANNEL)


def test_the_running_example() -> None:
    assert RUNNING.outer.tolist() == [Fraction(11, 20), Fraction(9, 20)]
    assert RUNNING.posteriors[:, 0].tolist() == [Fraction(15, 44), Fraction(5, 22), Fraction(19, 44)]
    assert RUNNING.posterior("g").to_dict() == {"b": Fraction(5, 36), "g": Fraction(5, 6), "bg": Fraction(1, 36)}
    assert RUNNING.information_density[2, 0] == pytest.approx(np.log(19 / 11), rel=1e-15)


@settings(max_examples=few(40), deadline=None)
@given(joints())
def test_the_parts_of_a_joint_fit_together(joint: dv.Joint) -> None:
    near = {"rtol": 1e-12, "atol": 1e-14}
    p, c, matrix = joint.prior.floats, joint.channel.floats, np.asarray(joint.matrix, dtype=float)
    assert np.allclose(matrix, p[:, None] * c, **near)
    assert np.allclose(joint.outer.astype(float), matrix.sum(axis=0), **near)
    seen = joint.occurring
    assert (seen == (matrix.sum(axis=0) > 0)).all()
    lift = joint.lift.astype(float)[:, seen]
    assert np.allclose(p @ lift, 1.0, rtol=1e-9)
    assert np.allclose(joint.posteriors.astype(float)[:, seen].sum(axis=0), 1.0, rtol=1e-9)
    assert np.isnan(joint.lift.astype(float)[:, ~seen]).all()
    with np.errstate(divide="ignore"):
        assert np.allclose(joint.information_density[:, seen], np.log(lift), **near)
    again = dv.Joint.from_matrix(joint.matrix, joint.secrets, joint.outcomes)
    assert np.allclose(np.asarray(again.matrix, dtype=float), matrix, **near)
    assert again.exact == joint.exact
    if joint.exact:
        assert (again.matrix == joint.matrix).all()


def test_a_secret_that_never_occurs_gets_the_outer_distribution() -> None:
    joint = dv.Joint.from_counts([[1, 3], [0, 0]])
    assert joint.channel.row(1).tolist() == [Fraction(1, 4), Fraction(3, 4)]


def test_an_outcome_never_seen_has_no_posterior() -> None:
    joint = dv.Joint([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]])
    with pytest.raises(dv.DivulgeError, match="never seen"):
        joint.posterior(1)
    with pytest.raises(dv.LabelError):
        joint.posterior("nonsense")


@pytest.mark.parametrize("exact", [True, False])
def test_post_and_pre_processing_are_matrix_products(exact: bool) -> None:
    rng = np.random.default_rng(7)
    first, second, third = (random_channel(rng, *shape, exact=exact) for shape in ((3, 4), (4, 5), (5, 2)))
    named = dv.Channel(second.matrix, ["a", "b", "c", "d"], list("vwxyz"))
    chain = dv.Channel(first.matrix, ["p", "q", "r"], ["a", "b", "c", "d"]).then(named)
    expected = first.floats @ second.floats
    assert np.allclose(chain.floats, expected, rtol=1e-14)
    assert (chain.exact, chain.secrets, chain.outcomes) == (exact, ("p", "q", "r"), tuple("vwxyz"))
    for product in (first @ second, first.matrix @ second, first.matrix.tolist() @ second, first @ second.matrix):
        assert isinstance(product, dv.Channel)
        assert np.allclose(product.floats, expected, rtol=1e-14)
    left, right = (first @ second) @ third, first @ (second @ third)
    assert (left == right) if exact else np.allclose(left.matrix, right.matrix, rtol=1e-13)


def test_processing_is_matched_by_label() -> None:
    post = dv.Channel([["1", "0"], ["0", "1"]], ["g", "b"], ["G", "B"])
    assert RUNNING_CHANNEL.then(post).column("B").tolist() == RUNNING_CHANNEL.column("b").tolist()
    with pytest.raises(dv.LabelError):
        RUNNING_CHANNEL.then(dv.Channel([["1"], ["1"]], ["x", "y"]))
    with pytest.raises(dv.LabelError):
        RUNNING_CHANNEL.then([[1.0]])


def test_exact_and_float_make_float() -> None:
    assert not (RUNNING_CHANNEL @ np.eye(2)).exact
    assert not dv.Joint([0.25, 0.5, 0.25], RUNNING_CHANNEL).exact


@pytest.mark.parametrize("exact", [True, False])
def test_releases_alongside_and_products(exact: bool) -> None:
    rng = np.random.default_rng(8)
    first, second = random_channel(rng, 3, 2, exact=exact), random_channel(rng, 3, 4, exact=exact)
    both = dv.Channel(first.matrix, ["p", "q", "r"], ["a", "b"]).alongside(second)
    for x, (y, z) in itertools.product(range(3), itertools.product(range(2), range(4))):
        entry = both.matrix[x, both.outcomes.index((("a", "b")[y], z))]
        assert entry == pytest.approx(first.matrix[x, y] * second.matrix[x, z], rel=1e-15)
    assert both.secrets == ("p", "q", "r")
    apart = first.product(second)
    assert np.allclose(apart.floats, np.kron(first.floats, second.floats), rtol=1e-14)
    assert (apart.secrets[1], apart.outcomes[5]) == ((0, 1), (1, 1))
    assert apart.exact == exact


def test_alongside_is_matched_by_label() -> None:
    turned = dv.Channel(RUNNING_CHANNEL.matrix[::-1], RUNNING_CHANNEL.secrets[::-1], RUNNING_CHANNEL.outcomes)
    assert RUNNING_CHANNEL.alongside(turned) == RUNNING_CHANNEL.alongside(RUNNING_CHANNEL)


def test_sparse_and_dense_agree() -> None:
    rng = np.random.default_rng(9)
    matrix = random_channel(rng, 30, 20, zeros=0.8).matrix
    prior = random_prior(rng, 30, zeros=0.2)
    sparse, dense = dv.Joint(prior, sp.csr_array(matrix)), dv.Joint(prior, matrix)
    assert sparse.channel.sparse
    for name in ("outer", "lift", "posteriors", "information_density"):
        assert np.allclose(getattr(sparse, name), getattr(dense, name), rtol=1e-14, equal_nan=True)
    assert np.allclose(sparse.matrix.toarray(), dense.matrix, rtol=1e-15)
    assert np.allclose(sparse.channel.row(3), dense.channel.row(3), rtol=1e-15)
    assert np.allclose(sparse.channel.column(3), dense.channel.column(3), rtol=1e-15)
    post = random_channel(rng, 20, 4, zeros=0.5).matrix
    both = sparse.channel.then(sp.csc_array(post))
    assert both.sparse
    assert np.allclose(both.matrix.toarray(), matrix @ post, rtol=1e-13)
    assert np.allclose(np.asarray(sparse.channel.alongside(matrix)), np.asarray(dense.channel.alongside(matrix)))


def test_a_large_sparse_joint_fits() -> None:
    rng = np.random.default_rng(10)
    n = 20_000
    rows, columns = np.repeat(np.arange(n), 10), rng.integers(0, n, 10 * n)
    joint = dv.Joint(dv.Prior(np.full(n, 1 / n)), sp.coo_array((np.full(10 * n, 0.1), (rows, columns)), shape=(n, n)))
    assert joint.outer.sum() == pytest.approx(1.0, rel=1e-12)


def test_tables_are_printed_small_and_escaped() -> None:
    assert repr(RUNNING_CHANNEL).splitlines()[0] == "exact Channel, 3 secrets x 2 outcomes"
    large = dv.Channel(np.full((500, 500), 1 / 500))
    assert len(repr(large).splitlines()) < 20
    assert "..." in repr(large)
    assert "&lt;b&gt;" in dv.Channel([["1"]], ["<b>"])._repr_html_()
    assert "<b>" not in dv.Prior({"<b>": 1})._repr_html_()


def test_dictionaries_and_frames() -> None:
    assert RUNNING_CHANNEL.to_dict()["matrix"][0] == ["3/4", "1/4"]
    assert dv.Channel(RUNNING_CHANNEL.to_frame()) == RUNNING_CHANNEL
    assert dv.Joint.from_matrix(RUNNING.to_frame()) == RUNNING
    both = RUNNING_CHANNEL.alongside(RUNNING_CHANNEL)
    assert dv.Channel(both.to_frame()) == both
    assert dict(zip(RUNNING_PRIOR.secrets, RUNNING_PRIOR, strict=True)) == RUNNING_PRIOR.to_dict()


def test_a_missing_letter_is_named_with_the_ones_there_are() -> None:
    with pytest.raises(dv.LabelError, match=r"'x'.*'b', 'g', 'bg'"):
        RUNNING_PRIOR["x"]
    with pytest.raises(dv.LabelError, match=r"'x'.*'b', 'g'"):
        RUNNING_CHANNEL.column("x")


def test_p_min_is_over_the_support() -> None:
    prior = dv.Prior(["0", "1/4", "3/4"])
    assert (prior.p_min, prior.p_max, prior.support.tolist()) == (Fraction(1, 4), Fraction(3, 4), [False, True, True])


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_arrays_of_results_cannot_be_changed_not_even_in_copies(result: Any) -> None:
    for twin in (result, copy.deepcopy(result), pickle.loads(pickle.dumps(result))):
        assert not any(value.flags.writeable for value in vars(twin).values() if isinstance(value, np.ndarray))


def test_results_that_differ_are_unequal() -> None:
    assert dv.pml(RUNNING) != dv.pmc(RUNNING)
    assert dv.pml(RUNNING) != dv.pml(RUNNING, unit="bits")
    assert dv.design(RUNNING_PRIOR, dv.PML(0.2)) != dv.design(RUNNING_PRIOR, dv.PML(0.1))


def test_a_derivation_survives_pickling() -> None:
    implied = dv.PML(0.05).implies(dv.LDP, prior=RUNNING_PRIOR)
    assert [str(step) for step in pickle.loads(pickle.dumps(implied)).derivation] == [
        str(step) for step in implied.derivation
    ]


def test_tables_go_out_to_pandas_polars_latex_and_html() -> None:
    import pandas as pd

    channel = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a_1", "50 %"], ["x", "y"])
    joint = dv.Joint(["1/2", "1/2"], channel)
    assert pd.DataFrame(channel).to_numpy().tolist() == channel.matrix.tolist()
    polars = channel.to_frame("polars")
    assert polars.columns == ["secret", "x", "y"]
    assert polars["x"].to_list() == [0.75, 0.25]
    assert joint.to_frame("polars")["x"].to_list() == [0.375, 0.125]
    assert dv.pml(joint).to_frame("polars").columns == ["outcome", "probability", "pml", "secret"]
    text = channel.to_latex()
    assert r"a\_1 & $\tfrac{3}{4}$ & $\tfrac{1}{4}$ \\" in text
    assert r"50 \% &" in text
    assert text.count(r"\\") == 3
    odd = ["[0, 5)", "*", "<5", ">=65", "a|b", "x--y", "it''s", "`a`", "\\end{tabular}", "^^M", "~$#{"]
    printed = [r"{[}0, 5)", "{*}", r"\textless{}5", r"\textgreater{}=65", r"a\textbar{}b", "x-{}-y", "it'{}'s",
               "{`}a{`}", r"\textbackslash{}end\{tabular\}", r"\textasciicircum{}\textasciicircum{}M",
               r"\textasciitilde{}\$\#\{"]  # fmt: skip
    lines = dv.Channel(np.eye(len(odd)), odd, odd).to_latex().splitlines()
    assert [line.partition(" & ")[0] for line in lines[4:-2]] == printed  # \\ takes [ and * behind it for its own
    assert lines[2] == " & " + " & ".join(printed) + r" \\"
    small = dv.Channel([[1e-7, 1 - 1e-7]]).to_latex()
    assert r"$1 \times 10^{-7}$" in small  # 1e-07 is printed as 1e - 07
    infinite = dv.pmc(dv.Joint(["1/2", "1/2"], [["1", "0"], ["0", "1"]])).to_latex()
    assert r"$\infty$" in infinite
    verdict = dv.PML("1/10").holds_for(joint)
    assert "does not hold" in verdict._repr_html_()
    named = dv.Joint(["1/2", "1/2"], dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["<b>", "c"], ["x", "y"]))
    page = dv.worst_gain(named, "x")._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_empty_and_blank_labels_are_told() -> None:
    channel = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["", " "], ["", "  "])
    joint = dv.Joint(["1/2", "1/2"], channel)
    assert repr(channel).splitlines()[1].split() == ["(empty)", "'", "'"]
    for shown in (channel.to_latex(), channel._repr_html_(), repr(dv.pml(joint))):
        assert "(empty)" in shown
    words = [dv.worst_gain(joint).words, repr(dv.LDP("1/2").holds_for(channel)), repr(dv.PML("1/9").holds_for(joint)),
             repr(dv.PMC("1/9").holds_for(joint)), dv.worst_function(joint).words]  # fmt: skip
    for said in words:
        assert "(empty)" in said or "' '" in said, said
