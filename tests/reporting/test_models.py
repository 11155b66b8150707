"""The statement about the audit of a model: what is measured, promised and believed before, on the safe side."""

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reporting.reading import Reader
from scipy.stats import beta, norm

import divulge as dv
from divulge.cli.main import app

COUNTS = np.repeat([1.0, 0.0, 1.0, 0.0], [50, 950, 1, 999]), np.arange(2000) < 1000


def said(language: str = "en", **options: Any) -> str:
    options = {"base_rate": 0.01, "cut": 0.5, **options}
    return " ".join(dv.statement(dv.audit_membership(*COUNTS, **options), language).text().split())


def test_what_is_measured_is_rounded_down_and_what_is_promised_up() -> None:
    """Precision .0635313482 (spec); e / (e + 99) after randomized response of e^3 is .16868..."""
    text = said(claim="dp=3")
    assert "at least 63.53 of 1,000 people whom they name. Of all people looked at, 10 of 1,000" in text
    after = re.search(r"at most ([\d.]+) of 1,000 for somebody who sees the model", text)
    assert after is not None
    exactly = 1000 * 0.01 * np.exp(3) / (0.01 * np.exp(3) + 0.99)
    assert exactly <= float(after[1]) < exactly * 1.001
    assert "cannot confirm it" in text
    assert "at most 50 of 1,000 such audits" in text
    assert "one attack" in text


def test_a_refuted_promise_promises_nothing() -> None:
    text = said(claim="dp=1")
    assert "does not hold" in text
    assert "If the promise" not in text
    assert "If it holds" not in text


@pytest.mark.parametrize(("claim", "words"), [
    ("gdp=1", "but for 1 of 1,000"),
    ("tv=0.5", "for certain"),
    ("adp=3:1e-5", "by mistake, or more"),
    (None, "None was put to"),
])  # fmt: skip
def test_other_claims(claim: str | None, words: str) -> None:
    assert words in said(claim=claim)


def test_without_a_base_rate_and_of_one_run() -> None:
    assert "by at least 6.716 times" in said(base_rate=None)  # .0373353976 / .0055589243
    member = np.random.default_rng(0).random(400) < 0.5
    for method in ("one-run", "anytime", "f-dp"):
        found = dv.audit_membership(3.0 * member, member, method=method)
        text = dv.statement(found).text()
        assert ("changes the odds" in " ".join(text.split())) is (method != "f-dp")
        assert "fair coin" in text
    nothing = dv.audit_membership(np.zeros(400), member)
    assert "no proof that nobody can tell" in " ".join(dv.statement(nothing).text().split())


@pytest.mark.parametrize(("claim", "after", "hits"), [
    ("dp=3", lambda a: a * math.exp(3) / (a * math.exp(3) + 1 - a), None),
    ("gdp=1", lambda a: a * 1e-3 / (a * 1e-3 + (1 - a) * norm.sf(norm.isf(1e-3) + 1)),
     lambda x: norm.cdf(norm.ppf(x) + 1)),
    ("adp=3:1e-5", lambda a: a * 1e-3 / (a * 1e-3 + (1 - a) * (1e-3 - 1e-5) / math.exp(3)),
     lambda x: math.exp(3) * x + 1e-5),
    ("dp=1", None, None),
    (None, None, None),
])  # fmt: skip
def test_every_number(claim: str | None, after: Any, hits: Any) -> None:
    """Of 50 hits and 1 false alarm in a thousand: ends by Clopper and Pearson, and what a claim leaves, by hand."""
    read, a = Reader(said(claim=claim)), 0.01
    found, false = float(beta.ppf(0.025, 50, 951)), float(beta.ppf(0.975, 2, 999))

    def near(said: float, true: float, above: bool) -> None:
        """Assert that a number of four digits is rounded up, or down."""
        step = 10.0 ** (math.floor(math.log10(true)) - 3)
        assert 0 <= (said - true if above else true - said) + 1e-9 < step + 2e-9

    ((shown, of, before, base),) = read.numbers(
        "is right for at least # of # people whom they name. Of all people looked at, # of # were in it."
    )
    near(shown, 1000 * a * found / (a * found + (1 - a) * false), above=False)
    assert (before, of, base) == (10, 1000, 1000)
    ((epsilon, delta, mu),) = read.numbers("epsilon at least #, in natural logarithms, at delta #; mu at least #.")
    near(epsilon, math.log((found - delta) / false), above=False)
    near(mu, norm.ppf(found) - norm.ppf(false), above=False)
    assert delta == (1e-5 if "adp" in str(claim) else 0)
    assert read.numbers("scored # people who were in the training data and # who were not") == [[1000, 1000]]
    assert read.numbers("too large in at most # of # such audits") == [[50, 1000]]
    if after is not None:
        ((before, of, then, base),) = read.numbers("in the training data, # of # before, becomes at most # of # for")
        near(then, 1000 * after(a), above=True)
        assert (before, of, base) == (10, 1000, 1000)
    if hits is not None:
        ((alarms, of, right, base),) = read.numbers(
            "names # of # people by mistake, or more, is right for at most # of #"
        )
        near(alarms, 1000 * false, above=True)
        near(right, 1000 * a * hits(false) / (a * hits(false) + (1 - a) * false), above=True)
        assert (of, base) == (1000, 1000)
        assert read.numbers("but for # of # such models") == [[1, 1000]]
    if claim == "dp=1":
        assert read.numbers("refute a promise that holds in at most # of # cases") == [[50, 1000]]
    left = re.sub(r"\b[a-z]+=[\d:.e-]+", "", read.left)
    assert not re.search(r"\d", left), re.findall(r".{30}\d.{30}", left)


@pytest.mark.parametrize("claim", [None, "dp=1", "dp=3", "gdp=1", "tv=0.5"])
def test_german_has_the_same_numbers(claim: str | None) -> None:
    english, german = said(claim=claim), said("de", claim=claim)
    swapped = german.replace(f"{claim}", "").translate(str.maketrans(".,", ",."))
    numbers = [sorted(re.findall(r"\d[\d,.]*\d|\d", text)) for text in (english.replace(f"{claim}", ""), swapped)]
    assert numbers[0] == numbers[1]
    assert not re.search(r"\b(the|was|were|people|which)\b", german.replace("was ", "").replace("Was ", ""))


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    table = tmp_path / "s.csv"
    table.write_text("s,in\n" + "\n".join(f"{s},{int(m)}" for s, m in zip(*COUNTS, strict=True)) + "\n")
    page = tmp_path / "p.html"
    line = ["audit-model", str(table), "--score", "s", "--member", "in", "--base-rate", "0.01", "--cut", "0.5",
            "--claim", "dp=1", "--statement", str(page), "--language", "de"]  # fmt: skip
    told = CliRunner().invoke(app, line)
    assert told.exit_code == 1, told.output
    assert '<html lang="de">' in page.read_text()
    assert "63,53 von 1.000" in page.read_text()
