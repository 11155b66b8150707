"""What follows from other numbers of a paper is computed when it is read: an edit is refused, whatever its checksum."""

import base64
import copy
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatch
from fractions import Fraction
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from support import THOROUGH, key_pair, watched_powers
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import app
from divulge.publishing import published
from divulge.publishing.published import read_receipt
from divulge.releasing.output import signature
from divulge.releasing.records import receipt
from divulge.tables import papers

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
    "one answer": {"column": "x", "guarantee": "ldp=1", "person": "who", "one_answer": True, "only_column": True},
    "after another": {"column": "x", "guarantee": "pml=0.5", "prior": "uniform", "ledger": "book.sqlite"},
    "first on record": {
        "column": "x",
        "mechanism": COIN,
        "ledger": "new.sqlite",
        "prior": dv.Prior.uniform(list("abc")),
    },
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
    "people": (
        [dv.People("x"), dv.Sum("n", (0, 59), by="x")],
        {"guarantee": "zcdp=0.5", "person": "p", "groups_per_person": 2, "rows_per_group": 2},
    ),
    "added": ([dv.Count("x"), dv.Mean("n", (0, 59))], {"guarantee": "dp=1", "neighbors": "added"}),
    "a record": ([dv.Count("x")], {"guarantee": "pml=1", "record_prior": "lower=0.05", "others": "independent"}),
    "a secret": ([dv.Sum("n", (0, 59))], {"guarantee": ["pml=1", "pmc=1"], "record_prior": "lower=0.05"}),
    "unlisted": ([dv.Count("x")], {"guarantee": "adp=1:1e-6", "values": None}),
}

if THOROUGH:
    STATISTICS["gaussian, at a delta"] = ([dv.Count("x")], {"guarantee": "adp=1:1e-6", "noise": "gaussian"})


PROTECTED: dict[str, dict[str, Any]] = {
    "another column": {"protect": "z", "guarantee": ["pml=0.1", "pmc=0.2"]},
    "a law": {"protect": dv.Channel([["3/4", "1/4"], ["1/2", "1/2"], ["1/4", "3/4"]], list("abc"), list("uv")),
              "guarantee": "lift=5/4", "rule_out": True},
}  # fmt: skip

AGES = pa.table({"age": [31, 34, 38, 45, 46, 49] * 5, "sex": ["f", "m"] * 15, "ill": list("aabaab" * 4 + "bbaaba")})
GROUPS: dict[str, dict[str, Any]] = {
    "groups": {"guarantees": "k=3", "per_row": True, "suppress": "1/4"},
    "groups and a secret": {"secret": "ill", "guarantees": ["k=2", "t=0.5", "pml=1", "entropy-l=1.1", "ordered-t=0.5",
                            "recursive-l=5:2", "enhanced-beta=2"], "rows_per_person": 2},
    "groups and two secrets": {"secret": ["ill", "sex"], "guarantees": ["lift=5", "distinct-l=1"], "per_row": True},
}  # fmt: skip

ALL = [*RELEASES, *PROTECTED, *STATISTICS, *GROUPS]


def released(name: str, folder: Path) -> Path:
    asked = RELEASES[name]
    per_row = not asked.keys() & {"rows_per_person", "person"}
    table = SURVEY.append_column("who", pa.array([f"w{i % 6 if i < 60 else i}" for i in range(120)]))
    if "ledger" in asked:
        asked = asked | {"ledger": folder / asked["ledger"], "source_name": "survey"}
    if name == "after another":
        dv.release(table, folder / "before.csv", **asked, per_row=True)
    dv.release(table, folder / "out.csv", **asked, per_row=per_row)
    return folder / "out.receipt.json"


def protecting(name: str, folder: Path) -> Path:
    table = SURVEY.append_column("z", pa.array(["u", "v", "v", "u", "u", "v"] * 20))
    dv.release(table, folder / "out.csv", column="x", only_column=True, per_row=True, **PROTECTED[name])
    return folder / "out.receipt.json"


def stated(name: str, folder: Path) -> Path:
    asked, how = STATISTICS[name]
    how = {"values": {k: v for k, v in VALUES.items() if any(k in one.by for one in asked)}} | how
    dv.publish(SURVEY, asked, folder / "out.csv", **{k: v for k, v in how.items() if v is not None})
    return folder / "out.receipt.json"


