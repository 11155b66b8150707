"""The statement: its numbers by other routes, and the questions that it must answer for whoever sees nothing else."""

import json
import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import few

import divulge as dv
from divulge.guarantees.catalog import KINDS
from divulge.guarantees.kinds.tables import TABLES
from divulge.releasing.planning import naming
from divulge.reporting.statements import codebook
from divulge.reporting.statements.facts import Facts
from divulge.reporting.statements.promised import promised, times
from divulge.reporting.statements.sentences import SENTENCES
from divulge.reporting.statements.statement import Statement
from divulge.reporting.statements.voice import Voice, catalog, languages, placeholders, plain
from divulge.tables.levels.losses import LOSSES

FAITHS = ("Catholic", "None", "Muslim", "Other", "Buddhist", "Jewish")
COUNTS = (700, 300, 100, 52, 30, 18)
TABLE = pa.table({"faith": np.repeat(FAITHS, COUNTS), "sex": ["f", "m"] * 600})


def released(**asked: Any) -> dv.Receipt:
    return dv.release(TABLE, column="faith", **({"guarantee": "ldp=1"} | asked))


def said(receipt: dv.Receipt, language: str = "en") -> str:
    return " ".join(re.sub(r"^[-=]+$", "", dv.statement(receipt, language).text(), flags=re.MULTILINE).split())


def test_the_ten_questions_are_answered() -> None:
    text = said(released())
    keep = math.e / (math.e + 5)  # randomized response over six values, odds e to 1
    # how often it is untrue, first of all
    assert text.index(f"{1000 - round(1000 * keep)} appear with an answer that is not theirs") < text.index("promise")
    # which answers occur
    assert "Each of these answers can be said, and no true answer is missing" in text
    assert all(f"“{x}”" in text for x in FAITHS)
    # what a row that says V means
    assert "any other answer that is more than 2.72 times as frequent is still likelier" in text
    # the largest rise, from what to what: odds 10 : 990 become 10 e : 990
    assert f"every true answer alike 10 {math.ceil(1000 * 10 * math.e / (10 * math.e + 990))} the same answer" in text
    # somebody who knows everything else
    assert "Yes. The bound of 2.72 times holds for everybody" in text
    # a small group
    assert re.search(r"From these 1,200 rows, how many people have a rare true answer .* within about \d+ people", text)
    # a second release, as a number
    assert "by 7.39 times in place of 2.72 times" in text
    # may it be public, and how many are in a group
    assert "Can a small group be counted? Only from many rows" in text
    assert "May this page be public? Yes." in text
    assert "This page does not tell." in text
    # at most risk; ties are ties
    assert "no group bears more than another" in text
    # somebody who is worried
    assert "Nobody can tell from this column what you answered" in text
    # what one would print in bold
    assert "These other columns were not changed" in text
    assert "in their old order" in text


def test_one_rounding_of_a_factor_and_no_words_of_the_trade() -> None:
    text = said(released()).partition("In technical words")[0]
    assert set(re.findall(r"(\d\.\d+)(?= times)", text)) == {"2.72", "7.39"}
    for word in ("nats", "pml", "pmc", "ldp", "inf", "lift", "prior", "epsilon", "None of"):
        assert not re.search(rf"\b{word}\b", text), word
    assert not re.search(r"of (100|10,000)\b", text), "chances are of 1,000"


def test_no_count_of_the_source_is_told_and_counts_change_nothing() -> None:
    even = pa.table({"faith": np.repeat(FAITHS, 200), "sex": ["f", "m"] * 600})
    other = dv.release(even, column="faith", guarantee="ldp=1")
    assert dv.statement(released()).html() == dv.statement(other).html()


