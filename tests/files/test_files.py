"""What is written is what is read, in every format, exact or not; priors and tables in every shape."""

import io
import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from support import RUNNING_CHANNEL, RUNNING_PRIOR, random_channel

import divulge as dv
from divulge.files import FORMATS, count_rows, estimated_joint, read_records

SUFFIXES = [suffix for known in FORMATS for suffix in known.suffixes]
LABELLED = [suffix for suffix in SUFFIXES if suffix != ".npy"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("exact", [True, False])
def test_what_is_written_is_what_is_read(suffix: str, exact: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    made = random_channel(rng, 7, 5, exact=exact, zeros=0.3)
    channel = dv.Channel(made.matrix, [f"s {i}, é" for i in range(7)], [f'y"{j}' for j in range(5)])
    path = tmp_path / f"c{suffix}"
    dv.write_channel(channel, path)
    back = dv.read_channel(path)
    assert back.exact == exact
    assert (back.matrix == channel.matrix).all()
    assert back == (channel if suffix in LABELLED else dv.Channel(channel.matrix))
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_exact_identity_stays_exact(suffix: str, tmp_path: Path) -> None:
    dv.write_channel(dv.Channel([[1, 0], [0, 1]]), tmp_path / f"c{suffix}")
    assert dv.read_channel(tmp_path / f"c{suffix}").exact


@pytest.mark.parametrize("suffix", LABELLED)
def test_numbered_letters_meet_again(suffix: str, tmp_path: Path) -> None:
    channel = dv.Channel([[0.5, 0.5], [0.25, 0.75]], [1, 0], [True, 2.5] if suffix == ".json" else [10, 20])
    dv.write_channel(channel, tmp_path / f"c{suffix}")
    back = dv.read_channel(tmp_path / f"c{suffix}")
    prior = dv.Prior([0.25, 0.75], [0, 1])
    assert dv.Joint(prior, back).prior.probabilities.tolist() == [0.75, 0.25]


def test_pairs_of_outcomes_survive_json(tmp_path: Path) -> None:
    both = RUNNING_CHANNEL.alongside(RUNNING_CHANNEL)
    dv.write_channel(both, tmp_path / "c.json")
    assert dv.read_channel(tmp_path / "c.json") == both


def test_a_sparse_channel_stays_sparse(tmp_path: Path) -> None:
    channel = dv.Channel(sp.eye_array(2000, format="csr"), [f"s{i}" for i in range(2000)])
    dv.write_channel(channel, tmp_path / "c.npz")
    back = dv.read_channel(tmp_path / "c.npz")
    assert back.sparse
    assert back == channel


@pytest.mark.parametrize("layout", ["csc", "csr"])
def test_what_scipy_saves_is_read(layout: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    matrix = rng.random((5, 4)) * (rng.random((5, 4)) < 0.6) + np.eye(5, 4)
    matrix[4, 3] = 1.0
    matrix /= matrix.sum(axis=1, keepdims=True)
    sp.save_npz(tmp_path / "c.npz", sp.coo_array(matrix).asformat(layout))
    assert np.allclose(dv.read_channel(tmp_path / "c.npz").matrix.toarray(), matrix, rtol=1e-15)


def test_one_fraction_makes_a_csv_file_exact(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("x,a,b/c\np,1/2,0.5\nq,0.1,0.9\n")
    assert dv.read_channel(tmp_path / "c.csv").row("q").tolist() == [Fraction(1, 10), Fraction(9, 10)]


def test_a_slash_in_a_label_does_not(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("x/y,a/b,c\np/q,0.5,0.5\n")
    assert not dv.read_channel(tmp_path / "c.csv").exact


def test_one_text_entry_makes_a_json_file_exact(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"matrix": [["1/3", "2/3"], [0.1, 0.9], [1, 0]]}')
    channel = dv.read_channel(tmp_path / "c.json")
    assert channel.row(1).tolist() == [Fraction(1, 10), Fraction(9, 10)]
    (tmp_path / "c.json").write_text('{"matrix": [[1, 0], [0.1, 0.9]]}')
    assert not dv.read_channel(tmp_path / "c.json").exact


def test_byte_order_marks_crlf_and_spaces_do_no_harm(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_bytes(b"\xef\xbb\xbfx, a ,b\r\n\r\n p ,1/4, 3/4\r\n")
    assert dv.read_channel(tmp_path / "c.csv") == dv.Channel([["1/4", "3/4"]], ["p"], ["a", "b"])


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_standard_input_is_known_by_its_first_bytes(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dv.write_channel(RUNNING_CHANNEL, tmp_path / f"c{suffix}")
    content = (tmp_path / f"c{suffix}").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert (dv.read_channel("-").matrix == RUNNING_CHANNEL.matrix).all()


@pytest.mark.parametrize("arrays", [("anything",), ("matrix", "notes"), ("matrix",)])
def test_an_archive_is_read_by_its_only_array_or_the_one_called_matrix(arrays: tuple[str, ...], tmp_path: Path) -> None:
    held: dict[str, Any] = {arrays[0]: [[0.75, 0.25]], "outcomes": ["a", "b"], **{key: [1.0] for key in arrays[1:]}}
    np.savez(tmp_path / "c.npz", **held)
    assert dv.read_channel(tmp_path / "c.npz") == dv.Channel([[0.75, 0.25]], outcomes=["a", "b"])


def test_an_arrow_stream_is_read(tmp_path: Path) -> None:
    found = pa.table({"x": ["p", "q"], "a": ["1/2", "1"], "b": ["1/2", "0"]})
    with pa.OSFile(str(tmp_path / "c.arrow"), "wb") as sink, pa.ipc.new_stream(sink, found.schema) as stream:
        stream.write_table(found)
    assert dv.read_channel(tmp_path / "c.arrow").row("q").tolist() == [1, 0]
    assert count_rows(tmp_path / "c.arrow", "x", "a") == {("p", "1/2"): 1, ("q", "1"): 1}


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".csv"])
def test_a_failed_write_leaves_the_old_file(suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"c{suffix}"
    path.write_text("old")
    twins = dv.Channel([["1/2", "1/2"]], ["a"], [1, "1"])
    with pytest.raises(dv.DivulgeError, match="text"):
        dv.write_channel(twins, path)
    assert (path.read_text(), os.listdir(tmp_path)) == ("old", [path.name])


def test_where_nothing_can_be_written_the_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(dv.InputFileError, match="nowhere"):
        dv.write_channel(RUNNING_CHANNEL, tmp_path / "nowhere" / "c.csv")
    (tmp_path / "c.csv").mkdir()
    with pytest.raises(dv.InputFileError, match=r"c\.csv"):
        dv.write_channel(RUNNING_CHANNEL, tmp_path / "c.csv")
    assert os.listdir(tmp_path) == ["c.csv"]


PRIORS = {
    "p.csv": b"secret,probability\nbg,1/4\ng,0.5\nb,1/4\n",
    "bare.csv": b"bg,1/4\ng,0.5\nb,1/4\n",
    "p.json": b'{"bg": 0.25, "g": "1/2", "b": 0.25}',
}


@pytest.mark.parametrize("name", PRIORS)
def test_a_prior_comes_in_the_order_of_the_channel(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(PRIORS[name])
    assert dv.read_prior(tmp_path / name, RUNNING_CHANNEL) == RUNNING_PRIOR
    assert tuple(dv.read_prior(tmp_path / name).secrets) == ("bg", "g", "b")


@pytest.mark.parametrize("values", [["1/4", "1/2", "1/4"], [0.25, 0.5, 0.25]])
def test_a_prior_in_parquet(values: list[object], tmp_path: Path) -> None:
    pq.write_table(pa.table({"s": ["bg", "g", "b"], "p": values}), tmp_path / "p.parquet")
    prior = dv.read_prior(tmp_path / "p.parquet", RUNNING_CHANNEL)
    assert prior.exact == isinstance(values[0], str)
    assert prior.floats.tolist() == [0.25, 0.5, 0.25]


def test_a_prior_in_numpy(tmp_path: Path) -> None:
    np.save(tmp_path / "p.npy", np.array([0.25, 0.5, 0.25]))
    assert tuple(dv.read_prior(tmp_path / "p.npy", RUNNING_CHANNEL).secrets) == ("b", "g", "bg")


def test_a_uniform_prior_needs_a_channel() -> None:
    assert dv.read_prior("uniform", RUNNING_CHANNEL) == dv.Prior.uniform(["b", "g", "bg"])
    with pytest.raises(dv.DivulgeError, match="channel"):
        dv.read_prior("uniform")


def test_a_counted_column_is_a_prior(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("who,what\n1,g\n2,b\n3,g\n")
    assert dv.read_prior(f"{tmp_path / 't.csv'}:what").to_dict() == {"g": Fraction(2, 3), "b": Fraction(1, 3)}
    counted = dv.read_prior(f"{tmp_path / 't.csv'}:what", RUNNING_CHANNEL)
    assert counted.to_dict() == {"b": Fraction(1, 3), "g": Fraction(2, 3), "bg": 0}


def test_a_file_with_a_colon_in_its_name_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "a:b.csv").write_text("x,p\nb,1\n")
    assert dv.read_prior(tmp_path / "a:b.csv").to_dict() == {"b": 1.0}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow"])
def test_rows_are_counted_batch_by_batch(suffix: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    found = pa.table({"a": rng.choice(["p", "q"], 5000), "b": rng.choice(["x", "y", "z"], 5000), "c": ["-"] * 5000})
    path = tmp_path / f"t{suffix}"
    if suffix == ".csv":
        found.to_pandas().to_csv(path, index=False)
    elif suffix == ".parquet":
        pq.write_table(found, path, row_group_size=700)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, found.schema) as writer:
            writer.write_table(found, max_chunksize=700)
    frame = found.to_pandas()
    assert count_rows(path, "a", "b") == frame.groupby(["a", "b"]).size().to_dict()
    assert count_rows(path, "b", "b") == {(y, y): n for y, n in frame["b"].value_counts().items()}
    joint = dv.read_joint(path, "a", "b")
    assert joint.exact
    assert (joint.matrix * 5000 == np.array(frame.groupby(["a", "b"]).size().unstack())).all()


def test_the_estimated_joint_is_sparse_when_it_is_large() -> None:
    counts = {(i, i % 4001): 2 for i in range(4002)}
    joint = estimated_joint(counts)
    assert joint.channel.sparse
    assert dv.pml(joint).max() == pytest.approx(np.log(4002), rel=1e-14)
    small = estimated_joint({("a", 0): 1, ("b", 1): 3})
    assert small.p.tolist() == [0.25, 0.75]


def test_records_of_json_and_csv_are_the_same(tmp_path: Path) -> None:
    records = [{"mechanism": "gaussian", "sigma": 10, "delta": 1e-6}, {"mechanism": "laplace", "scale": 1.5}]
    (tmp_path / "r.json").write_text(json.dumps(records))
    (tmp_path / "r.csv").write_text("mechanism,sigma,delta,scale\ngaussian,10,1e-6,\nlaplace,,,1.5\n")
    assert read_records(tmp_path / "r.json") == read_records(tmp_path / "r.csv") == records
    with pytest.raises(dv.InputFileError):
        read_records(tmp_path / "r.npy")