def coarsened(name: str, folder: Path) -> Path:
    known = ["age"] if "two" in name else ["age", "sex"]
    ages = dv.tables.Hierarchy.ladder(5, 10)
    dv.generalize(AGES, known, hierarchies={"age": ages}, sink=folder / "out.csv", **GROUPS[name])
    return folder / "out.receipt.json"


def made(name: str, folder: Path) -> Path:
    """Return the receipt of one of all kinds."""
    kinds = {released: RELEASES, protecting: PROTECTED, stated: STATISTICS, coarsened: GROUPS}
    return next(of for of, names in kinds.items() if name in names)(name, folder)


@cache
def paper(name: str) -> str:
    """Return the text of the receipt of one of all kinds, made once."""
    with TemporaryDirectory() as folder:
        return made(name, Path(folder)).read_text()


def written(document: Any, path: Path) -> Path:
    """Write a receipt with a checksum that fits."""
    document = {k: v for k, v in document.items() if k != "checksum"}
    kinds = dict.fromkeys((published.FORMAT, papers.FORMAT), signature.checksum)
    of = kinds.get(document["format"], lambda found: receipt._checksum(receipt._canonical(found)))
    path.write_text(json.dumps(document | {"checksum": of(document)}))
    return path


LABELS = {"secrets", "outcomes", "columns", "by", "column", "kind", "family", "warnings", "values", "known", "secret",
          "notes", "source", "output", "digest", "version"}  # fmt: skip
"""Names and sentences, which are changed by tests of their own."""


def number(value: Any) -> Any:
    """Return the number of a leaf, also where text writes it; None where there is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    if not isinstance(value, str):
        return value
    try:
        return Fraction(value.partition("=")[2].partition(":")[0] or value)
    except ValueError:
        return None


def numbers(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where a document has a number."""
    if isinstance(part, (dict, list)):
        for name, inner in part.items() if isinstance(part, dict) else enumerate(part):
            if name not in LABELS:
                yield from numbers(inner, (*path, name))
    elif number(part) is not None:
        yield path


def halved(value: Any) -> Any:
    return value // 2 if isinstance(value, int) else value / 2


def doubled(value: Any) -> Any:
    return 2 * value + (value == 0)


def changed(document: Any, path: tuple[Any, ...], how: Callable[[Any], Any]) -> Any:
    """Return a document with one number changed, in text where it was written so."""
    found = copy.deepcopy(document)
    place = found
    for step in path[:-1]:
        place = place[step]
    old = place[path[-1]]
    new = how(number(old))
    if isinstance(old, str):
        kind, equals, level = old.rpartition("=") if "=" in old else ("", "", old)
        new = f"{kind}{equals}{new}{''.join(level.partition(':')[1:])}"
    place[path[-1]] = new
    return found


def refused(path: Path) -> str:
    with pytest.raises(dv.InputFileError) as error:
        read_receipt(path)
    return str(error.value)


STATED = "what was asked for, or allowed: it is held against what there is, and more is a weaker truth"

FREE: dict[str, dict[str, str]] = {
    "releases": {
        "rows.*": "how many rows went out, which the table shows",
        "asked.*.doubled": STATED,
        "about.asked.*.doubled": STATED,
        "mechanisms.*.prior_set.radius.*": "a set of priors, where ldp is the bound in any case",
        "protects.people.halved": "how many people there are stands nowhere else, beside bounds by the rows",
        "protects.squares.halved": "nor how uneven their rows are",
        "together.releases.*": "other releases are in the ledger, not in the paper",
        "together.guarantees.ldp.doubled": "what others add is in the ledger; less than this one alone is refused",
        "together.guarantees.pml.*": "likewise; it is between that of this release and the ldp of all",
        "together.guarantees.pmc.*": "likewise",
    },
    "statistics": {
        "rows.*": "the public number of rows, which nothing else in the receipt has",
        "level.halved": "choices by rank have no widths in the receipt",
        "queries.*.cells.*": "a few more cells have the same widths, and choices by rank have none",
        "queries.*.low.*": "the other end of the bounds is what a row can add at most",
        "queries.0.at.*": "a choice by rank has the same loss at probabilities alike far from a half",
        "guarantees.adp.delta.*": "Laplace noise keeps its epsilon at any delta",
    },
    "groups": {
        "guarantees.*": "computed from the counts: what passes holds",
        "levels.*": "up to its height; which level its values have is seen in the table",
        "hierarchies.*": "the rule, but for the number of its levels",
    },
}  # fmt: skip
"""What may be changed without a contradiction, by its place, and why: nothing else in the paper says it."""