@pytest.mark.thin
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"guarantee": "pml=0.5"}, "no true answer more than 1.65 times as likely as it was, for somebody who before "
                                   "took it that all answers are equally frequent"),
        ({"guarantee": "pml=0.5", "prior": "lower=1/20"}, "no answer is rarer than 50 in 1,000"),
        ({"guarantee": ["ldp=1", "lip=0.9"]}, "more than 2.46 times likelier or less likely"),
        ({"guarantee": None, "mechanism": "randomized-response", "ratio": 3}, "No promise was typed. What the method "
                                                                              "itself keeps"),
        ({"guarantee": None, "mechanism": "identity"}, "There is no bound that holds against everybody"),
        ({"guarantee": None, "mechanism": "identity"}, "The published answers are the true ones"),
        ({"prior_from_data": True}, "The method was made from the table itself"),
        ({"prior_from_data": True}, "must not get the codebook or the receipt either"),
        ({"prior": "noisy=0.25"}, "changes nobody’s odds about that person’s true answer by more than 2.72 times"),
        ({"guarantee": "ldp=1", "outcomes": "sets", "purpose": "information"}, "are never said by themselves"),
        ({"guarantee": "ldp=1", "outcomes": "sets", "purpose": "information"}, "No. How many people have each true"),
        ({"guarantee": "alip=0.5:0.6"}, "more than 1.83 times likelier, and none more than 1.65 times less likely"),
    ],
)  # fmt: skip
def test_the_promise_is_the_one_that_was_typed(asked: dict[str, Any], words: str) -> None:
    done = released(**asked)
    text = said(done)
    assert words in text
    assert "inf" not in re.split(r"\W", text)
    assert "trillion" not in text
    assert len(dv.statement(done, "de").text()) > 2000


PROMISES = {
    "f": "kl", "epsilon": "0.7", "lower": "0.6", "upper": "0.8", "ratio": "3", "delta": "1/100", "outside": "1/8",
    "distance": "1/4", "alpha": "2", "order": "4", "omega": "3", "zeta": "5", "mu": "1", "mean": "0.9", "tau": "2",
    "rho": "2", "xi": "0.1", "cap": "5", "divergence": "5", "degree": "inf",
}  # fmt: skip


@pytest.mark.parametrize("kind", [kind.kind for kind in TABLES])
def test_promises_about_groups_of_a_table_are_none_about_what_is_said(kind: str) -> None:
    asked = {"recursive-l": "recursive-l=3:2"}.get(
        kind, f"{kind}=2" if kind not in ("t", "ordered-t") else f"{kind}=1/2"
    )
    with pytest.raises(dv.DivulgeError, match="divulge generalize"):
        dv.release(pa.table({"answer": ["yes", "no"]}), column="answer", epsilon=0.1, guarantee=asked)


@pytest.mark.parametrize(
    "kind", [kind for kind, made in KINDS.items() if made not in TABLES and "metric" not in made.index]
)
def test_every_kind_of_promise_is_said_in_every_language(kind: str) -> None:
    """A mechanism that keeps any of them: the sentence is there, with all its numbers, in one language alone."""
    numbers = {"epsilon": ("2.02", "1.01", "0.7"), "lower": ("1.83",), "upper": ("2.23",), "mean": ("2.46",),
               "delta": ("10",), "outside": ("125",), "distance": ("250",), "degree": ("∞",)}  # fmt: skip
    for form in KINDS[kind].forms or (KINDS[kind].parameters(),):
        asked = f"{kind}={':'.join(PROMISES[name] for name in form)}"
        table = pa.table({"answer": ["yes", "no"]})
        receipt = dv.release(table, column="answer", mechanism="randomized-response", epsilon=0.1, guarantee=asked)
        for language, start, point in (("en", "The promise", "."), ("de", "Das Versprechen", ",")):
            words = plain(promised(receipt.asked[0], Facts(receipt.mechanisms[0], receipt.rows), Voice(language)))
            assert words.startswith(start)
            for name in form:
                shown = numbers.get(name, (PROMISES[name],))
                assert any(one.replace(".", point) in words for one in shown), (name, words)
            assert_one_language(words, language)


@cache
def pieces(language: str) -> set[str]:
    """What sentences consist of between their blanks, where it is long enough to tell the language."""
    found = {piece.strip() for one in catalog(language).values() for piece in re.split(r"\{\w+\}", one)}
    return {piece for piece in found if len(piece.split()) > 2}


def assert_one_language(text: str, language: str) -> None:
    """Say that no piece of a sentence of another language stands in a text."""
    text = " ".join(re.sub(r"^[-=]+$", "", text, flags=re.MULTILINE).split())
    for other in set(languages()) - {language}:
        assert [piece for piece in pieces(other) - pieces(language) if piece in text] == []


