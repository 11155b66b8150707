"""What follows from other numbers of a paper is computed when it is read: an edit is refused, whatever its checksum."""

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support import THOROUGH, key_pair
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.publishing import published
from divulge.publishing.published import read_receipt
from divulge.releasing.records import receipt

SURVEY = pa.table({
    "x": ["a", "b", "c", "a", "b", "c"] * 20, "y": ["u", "v"] * 60, "n": list(range(60)) * 2, "p": list(range(60)) * 2,
})  # fmt: skip
COIN = dv.Channel([["3/4", "1/8", "1/8"], ["1/8", "3/4", "1/8"], ["1/8", "1/8", "3/4"]], list("abc"), list("abc"))
VALUES = {"x": ["a", "b", "c"], "y": ["u", "v"]}

RELEASES: dict[str, dict[str, Any]] = {
    "a channel": {"column": "x", "mechanism": COIN},
    "a prior": {"column": "x", "mechanism": COIN, "prior": dv.Prior(["1/2", "1/4", "1/4"], list("abc"))},
    "a design": {"column": "x", "guarantee": ["ldp=1", "pml=0.5"], "prior": "uniform", "keep": ["y", "n"]},
    "a lower bound": {"column": "x", "guarantee": "pml=0.6", "prior": "lower=0.2"},
    "noisy shares": {"column": "x", "guarantee": "ldp=1", "prior": "noisy=0.1"},
    "counted": {"column": "x", "guarantee": "pml=0.5", "prior_from_data": True, "only_column": True},
    "two columns": {"column": ["x", "y"], "guarantee": "ldp=1"},
    "several rows": {"column": "x", "guarantee": "ldp=1", "rows_per_person": 2},
    "another guarantee": {"column": "x", "mechanism": COIN, "guarantee": "maximal-leakage=1"},
}

STATISTICS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "counts": ([dv.Count("x", "y"), dv.Count("x")], {"guarantee": "dp=1"}),
    "a mean": ([dv.Mean("n", (0, 59), by="x"), dv.Count("x")], {"guarantee": "dp=1"}),
    "a sum of 0 and 1": ([dv.Sum("n", (1, 2))], {"guarantee": "dp=1"}),
    "a variance": ([dv.Variance("n", (0, 59))], {"guarantee": "zcdp=0.1"}),
    "quantiles": ([dv.Quantiles("n", (0, 59), by="x", probabilities=(0.5, 0.9))], {"guarantee": "dp=1"}),
    "a proportion": ([dv.Proportion("y", "u", by="x"), dv.Proportion("x", "a")], {"guarantee": "adp=1:1e-6"}),
    "gaussian": ([dv.Count("x"), dv.Sum("n", (0, 59))], {"guarantee": "zcdp=0.1", "noise": "gaussian"}),
    **(
        {"gaussian, at a delta": ([dv.Count("x")], {"guarantee": "adp=1:1e-6", "noise": "gaussian"})}
        if THOROUGH
        else {}
    ),
    "renyi": ([dv.Count("x")], {"guarantee": "rdp=2:0.5", "noise": "gaussian"}),
    "a person": ([dv.Count("x")], {"guarantee": "dp=1", "person": "p", "at_most": 2}),
    "added": ([dv.Count("x"), dv.Mean("n", (0, 59))], {"guarantee": "dp=1", "neighbors": "added"}),
    "a record": ([dv.Count("x")], {"guarantee": "pml=1", "record_prior": "lower=0.05", "others": "independent"}),
    "a secret": ([dv.Sum("n", (0, 59))], {"guarantee": ["pml=1", "pmc=1"], "record_prior": "lower=0.05"}),
    "unlisted": ([dv.Count("x")], {"guarantee": "adp=1:1e-6", "values": None}),
}

if THOROUGH:
    STATISTICS["gaussian, at a delta"] = ([dv.Count("x")], {"guarantee": "adp=1:1e-6", "noise": "gaussian"})


