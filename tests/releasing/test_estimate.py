"""Frequencies from released columns: unbiased, covered, refused where nothing can be said."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from support import NEVER, THOROUGH, few, random_channel

import divulge as dv
from divulge.measures.numeric.inverses import inverse_of
from divulge.model.labels import text_of
from divulge.releasing.estimating.estimate import METHODS, estimate_frequencies, rank, right_inverse


def released(rng: np.random.Generator, channel: dv.Channel, values: np.ndarray) -> pa.Table:
    outcomes = np.array(channel.outcomes)
    draws = [rng.choice(outcomes, p=channel.floats[v]) for v in values]
    return pa.table({"y": draws, "sex": np.where(np.arange(len(values)) % 2, "f", "m")})


@pytest.mark.parametrize("seed", range(few(40)))
def test_ranks_are_those_of_the_singular_values(seed: int) -> None:
    """By the inverse or by singular values, remembered or not; powers of two, as of weights, change nothing."""
    rng = np.random.default_rng(seed)
    n, m, most = (int(rng.integers(1, 12)) for _ in range(3))
    matrix = rng.dirichlet(np.ones(max(1, min(n, most))), n) @ rng.dirichlet(np.ones(m), max(1, min(n, most)))
    matrix = matrix if rng.random() < 0.5 else rng.dirichlet(np.full(n, 10.0 ** rng.uniform(-2, 12)), n)
    values = np.linalg.svd(matrix, compute_uv=False)
    wanted = int((values > values[0] * max(matrix.shape) * np.finfo(float).eps).sum())
    assert rank(matrix) == rank(matrix * 2.0**53) == rank(np.asfortranarray(matrix)) == wanted


def test_inversion_is_exact_on_exact_shares() -> None:
    coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    table = pa.table({"y": ["yes"] * 30 + ["no"] * 70})
    found = estimate_frequencies(table, coin, column="y")
    # p = (q - 1/4) / (1/2)
    assert found.frequency == pytest.approx([0.1, 0.9], abs=1e-15)
    assert found.condition == pytest.approx(2.0)
    assert found.rows == 100


@pytest.mark.parametrize("simultaneous", [True, False])
def test_rows_that_no_frequencies_explain_are_said_to_come_from_elsewhere(simultaneous: bool) -> None:
    """700 of 1000 where the mechanism gives one outcome a share of 0.576 at most."""
    rows = [[0.576 if i == j else 0.212 for j in range(3)] for i in range(3)]
    table = pa.table({"y": ["a"] * 700 + ["b"] * 150 + ["c"] * 150})
    found = estimate_frequencies(
        table, dv.Channel(rows, list("abc"), list("abc")), column="y", simultaneous=simultaneous
    )
    assert found.empty
    assert np.isnan(found.lower).any()
    assert any("do not come from this mechanism" in one for one in found.warnings)
    assert any("confidence set is empty" in one for one in found.warnings)
    assert all(set(one) == {"value", "frequency"} for one in found.to_dict()["values"])
    assert "confidence set is empty" in found._repr_html_()
    stronger = [[0.8 if i == j else 0.1 for j in range(3)] for i in range(3)]
    fair = estimate_frequencies(table, dv.Channel(stronger, list("abc"), list("abc")), column="y")
    assert not fair.empty
    assert not fair.warnings


def test_unclipped_and_unbiased() -> None:
    rng = np.random.default_rng(2)
    channel = dv.mechanisms.randomized_response(["a", "b", "c"], 0.5)
    values = rng.permutation(np.repeat([0, 1, 2], [180, 20, 0]))
    total = np.zeros(3)
    below = 0
    runs = 200 if THOROUGH else 80
    for _ in range(runs):
        found = estimate_frequencies(released(rng, channel, values), channel, column="y")
        total += found.frequency
        below += found.frequency[2] < 0
        assert found.frequency.sum() == pytest.approx(1.0)
    assert below > runs / 4, "nothing is clipped"
    assert total / runs == pytest.approx([0.9, 0.1, 0.0], abs=0.7 / math.sqrt(runs))


@pytest.mark.parametrize("interval", ["normal", "bernstein"])
def test_simultaneous_intervals_cover(interval: str) -> None:
    rng = np.random.default_rng(7)
    channel = dv.mechanisms.randomized_response(4, 1.0)
    matrix = channel.floats
    p = np.array([0.6, 0.3, 0.09, 0.01])
    missed, width = 0, 0.0
    runs = 500 if THOROUGH else 120
    for _ in range(runs):
        counts = sum(rng.multinomial(int(k), matrix[x]) for x, k in enumerate(p * 2000))
        table = pa.table({"y": np.repeat(np.arange(4), counts)})
        found = estimate_frequencies(table, channel, column="y", confidence=0.9, interval=interval)
        missed += not bool(((p >= found.lower) & (p <= found.upper)).all())
        width += 0.0 if found.empty else float((found.upper - found.lower).mean())
    assert missed <= 0.1 * runs + 2.1 * math.sqrt(0.09 * runs)
    assert width / runs < 0.5


def test_intervals_cover_what_was_released() -> None:
    """From raw columns through the release itself, with its receipt: many tables, a public column, missing values."""
    rng = np.random.default_rng(11)
    mechanism = dv.mechanisms.randomized_response(["a", "b", "?"], 1.5)
    missed, n, tables = 0, 1200, few(300)
    for _ in range(tables):
        x = rng.choice(3, size=n, p=[0.7, 0.25, 0.05])
        sex = np.where(rng.random(n) < 0.3, "f", "m")
        table = pa.table({"x": np.array(["a", "b", None], dtype=object)[x], "sex": sex})
        receipt = dv.release(table, column="x", mechanism=mechanism, null_as="?")
        groups = estimate_frequencies(receipt.table, receipt, by="sex", confidence=0.9)
        truth = {group: np.bincount(x[sex == group], minlength=3) / (sex == group).sum() for group in groups}
        missed += not all(((truth[g] >= f.lower) & (truth[g] <= f.upper)).all() for g, f in groups.items())
        assert not any(f.warnings for f in groups.values() if f.rows == n)
    assert missed <= stats.binom.isf(NEVER, tables, 0.1)


def test_few_rows_do_not_pass_for_certainty() -> None:
    channel = dv.mechanisms.randomized_response(["a", "b"], 1.0)
    for interval in ("normal", "bernstein"):
        found = estimate_frequencies(pa.table({"y": ["a"]}), channel, column="y", interval=interval)
        assert (found.lower == 0).all()
        assert (found.upper > 0.9).all()


def test_columns_released_together() -> None:
    rng = np.random.default_rng(12)
    one, two = dv.mechanisms.randomized_response(["a", "b"], 1.0), dv.mechanisms.randomized_response([0, 1, 2], 2.0)
    x, y = rng.integers(0, 2, 20_000), rng.integers(0, 3, 20_000)
    table = pa.table({"x": np.array(["a", "b"])[x], "y": np.where(x == 1, y, 0)})
    receipt = dv.release(table, column=["x", "y"], mechanism=one.product(two))
    found = estimate_frequencies(receipt.table, receipt, confidence=1 - NEVER)
    assert found.values == receipt.channel.secrets
    truth = dv.contingency(table, ["x", "y"]).to_dict()
    shares = np.array([truth.get(pair, 0) / 20_000 for pair in found.values])
    assert (found.lower <= shares).all()
    assert (shares <= found.upper).all()
    assert found.warnings == ()


def test_receipts_with_several_mechanisms() -> None:
    table = pa.table({"x": ["a", "b"] * 2000, "y": ["a", "a", "a", "b"] * 1000})
    coin = dv.mechanisms.randomized_response(["a", "b"], 3.0)
    receipt = dv.release(table, column=["x", "y"], mechanism={"x": coin, "y": coin})
    with pytest.raises(dv.DivulgeError, match=r"several were released \('x'; 'y'\)"):
        estimate_frequencies(receipt.table, receipt)
    for name, share in (("x", 0.5), ("y", 0.75)):
        found = estimate_frequencies(receipt.table, receipt, column=name, confidence=1 - NEVER)
        assert found.lower[0] <= share <= found.upper[0]
    with pytest.raises(dv.DivulgeError, match="released together"):
        estimate_frequencies(receipt.table, receipt, column=("x", "x"))


def test_combinations_of_columns_that_were_perturbed_each_by_itself() -> None:
    """Every outcome as often as its chances say, multiplied by hand, gives back the shares to the last digit."""
    shares = {("a", 0): Fraction(1, 2), ("a", 1): Fraction(1, 8), ("b", 2): Fraction(3, 8)}
    one, two = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"]), [0, 1, 2]
    many = dv.Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["1/4", "1/4", "1/2"]], two, two)
    rows = [
        (x, y)
        for x in "ab"
        for y in two
        for _ in range(int(128 * sum(
            p * (Fraction(3, 4) if x == u else Fraction(1, 4)) * (Fraction(1, 2) if y == v else Fraction(1, 4))
            for (u, v), p in shares.items()
        )))
    ]  # fmt: skip
    assert len(rows) == 128
    told = pa.table({"z": [1] * 128, "x": ["a"] * 64 + ["b"] * 64, "y": [0, 1, 2, 0] * 32})
    receipt = dv.release(told, column=["x", "y"], mechanism={"x": one, "y": many}, keep=["z"])
    exact = pa.table({"y_perturbed": [y for _, y in rows], "x_perturbed": [x for x, _ in rows]})
    for columns in (("x", "y"), ("x_perturbed", "y_perturbed")):
        found = estimate_frequencies(exact, receipt, column=columns)
        assert dict(zip(found.values, found.frequency.round(12).tolist(), strict=True)) == {
            (u, v): float(shares.get((u, v), 0)) for u in "ab" for v in two
        }
    turned = estimate_frequencies(exact, receipt, column=("y", "x"))
    assert turned.frequency[turned.values.index((0, "a"))] == pytest.approx(0.5)
    groups = estimate_frequencies(
        exact.append_column("s", pa.array(["f", "m"] * 64)), receipt, column=("x", "y"), by="s"
    )
    assert sum(one.rows for one in groups.values()) == 128


def test_what_hangs_together_is_seen_through_the_noise_of_both_columns() -> None:
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 30_000)
    table = pa.table(
        {"x": np.array(["a", "b"])[x], "y": np.array(["c", "d"])[np.where(rng.random(30_000) < 0.9, x, 1 - x)]}
    )
    receipt = dv.release(table, column=["x", "y"], guarantee="ldp=2", values={"x": ["a", "b"], "y": ["c", "d"]})
    found = estimate_frequencies(receipt.table, receipt, column=("x", "y"), confidence=1 - NEVER)
    truth = dv.contingency(table, ["x", "y"]).to_dict()
    for pair, low, high in zip(found.values, found.lower, found.upper, strict=True):
        assert low <= truth.get(pair, 0) / 30_000 <= high
    assert found.lower[found.values.index(("a", "c"))] > found.upper[found.values.index(("a", "d"))]


def test_too_many_combinations_are_refused() -> None:
    wide = dv.mechanisms.randomized_response(list(range(40)), 2.0)
    table = pa.table({"x": list(range(40)), "y": list(range(40))})
    receipt = dv.release(table, column=["x", "y"], mechanism={"x": wide, "y": wide})
    with pytest.raises(dv.DivulgeError, match="1,048,576 chances"):
        estimate_frequencies(receipt.table, receipt, column=("x", "y"))


def test_a_table_that_is_not_the_receipts_is_doubted(tmp_path: Path) -> None:
    table = pa.table({"x": ["a", "b", "b", "a"]})
    coin = dv.mechanisms.randomized_response(["a", "b"], 1.0)
    out = tmp_path / "out.parquet"
    receipt = dv.release(table, out, column="x", mechanism=coin, released_as="x")
    assert estimate_frequencies(out, tmp_path / "out.receipt.json").warnings == ()
    (short,) = estimate_frequencies(table.slice(1), receipt).warnings
    assert "written for 4 rows, and the table has 3" in short
    pq.write_table(table, out)
    (other,) = estimate_frequencies(out, receipt, by="x")["a"].warnings
    assert "digest" in other
    with pytest.raises(dv.DivulgeError, match="2"):
        estimate_frequencies(pa.table({"x": ["a", None, None]}), receipt)


def test_wide_channels_use_the_pseudo_inverse() -> None:
    rng = np.random.default_rng(4)
    channel = random_channel(rng, 3, 6)
    assert channel.floats @ right_inverse(channel) == pytest.approx(np.eye(3), abs=1e-9)


def test_a_lost_combination_is_named() -> None:
    channel = dv.Channel([["1/2", "1/2"], ["1/2", "1/2"], ["0", "1"]], ["a", "b", "c"], ["u", "v"])
    with pytest.raises(dv.DivulgeError, match=r"leaves no trace"):
        estimate_frequencies(pa.table({"y": ["u", "v"]}), channel, column="y")
    same = dv.Channel(
        [["1/2", "1/4", "1/4"], ["1/2", "1/4", "1/4"], ["0", "1/2", "1/2"]], ["a", "b", "c"], ["u", "v", "w"]
    )
    with pytest.raises(dv.DivulgeError, match=r"P\('a'\) - P\('b'\)|P\('b'\)"):
        estimate_frequencies(pa.table({"y": ["u", "v"]}), same, column="y")


def test_groups_of_a_public_column() -> None:
    rng = np.random.default_rng(8)
    channel = dv.mechanisms.randomized_response(["a", "b"], 2.0)
    values = np.where(np.arange(6000) % 2, 0, 1)
    found = estimate_frequencies(released(rng, channel, values), channel, column="y", by="sex")
    assert set(found) == {"m", "f"}
    assert found["f"].frequency[0] == pytest.approx(1.0, abs=0.1)
    assert found["m"].frequency[0] == pytest.approx(0.0, abs=0.1)
    assert found["f"].rows == 3000


def test_biased_methods_say_so_and_stay_in_the_simplex() -> None:
    rng = np.random.default_rng(3)
    channel = dv.mechanisms.randomized_response(["a", "b", "c"], 0.3)
    table = released(rng, channel, np.zeros(300, dtype=int))
    raw = estimate_frequencies(table, channel, column="y")
    for method in ("projection", "em"):
        assert METHODS[method].biased
        found = estimate_frequencies(table, channel, column="y", method=method)
        assert (found.frequency >= 0).all()
        assert found.frequency.sum() == pytest.approx(1.0)
        assert "lower" not in found.to_dict()["values"][0]
        assert any("biased" in warning for warning in found.warnings)
    counts = np.array([table["y"].to_pylist().count(o) for o in "abc"])
    em = estimate_frequencies(table, channel, column="y", method="em").frequency

    def likelihood(p: np.ndarray) -> float:
        return float(counts @ np.log(p @ channel.floats))

    for _ in range(few(200)):
        assert likelihood(rng.dirichlet(np.ones(3))) <= likelihood(em) + 1e-6
    assert not raw.biased


def test_refusals_never_show_a_value() -> None:
    channel = dv.mechanisms.randomized_response(["a", "b"], 1.0)
    with pytest.raises(dv.DivulgeError, match="2") as caught:
        estimate_frequencies(pa.table({"y": ["a", "hidden-value", "hidden-value"]}), channel, column="y")
    assert "hidden" not in str(caught.value)
    for arguments in ({"column": None}, {"method": "magic"}, {"interval": "none"}, {"confidence": 0.0}):
        with pytest.raises(dv.DivulgeError):
            estimate_frequencies(pa.table({"y": ["a"]}), channel, **{"column": "y", **arguments})


DAY = datetime.datetime(2020, 1, 1)
TYPES: dict[str, pa.Array] = {
    "truth values": pa.array([True, False, True]),
    "moments": pa.array([DAY, DAY.replace(hour=1), DAY.replace(month=2)]),
    "microseconds": pa.array([DAY, DAY.replace(microsecond=4), DAY.replace(month=2)]),
    "zones": pa.array([DAY, DAY.replace(hour=1), DAY.replace(month=7)], pa.timestamp("us", "Europe/Berlin")),
    "decimals": pa.array([Decimal("1.50"), Decimal("2.00"), Decimal("2.25")]),
    "short floats": pa.array([0.1, 0.2, 1 / 3], pa.float32()),
    "halves": pa.array(np.array([0.1, 0.2, 1 / 3], dtype=np.float16)),
    "floats": pa.array([0.1, 0.25, 1e300]),
    "17 digits": pa.array([0.1, 0.1 + 1e-17 * 2, 1 / 3]),
    "days": pa.array([DAY.date(), DAY.date().replace(day=2), DAY.date().replace(day=3)]),
    "times": pa.array([datetime.time(1), datetime.time(2, 3, 4), datetime.time(3, 0, 0, 5)]),
    "durations": pa.array([datetime.timedelta(1), datetime.timedelta(2, 3), datetime.timedelta(0, 5)]),
    "whole numbers": pa.array([1, 2**60, -3]),
    "coded": pa.array(["inf", "true", "1.0"]).dictionary_encode(),
}
NOT_IN_EXCEL = {"microseconds", "zones", "17 digits"}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("ending", ["csv", "xlsx", "parquet"])
@pytest.mark.thin
def test_a_release_is_estimated_with_its_own_receipt(name: str, ending: str, tmp_path: Path) -> None:
    """Whatever the type of the column, and however a file writes it; or it is refused before anything is drawn."""
    table = pa.table({"c": pa.chunked_array([TYPES[name]] * 100)})
    out = tmp_path / f"out.{ending}"
    if ending == "xlsx" and name in NOT_IN_EXCEL:
        with pytest.raises(dv.DivulgeError, match="Excel does not keep"):
            dv.release(table, out, column="c", guarantee="ldp=9")
        assert not list(tmp_path.iterdir())
        return
    dv.release(table, out, column="c", guarantee="ldp=9")
    found = dv.estimate_frequencies(out, tmp_path / "out.receipt.json")
    assert found.rows == 300
    assert found.frequency.min() > 0.2
    read = dv.open_table(out)
    back = pa.Table.from_batches(list(read.batches(["c_perturbed"])))["c_perturbed"]
    pairs = pa.table({"secret": table["c"], "released": back})
    audited = dv.audit(pairs, secret="secret", released="released", mechanism=tmp_path / "out.receipt.json")
    assert audited.known is not None
    assert audited.known.conformity.p_value > 1e-6  # `conforms` is at 5 %: two of 300 rows that change are .005


@pytest.mark.parametrize(
    ("column", "outcomes", "written"),
    [
        (pa.array([True, False]), (0, 1), ["0", "1"]),
        (pa.array([True, False]), ("True", "False"), [True, False]),
        (pa.array([1, 2]), ("1", "01"), ["1", "01"]),
        (pa.array([1, 2]), ("01", "02"), [1, 2]),
        (pa.array([1.0, 2.5]), ("1", "2.50"), [1.0, 2.5]),
        (pa.array([DAY, DAY.replace(hour=1)]), ("2020-01-01", "2020-01-02"), [DAY, DAY.replace(day=2)]),
    ],
)  # fmt: skip
def test_an_outcome_is_written_as_what_it_means(
    column: pa.Array, outcomes: tuple[object, ...], written: list[object], tmp_path: Path
) -> None:
    """0 and 1 are no truth values, and 01 and 1 are two names: a column takes outcomes that mean the same in it."""
    secrets = [text_of(value) for value in column.to_pylist()]
    coin = dv.Channel([["9/10", "1/10"], ["1/10", "9/10"]], secrets, outcomes)
    dv.release(pa.table({"c": pa.chunked_array([column] * 100)}), tmp_path / "o.parquet", column="c", mechanism=coin)
    assert set(pq.read_table(tmp_path / "o.parquet")["c_perturbed"].to_pylist()) == set(written)
    assert dv.estimate_frequencies(tmp_path / "o.parquet", tmp_path / "o.receipt.json").frequency.min() > 0.2


@pytest.mark.parametrize("odd", ["1e999999999", "-1e-999999999", "9999-99-99", "0001-01-01T00:00:00+23:59", "sNaN"])
def test_values_that_no_number_or_moment_can_be_are_others(odd: str) -> None:
    coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["1", "2"], ["1", "2"])
    with pytest.raises(dv.DivulgeError, match="must hold only outcomes of the mechanism"):
        dv.estimate_frequencies(pa.table({"c": ["1", "2", odd]}), coin, column="c")


def test_infinite_numbers_are_no_labels(tmp_path: Path) -> None:
    with pytest.raises(dv.DivulgeError, match="must hold finite numbers in column 'c'"):
        dv.release(pa.table({"c": [math.inf, 1.0, 2.0]}), tmp_path / "out.csv", column="c", guarantee="ldp=9")
    assert not list(tmp_path.iterdir())


def test_an_inverse_is_that_of_lapack_to_the_digit_and_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[np.ndarray]()
    lapack = np.linalg.inv
    monkeypatch.setattr(np.linalg, "inv", lambda matrix: asked.append(matrix) or lapack(matrix))
    weights = np.random.default_rng(11).integers(1, 2**40, (90, 90))
    weights[np.diag_indices(90)] += 2**53 - weights.sum(axis=1)
    matrix = weights / 2.0**53
    assert rank(weights.astype(float)) == rank(matrix) == 90
    for found in (inverse_of(matrix), inverse_of(weights.astype(float)) * 2.0**53, right_inverse(dv.Channel(matrix))):
        assert (found == lapack(matrix)).all()
        found[:] = 0  # whose own it is
    assert len(asked) == 1
    with pytest.raises(np.linalg.LinAlgError):
        inverse_of(np.zeros((2, 2)))