@pytest.mark.thin
@pytest.mark.parametrize(
    "asked",
    [
        {}, {"prior_from_data": True}, {"prior": "noisy=0.25"}, {"prior": "lower=1/20", "guarantee": "pml=0.5"},
        {"guarantee": "ldp=6"}, {"guarantee": "ldp=9"}, {"guarantee": "ldp=20"},
        {"outcomes": "sets", "purpose": "information"},
        *({"guarantee": None, "mechanism": name, "purpose": "record"} for name in ("identity", "constant")),
        *({"guarantee": None, "mechanism": name, "epsilon": e, "purpose": "record"}
          for name, e in (("erasure", 1), ("geometric", 1), ("subset-selection", 0.1), ("randomized-response", 4))),
    ],
    ids=str,
)  # fmt: skip
def test_statement_and_codebook_are_in_one_language(asked: dict[str, Any]) -> None:
    receipt = released(**asked)
    for language in languages():
        papers = (
            dv.statement(receipt, language).text(),
            codebook.as_markdown(receipt, language).decode(),
            codebook.as_json(receipt, language).decode(),
        )
        for paper, text in enumerate(papers):
            assert_one_language(text, language)
            assert "∞" not in text
            assert "{" not in text.replace("matrix[i][j]", "") or paper == 2


def test_a_public_prior_is_told_before_and_after_with_the_likeliest_truth() -> None:
    public = dv.Prior([0.6, 0.2, 0.1, 0.05, 0.03, 0.02], FAITHS)
    receipt = released(prior=public)
    text = said(receipt)
    joint = dv.Joint(public, receipt.channel.aligned(FAITHS))
    for j, outcome in enumerate(joint.outcomes):
        after = joint.posterior(outcome)
        best = max(FAITHS, key=lambda x: float(after[x]))
        own, top = 1000 * float(after[outcome]), round(1000 * float(after[best]))
        before = Voice().number(1000 * float(public[outcome]), 1)
        assert f"{outcome} {before} {Voice().number(own, 1)} “{best}”: {top}" in text, (j, outcome)
    assert "Jewish 20 52.6 “Catholic”: 580" in text  # by hand: 0.02 e / (0.02 e + 0.98), 0.6 / (0.02 e + 0.98)