def free(name: str) -> dict[str, str]:
    """Return what is free in a paper."""
    return FREE["statistics" if name in STATISTICS else "groups" if name in GROUPS else "releases"]


@pytest.mark.thin
@pytest.mark.parametrize("name", ALL)
def test_every_number_of_a_paper_follows(name: str, tmp_path: Path) -> None:
    path, document = tmp_path / "out.receipt.json", json.loads(paper(name))
    assert read_receipt(written(document, path))
    kept: list[str] = []
    for place in numbers(document):
        for how in (halved, doubled):
            edited = changed(document, place, how)
            if edited == document:
                continue
            try:
                read_receipt(written(edited, path))
            except dv.InputFileError:
                continue
            kept.append(".".join(map(str, (*place, how.__name__))))
    left = [place for place in kept if not any(fnmatch(place, one) for one in free(name))]
    assert not left, left


def texts(part: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where a document has text."""
    if isinstance(part, (dict, list)):
        for name, inner in part.items() if isinstance(part, dict) else enumerate(part):
            yield from texts(inner, (*path, name))
    elif isinstance(part, str):
        yield path


SHAPES = ["a design", "several rows", "a law", "quantiles", "a secret", "groups and a secret"]
"""Papers that together have every part that a paper can have."""


@pytest.mark.thin
@pytest.mark.parametrize("name", SHAPES)
def test_no_text_of_a_paper_is_written_out_as_a_power_of_ten(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, document = tmp_path / "out.receipt.json", json.loads(paper(name))
    asked = watched_powers(monkeypatch)
    for place in texts(document):
        edited = copy.deepcopy(document)
        at = edited
        for step in place[:-1]:
            at = at[step]
        at[place[-1]] = "1e999999999"
        with suppress(dv.InputFileError):
            read_receipt(written(edited, path))
        assert not asked, place


PARTS = [None, "", -1, 10**400, "inf", True, [], {}, [None], {"a": None}]
"""What takes the place of parts, in turn; of each part in `make search`."""


@pytest.mark.thin
@pytest.mark.parametrize("name", SHAPES)
def test_a_paper_with_a_part_of_another_kind_is_read_or_refused_in_words(name: str, tmp_path: Path) -> None:
    """Each key and the first part of each list, removed or replaced, in a file and as Python has it."""
    path, document = tmp_path / "out.receipt.json", json.loads(paper(name))

    def places(part: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
        for key, inner in part.items() if isinstance(part, dict) else list(enumerate(part))[:1]:
            yield (*at, key)
            if isinstance(inner, (dict, list)):
                yield from places(inner, (*at, key))

    parts = {key: value for key, value in document.items() if key not in ("format", "checksum")}
    for turn, place in enumerate(places(parts)):
        values = ("nothing", *PARTS)
        for value in values if THOROUGH else (values[turn % len(values)],):
            edited = copy.deepcopy(document)
            at = edited
            for step in place[:-1]:
                at = at[step]
            if value == "nothing":
                del at[place[-1]]
            else:
                at[place[-1]] = value
            written(edited, path)
            for read in (lambda: read_receipt(path), lambda edited=edited: dv.Receipt.from_dict(edited)):
                with suppress(dv.DivulgeError):
                    read()


BROKEN = ["k=16", "t=0.01", "ordered-t=0.01", "pml=0.01", "pmc=0.01", "lip=0.01", "alip=0.01:0.01", "lift=1.01",
          "distinct-l=3", "entropy-l=1.999", "recursive-l=1.01:2", "beta=0.01", "enhanced-beta=0.01",
          "delta-disclosure=0.01"]  # fmt: skip


@pytest.mark.thin
@pytest.mark.parametrize("text", BROKEN)
def test_a_guarantee_that_the_counts_of_a_coarsened_table_break_is_refused(text: str, tmp_path: Path) -> None:
    path = coarsened("groups and a secret", tmp_path)
    document = json.loads(path.read_text())
    document["guarantees"] = [text]
    assert "edited" in refused(written(document, path))


def test_counts_of_a_coarsened_table_are_those_of_its_groups(tmp_path: Path) -> None:
    path = coarsened("groups and two secrets", tmp_path)
    document = json.loads(path.read_text())
    sizes, first = document["sizes"], document["subjects"][0]
    (group, *_) = first["groups"]
    for edit in (
        {"sizes": {}}, {"sizes": {"-1": 1}}, {"sizes": {"0": 1, **sizes}}, {"sizes": {"x": 1}},
        {"sizes": {"1" * 40: 1}},
        {"sizes": {str(2 * int(size)): many for size, many in sizes.items()}}, {"subjects": []},
        {"subjects": [first]}, {"subjects": [{**first, "groups": []}] * 3}, {"subjects": [{**first, "totals": []}] * 3},
        {"subjects": [{**first, "groups": [{"99": 1}]}] * 3}, {"subjects": [{**first, "groups": [{"-1": 1}]}] * 3},
        {"subjects": [{**first, "groups": [group, group]}, *document["subjects"][1:]]},
        {"rows": 2**62, "sizes": {str(2**62): 1}, "groups": 1, "k": 2**62, "people": 2**62},
        {"notes": []}, {"heights": {}}, {"lift": "1e99999999"}, {"lift": "nan"},
        {"hierarchies": {"age": {"kind": "ladder", "arguments": [["5"], None, None]}}},
    ):  # fmt: skip
        assert refused(written({**document, **edit}, path)), edit


def test_a_paper_that_is_signed_is_read_as_any_other(tmp_path: Path) -> None:
    """Whoever signs what does not follow is told, with both numbers."""
    from divulge.releasing.output.signature import private_key, signed

    private, public = key_pair(tmp_path)
    path = released("a channel", tmp_path)
    document = json.loads(path.read_text())
    document["mechanisms"][0]["guarantees"]["ldp"] = document["guarantees"]["ldp"] = 0.01
    for found in (json.loads(written(document, path).read_text()),):
        for paper in (found, {"receipt": found}):
            path.write_bytes(signed(json.dumps(paper).encode(), private_key(private)))
            with pytest.raises(dv.InputFileError, match=r"computed to be 1\.7917"):
                dv.verify(path, public)


def test_the_ledger_refuses_an_entry_whose_levels_its_weights_do_not_have(tmp_path: Path) -> None:
    """Also where the digest of the entry was computed anew."""
    import sqlite3

    from divulge.releasing.records.entries import digest_of

    book = tmp_path / "book.sqlite"
    asked = {"column": "x", "mechanism": COIN, "ledger": book, "source_name": "survey", "per_row": True}
    dv.release(SURVEY, **asked)
    with sqlite3.connect(book) as connection:
        ((text,),) = connection.execute("SELECT mechanisms FROM divulge_releases").fetchall()
        (part,) = json.loads(text)
        part["guarantees"]["ldp"] = 0.01
        edited = json.dumps([part])
        connection.execute("UPDATE divulge_releases SET mechanisms = ?", (edited,))
        connection.execute("UPDATE divulge_about SET mechanisms = ?", (digest_of(edited),))
    connection.close()
    for ask in (lambda: dv.Ledger(book).entries(), lambda: dv.release(SURVEY, **asked)):
        with pytest.raises(dv.DivulgeError, match="not as it was written"):
            ask()


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


def test_a_signature_has_one_spelling_and_stands_alone(tmp_path: Path) -> None:
    private, public = key_pair(tmp_path)
    dv.release(SURVEY, tmp_path / "out.csv", column="x", mechanism=COIN, per_row=True, sign=private)
    paper = tmp_path / "out.receipt.json"
    document = json.loads(paper.read_text())
    value = document["signature"]["value"]
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    other = f"{value[:-3]}{letters[letters.index(value[-3]) + 1]}=="
    assert base64.b64decode(other) == base64.b64decode(value)
    for edit in ({"value": other}, {"value": f"{value}\n"}, {"value": value.encode().hex()}, {"scheme": "none"}):
        paper.write_text(json.dumps({**document, "signature": {**document["signature"], **edit}}))
        assert not dv.verify(paper, public).valid, edit
    paper.write_text(json.dumps({**document, "signatures": [document["signature"]]}))
    assert not dv.verify(paper, public).valid
    twice = json.dumps(document["signature"])
    paper.write_text(f'{{"signature": {twice}, {json.dumps(document)[1:]}')
    with pytest.raises(dv.InputFileError, match="comes twice"):
        dv.verify(paper, public)


def test_signatures_are_those_of_the_standard(tmp_path: Path) -> None:
    """RFC 8032: over the canonical JSON of all other parts, checked here by another route than `verify`."""
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