def released(name: str, folder: Path) -> Path:
    asked = RELEASES[name]
    dv.release(SURVEY, folder / "out.csv", **asked, per_row="rows_per_person" not in asked)
    return folder / "out.receipt.json"


def stated(name: str, folder: Path) -> Path:
    asked, how = STATISTICS[name]
    how = {"values": {k: v for k, v in VALUES.items() if any(k in one.by for one in asked)}} | how
    dv.publish(SURVEY, asked, folder / "out.csv", **{k: v for k, v in how.items() if v is not None})
    return folder / "out.receipt.json"


def written(document: Any, path: Path) -> Path:
    """Write a receipt with a checksum that fits."""
    document = {k: v for k, v in document.items() if k != "checksum"}
    if document["format"] == published.FORMAT:
        document["checksum"] = published._checksum(document)
    else:
        document["checksum"] = receipt._checksum(receipt._canonical(document))
    path.write_text(json.dumps(document))
    return path


FREE = {"rows", "created", "version", "source", "output", "digest", "null_as", "purpose", "rounded", "told", "middle",
        "prior_source", "checksum", "format", "bits", "step", "radius", "released_as"}  # fmt: skip
"""Parts that follow from nothing else in the paper; `bits` and labels are held where weights are read, `step` names
what a unit is called, `prior_source` is a word about the prior, and below ldp the radius of a set decides nothing."""

LABELS = {"secrets", "outcomes", "columns", "by", "column", "at", "kind", "family", "warnings"}
"""Names, which are changed by tests of their own."""