@settings(max_examples=few(30), deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_no_prior_and_no_outcome_beats_what_the_page_says(seed: int) -> None:
    """The rises, the table of what rows mean, and the factor for everybody hold for random priors."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    rows = rng.dirichlet(np.ones(n), n) + 2 * np.eye(n)
    channel = dv.Channel(rows / rows.sum(axis=1, keepdims=True), list("abcdefg"[:n]), list("abcdefg"[:n]))
    table = pa.table({"x": list("abcdefg"[:n])})
    try:
        receipt = dv.release(table, column="x", mechanism=channel)
    except dv.DivulgeError:  # an outcome that raises another value more
        assert naming.untrue(channel.floats, channel.secrets, channel.outcomes)
        return
    facts = Facts(receipt.mechanisms[0], receipt.rows)
    matrix = receipt.mechanisms[0].channel.exact.floats
    for _ in range(few(20)):
        p = rng.dirichlet(np.full(n, rng.choice([0.1, 1.0])))
        joint = p[:, None] * matrix
        after = joint / joint.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            change = (after / (1 - after)) / (p / (1 - p))[:, None]
        change = change[(p > 1e-6) & (p < 1 - 1e-6)]
        assert (change <= facts.factor * (1 + 1e-6)).all()
        assert (change <= facts.rises[(p > 1e-6) & (p < 1 - 1e-6)] * (1 + 1e-6)).all()
    worst = np.unravel_index(facts.rises.argmax(), facts.rises.shape)
    assert facts.rises[worst] == pytest.approx(facts.factor, rel=1e-9)


def test_releases_before_are_named_with_their_sum(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        receipt = released(ledger=tmp_path / "l.sqlite", source_name="survey")
        found: Statement = dv.statement(receipt)
        if number == 1:
            assert found.together == ""
        else:
            e = f"{math.ceil(math.exp(number) * 10 ** (2 if number == 2 else 1)) / 10 ** (2 if number == 2 else 1):g}"
            assert f"Together with this one there are {number}" in found.together
            assert f"change the odds by {e} times" in found.together
            assert found.together in " ".join(found.text().split())


def test_factors_are_rounded_up_once() -> None:
    assert times(Voice("en"), math.e) == "2.72"
    assert times(Voice("de"), math.e) == "2,72"
    assert times(Voice("en"), 20.0855) == "20.1"
    assert times(Voice("en"), 3.0000000000001) == "3"
    assert times(Voice("en"), 1.0) == "1"


def test_every_language_has_every_sentence_with_the_same_blanks() -> None:
    assert {"en", "de"} <= set(languages())
    for language in languages():
        found = catalog(language)
        assert set(found) == set(SENTENCES)
        for name, text in SENTENCES.items():
            assert placeholders(found[name]) == placeholders(text), (language, name)
            assert language == "en" or found[name] != text or name == "most", (language, name)
    with pytest.raises(dv.DivulgeError, match="one of de, en"):
        dv.statement(released(), "klingon")
    with pytest.raises(dv.DivulgeError, match="one of de, en"):
        released(language="klingon")


def test_the_files_of_a_release_hold_it_and_a_receipt_makes_it_again(tmp_path: Path) -> None:
    receipt = dv.release(TABLE, tmp_path / "o.csv", column="faith", guarantee="ldp=1", language="de")
    page = (tmp_path / "o.statement.html").read_text()
    assert page == dv.statement(tmp_path / "o.receipt.json", "de").html()
    assert '<html lang="de">' in page
    assert (tmp_path / "o.statement.txt").read_text() == dv.statement(receipt, "de").text()
    assert (tmp_path / "o.codebook.md").read_bytes() == codebook.as_markdown(receipt, "de")
    assert (tmp_path / "o.codebook.json").read_bytes() == codebook.as_json(receipt, "de")
    assert json.dumps(dv.statement(receipt).to_dict())
    with pytest.raises(dv.DivulgeError, match="be a Receipt or the path of one"):
        dv.statement(3)


def test_several_columns_are_told_each_and_warned_of_once() -> None:
    coin = {name: dv.mechanisms.randomized_response(values, 1.0)
            for name, values in (("faith", FAITHS), ("sex", ["f", "m"]))}  # fmt: skip
    receipt = dv.release(TABLE, column=["faith", "sex"], mechanism=coin)
    text = said(receipt)
    assert "“faith_perturbed” and “sex_perturbed”" in text
    assert text.count("May this page be public?") == 1
    assert text.count("Which answers occur?") == 2


def test_hostile_labels_are_words() -> None:
    evil = ['<script>alert("1")</script>', "\x1b[2J", "a\u202eb", "{times}"]
    table = pa.table({"x": evil * 5, "<b>": [1] * 20})
    page = dv.statement(dv.release(table, column="x", guarantee="ldp=1")).html()
    assert "<script" not in page
    assert "<b>" not in page
    assert not {"\x1b", "\u202e"} & set(page)
    assert "{times}" in page


def test_a_title_of_several_columns_is_plural() -> None:
    coin = {name: dv.mechanisms.randomized_response(values, 1.0)
            for name, values in (("faith", FAITHS), ("sex", ["f", "m"]))}  # fmt: skip
    one = dv.release(TABLE, column="faith", mechanism=coin["faith"])
    two = dv.release(TABLE, column=["faith", "sex"], mechanism=coin)
    begun = [plain(dv.statement(done, language).title).split()[:3] for done in (one, two) for language in ("en", "de")]
    assert [" ".join(words) for words in begun] == [
        "What the column", "Was die Spalte", "What the columns", "Was die Spalten"
    ]  # fmt: skip
    ends = [plain(dv.statement(done).title).split()[-4] for done in (one, two)]
    assert ends == ["tells", "tell"]


@pytest.mark.parametrize("loss", LOSSES)
def test_the_loss_of_a_coarse_table_is_said_in_every_language(loss: str, tmp_path: Path) -> None:
    table = pa.table({"age": [str(20 + i % 8) for i in range(80)], "ill": ["x", "y"] * 40})
    said = dict[str, str]()
    for language in ("en", "de"):
        out = tmp_path / f"{language}.csv"
        dv.generalize(table, "age", "ill", out, guarantees="k=5", loss=loss, per_row=True, language=language)
        said[language] = " ".join(out.with_suffix(".statement.txt").read_text().split())
    title = LOSSES[loss].title
    assert title in said["en"]
    assert title not in said["de"]
    assert Voice("de").known(title) in said["de"]


def test_the_codebook_writes_a_matrix_as_json_does(monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (1 << 14, 2):
        monkeypatch.setattr(codebook, "_MOST_NUMBERS", most)
        rows = np.random.default_rng(2).dirichlet(np.ones(5), 4)
        rows[0] = [0.0, 1.0, 1e-300, 0.1, 0.1]
        assert codebook._matrix(rows.tolist()) == json.dumps(rows.tolist())
    done = dv.release({"a": ["x", "y"], "b": ["1", "2"]}, column=["a", "b"], guarantee="ldp=1", values={"a": ["x", "y"],
                      "b": ["1", "2"]})  # fmt: skip
    found = codebook.as_data(done, Voice("en"))
    assert json.loads(codebook.as_json(done)) == json.loads(json.dumps(found))