def numbers(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where a document has a number that should follow."""
    if isinstance(part, dict):
        for name, inner in part.items():
            if name not in FREE | LABELS:
                yield from numbers(inner, (*path, name))
    elif isinstance(part, list):
        for i, inner in enumerate(part):
            yield from numbers(inner, (*path, i))
    elif isinstance(part, (int, float)) and not isinstance(part, bool):
        yield path


def changed(document: Any, path: tuple[Any, ...], how: Callable[[Any], Any]) -> Any:
    found = copy.deepcopy(document)
    place = found
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = how(place[path[-1]])
    return found


def refused(path: Path) -> str:
    with pytest.raises(dv.InputFileError) as error:
        read_receipt(path)
    return str(error.value)


HALF: Callable[[Any], Any] = lambda n: n // 2 if isinstance(n, int) else n / 2  # noqa: E731
TWICE: Callable[[Any], Any] = lambda n: 2 * n + (n == 0)  # noqa: E731

WEAKER = {"together", "asked"}
"""What is above its least, such as all releases together, or allowed more than there is: halved it is a lie, doubled
it is true."""


@pytest.mark.parametrize("name", [*RELEASES, *STATISTICS])
def test_every_number_of_a_receipt_follows(name: str, tmp_path: Path) -> None:
    path = (released if name in RELEASES else stated)(name, tmp_path)
    document = json.loads(path.read_text())
    assert read_receipt(written(document, path)).guarantees
    kept: list[Any] = []
    for place in numbers(document):
        for how in (HALF, TWICE):
            edited = changed(document, place, how)
            if edited == document or (how is TWICE and place[0] in WEAKER):
                continue
            try:
                read_receipt(written(edited, path))
            except dv.InputFileError:
                continue
            kept.append((*place, "halved" if how is HALF else "doubled"))
    assert kept == ALLOWED.get(name, []), kept


ALLOWED: dict[str, list[Any]] = {
    "a mean": [("queries", 0, "low", "halved")],
    "counts": [("queries", 1, "cells", "doubled")],
    "added": [("queries", 2, "low", "doubled")],
    "a variance": [("queries", 1, "low", "doubled")],
    "quantiles": [("level", "halved"), ("queries", 0, "cells", "halved"), ("queries", 0, "cells", "doubled"),
                  ("queries", 1, "cells", "halved"), ("queries", 1, "cells", "doubled")],
    "a proportion": [("guarantees", "adp", "delta", "halved"), ("guarantees", "adp", "delta", "doubled")],
}  # fmt: skip
"""Edits after which all that is promised is as true as before: the other end of the
bounds is what one row can add at most; a square of 1 in 900 is within what noise leaves; choices by rank have
no widths, and a few more cells the same ones; Laplace noise keeps its epsilon at any delta."""


def test_both_numbers_are_said(tmp_path: Path) -> None:
    """A small ldp over weights that give more, a promise over the truth itself, a small dp over a scale."""
    path = released("a channel", tmp_path)
    document = json.loads(path.read_text())
    document["mechanisms"][0]["guarantees"]["ldp"] = document["guarantees"]["ldp"] = 0.01
    assert "ldp in the guarantees of 'x' is 0.01 there, and computed to be 1.791759" in refused(written(document, path))
    document = json.loads(released("a prior", _fresh(tmp_path, 1)).read_text())
    whole = 1 << document["mechanisms"][0]["bits"]
    document["mechanisms"][0]["weights"] = [[whole if i == j else 0 for j in range(3)] for i in range(3)]
    assert "computed to be inf" in refused(written(document, path))
    document = json.loads(stated("counts", _fresh(tmp_path, 2)).read_text())
    document["guarantees"]["dp"] = 0.001
    assert "dp is 0.001 there, and computed to be 1" in refused(written(document, path))


def _fresh(folder: Path, number: int) -> Path:
    made = folder / str(number)
    made.mkdir()
    return made


@pytest.mark.parametrize("line", [
    "statement {}", "estimate out.csv --receipt {}", "report --receipt {}",
    "audit --data out.csv --secret x --released x_perturbed --receipt {}",
])  # fmt: skip
def test_every_command_refuses_it(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dv.release(SURVEY, "out.csv", column="x", mechanism=COIN, per_row=True)
    document = json.loads(Path("out.receipt.json").read_text())
    document["mechanisms"][0]["guarantees"]["ldp"] = document["guarantees"]["ldp"] = 0.01
    written(document, Path("edited.json"))
    found = CliRunner().invoke(app, line.format("edited.json").split())
    assert (found.exit_code, "computed to be 1.79175947" in found.stderr) == (2, True), found.output


def test_a_guarantee_that_was_not_kept_was_not_asked_for(tmp_path: Path) -> None:
    path = released("another guarantee", tmp_path)
    document = json.loads(path.read_text())
    document["asked"] = [{"kind": "ldp", "epsilon": 0.01}]
    assert "ldp that was asked for is 0.01 there" in refused(written(document, path))
    document["asked"] = [{"kind": "maximal-leakage", "epsilon": 0.01}]
    assert "that was asked for" in refused(written(document, path))


def test_names_of_columns_and_notes_follow(tmp_path: Path) -> None:
    path = released("a design", tmp_path)
    document = json.loads(path.read_text())
    for edit in (
        {"untouched": ["y", "n", "secret"]}, {"untouched": ["y", "y", "n"]}, {"warnings": []},
        {"released_as": ["one", "two"]}, {"released_as": ["y"]},
    ):  # fmt: skip
        assert refused(written({**document, **edit}, path)), edit
    path = stated("a person", _fresh(tmp_path, 1))
    document = json.loads(path.read_text())
    unit = document["protected"]
    for edit in (
        {"notes": []}, {"notes": [*document["notes"], {"name": "note_added"}]}, {"columns": []},
        {"protected": {**unit, "at_most": 1}}, {"protected": {**unit, "person": None, "noun": "row", "at_most": 1}},
        {"protected": {**unit, "neighbors": "added"}}, {"protected": {**unit, "noun": "row"}},
        {"guarantees": {}}, {"guarantees": {"dp": 1.0, "xyz": 1.0}}, {"others": "independent"},
        {"queries": [{**document["queries"][0], "family": "cauchy"}]},
        {"queries": [{**document["queries"][0], "kind": "all"}]}, {"queries": []},
    ):  # fmt: skip
        assert refused(written({**document, **edit}, path)), edit


PAPERS = ("receipt", "codebook", "keeper")


def test_papers_are_signed_and_edits_found(tmp_path: Path) -> None:
    private, public = key_pair(tmp_path)
    dv.release(SURVEY, tmp_path / "out.csv", column="x", mechanism=COIN, per_row=True, sign=private)
    dv.publish(SURVEY, dv.Count("x"), tmp_path / "sums.csv", guarantee="dp=1", values=VALUES, sign=private)
    other = key_pair(_fresh(tmp_path, 1))[1]
    papers = [*(f"out.{name}.json" for name in PAPERS), "sums.receipt.json", "sums.keeper.json"]
    for name in papers:
        paper = tmp_path / name
        assert dv.verify(paper, public).valid, name
        assert not dv.verify(paper, other).valid
        document = json.loads(paper.read_text())
        for part in set(document) - {"signature"}:
            edited = {**document, part: [document[part]]}
            paper.write_text(json.dumps(edited))
            assert dv.verify(paper, public).reason == "it was edited after it was signed", (name, part)
        paper.write_text(json.dumps({k: v for k, v in document.items() if k != "signature"}))
        assert dv.verify(paper, public).reason == "it is not signed"
        for value in ("", "AAAA", "\u00e4", document["signature"]["value"][:-4]):
            paper.write_text(json.dumps({**document, "signature": {**document["signature"], "value": value}}))
            assert not dv.verify(paper, public).valid
        paper.write_text(json.dumps(dict(reversed(document.items())), indent=3))  # another order and other blanks
        assert dv.verify(paper, public).valid
    assert read_receipt(tmp_path / "out.receipt.json").columns == ("x",)
    assert read_receipt(tmp_path / "sums.receipt.json").columns == ("x",)


def test_signatures_are_those_of_the_standard(tmp_path: Path) -> None:
    """RFC 8032: over the canonical JSON of all other parts, checked here by another route than `verify`."""
    import base64

    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    private, public = key_pair(tmp_path)
    dv.release(SURVEY, tmp_path / "out.csv", column="x", mechanism=COIN, per_row=True, sign=private)
    document = json.loads((tmp_path / "out.receipt.json").read_text())
    value = base64.b64decode(document.pop("signature")["value"])
    content = json.dumps(document, sort_keys=True, separators=(",", ":")).encode()
    load_pem_public_key(public.read_bytes()).verify(value, content)  # pyright: ignore


def test_verify_tells_by_its_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    key_pair(tmp_path)
    Path("t.csv").write_text("x\n" + "a\nb\nc\n" * 9)
    dv.write_channel(COIN, "c.csv")
    line = "release t.csv --column x --mechanism c.csv -o out.csv --no-ledger --only-column --sign"
    found = CliRunner().invoke(app, [*line.split(), "key.pem"])
    assert found.exit_code == 0, found.output
    found = CliRunner().invoke(app, "verify out.receipt.json --key public.pem".split())
    assert (found.exit_code, "is as it was signed" in found.stdout) == (0, True)
    paper = Path("out.receipt.json")
    paper.write_text(paper.read_text().replace('"rows": ', '"rows": 1'))
    found = CliRunner().invoke(app, "verify out.receipt.json --key public.pem".split())
    assert (found.exit_code, "NOT" in found.stdout) == (1, True)
    for key in ("key.pem", "out.csv", "none.pem"):
        found = CliRunner().invoke(app, f"verify out.receipt.json --key {key}".split())
        assert (found.exit_code, found.stdout) == (2, "")
    before = sorted(path.name for path in tmp_path.iterdir())
    for key in ("public.pem", "out.csv", "none.pem"):
        found = CliRunner().invoke(app, [*line.replace("out.csv", "new.csv").split(), key])
        assert (found.exit_code, found.stdout) == (2, ""), found.output
    assert sorted(path.name for path in tmp_path.iterdir()) == before
