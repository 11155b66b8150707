"""The report: its numbers against the measures by other routes, its page as a reader and a browser meet it."""

import base64
import math
import re
from fractions import Fraction
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from matplotlib.figure import Figure
from support import few, joints

import divulge as dv
from divulge.reporting.page import tag
from divulge.reporting.reports import pictures
from divulge.reporting.reports.content import contents
from divulge.reporting.text import table_lines

COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["ill", "well"], ["yes", "no"])
JOINT = dv.Joint(["1/10", "9/10"], COIN)
HOSTILE = ['<script>alert("1")</script>', "\x1b[2J'\"&amp;", "$\\frac{1}$", "a\u202eb"]


@cache
def coin_page() -> str:
    return dv.report(JOINT, about="the coin").html()


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures are empty, where a test is about words."""
    monkeypatch.setattr("divulge.reporting.page.as_address", lambda *_: "data:image/svg+xml;base64,")


class Page(HTMLParser):
    """A page taken apart: which elements are open, what they say, and whether they close."""

    void = ("meta", "img")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.void:
            self.open.append(tag)
            self.text.setdefault(tag, []).append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.text[self.open[-1]][-1] += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@settings(max_examples=few(40), deadline=None)
@given(joints())
def test_beliefs_are_the_extreme_posteriors(joint: dv.Joint) -> None:
    posteriors = np.asarray(joint.posteriors[:, np.asarray(joint.occurring)], dtype=float)
    found = {belief.secret: belief for belief in dv.report(joint).beliefs}
    held = [x for x, held in zip(joint.secrets, joint.prior.support, strict=True) if held]
    assert held
    assert set(found) == set(held)
    for x in held:
        row = posteriors[list(joint.secrets).index(x)]
        assert found[x].up == pytest.approx(row.max(), rel=1e-12)
        assert found[x].down == pytest.approx(row.min(), rel=1e-12)
        assert float(joint.posterior(found[x].up_at)[x]) == pytest.approx(row.max(), rel=1e-12)
        assert float(joint.posterior(found[x].down_at)[x]) == pytest.approx(row.min(), rel=1e-12)
        others = np.delete(posteriors, list(joint.secrets).index(x), axis=0)
        assert found[x].confirmed == bool((others == 0).all(axis=0).any())
    assert max(b.up / b.before for b in found.values()) == pytest.approx(float(dv.lift(joint)), rel=1e-12)


@settings(max_examples=few(25), deadline=None)
@given(joints())
def test_every_attacker_attains_his_number(joint: dv.Joint) -> None:
    found = dv.report(joint).adversaries
    assert found["pml"].log() == pytest.approx(dv.pml(joint).max(), abs=1e-12)
    assert found["pmc"].log() == pytest.approx(dv.pmc(joint).max(), abs=1e-12)
    assert found["min-entropy-leakage"].log() == pytest.approx(dv.measures.min_entropy_leakage(joint), abs=1e-12)
    assert float(found["bayes-capacity"].leakage) == pytest.approx(float(dv.bayes_capacity(joint.channel)), rel=1e-12)
    if dv.ldp(joint.channel) < math.inf:
        assert found["ldp"].log() == pytest.approx(dv.ldp(joint.channel), abs=1e-9)


@settings(max_examples=few(15), deadline=None)
@given(joints())
def test_what_follows_is_never_less_than_what_is_measured(joint: dv.Joint) -> None:
    found = dv.report(joint)
    assert {"pml", "alip", "bayes-capacity", "mutual-information"} <= set(found.measured)
    for g in found.implied:
        for name in g.bounded():
            assert getattr(g, name) >= getattr(found.measured[g.kind], name) * (1 - 1e-9) - 1e-12


@settings(max_examples=few(15), deadline=None)
@given(joints(zeros=0.0))
def test_other_priors_leak_from_the_measured_values_up_to_ldp(joint: dv.Joint) -> None:
    found = dv.report(joint).sensitivity
    moved, pml, pmc = (np.array(column) for column in zip(*found, strict=True))
    assert (pml[0], pmc[0]) == pytest.approx((dv.pml(joint).max(), dv.pmc(joint).max()), abs=1e-9)
    assert moved[-1] == 1
    assert (pml[-1], pmc[-1]) == pytest.approx((dv.ldp(joint.channel),) * 2, abs=1e-9)
    assert (np.diff(pml) >= -1e-12).all()
    assert (np.diff(pmc) >= -1e-12).all()


def test_belief_may_move_to_secrets_that_an_outcome_rules_out() -> None:
    """The least mean of a column is 0 then, and not what a difference leaves: such an outcome tells everything."""
    from divulge.reporting.reports.report import around

    prior, matrix = (
        np.array([0.03, 0.4, 0.2, 0.0, 0.37]),
        np.array([[0.1, 0.9], [0.3, 0.7], [0.2, 0.8], [0, 1], [0, 1]]),
    )
    assert [pml for _, pml, _ in around(prior, matrix, (0.0, 0.62, 0.7, 1.0), "nats")][2:] == [math.inf] * 2
    assert around(prior, matrix, (0.62,), "nats")[0][1] == pytest.approx(math.log(0.3 / 0.001), rel=1e-9)


@settings(max_examples=few(30), deadline=None)
@given(joints(exact=False))
def test_other_priors_are_those_of_the_l1_ball(joint: dv.Joint) -> None:
    """The closed form against the linear programs over the ball; with a share above 0 every secret may be likely."""
    found = dv.report(joint).sensitivity
    plain = dv.Channel(joint.channel.floats, joint.channel.secrets, joint.channel.outcomes)
    for share, pml, pmc in found[:: max(len(found) // 4, 1)]:
        ball = dv.measures.L1Ball(dv.Prior(joint.prior.floats, joint.secrets), 2 * share)
        assert pml == pytest.approx(ball.pml(plain).max(), abs=1e-9)
        assert pmc == pytest.approx(ball.pmc(plain).max(), abs=1e-9)


def test_other_mechanisms_gain_no_more_and_the_envelope_lies_above_the_tail() -> None:
    prior = dv.Prior(["1/2", "1/4", "1/8", "1/8"])
    channel = dv.mechanisms.randomized_response(4, 1.2)
    found = dv.report((prior, channel))
    names = [row.name for row in found.compared]
    assert names[0] == "this release"
    assert names[-1] == "the secret itself"
    assert "randomized response" in names
    for row in found.compared[:-1]:
        assert row.pml <= dv.pml((prior, channel)).max() + 1e-12
        assert row.utility == pytest.approx(dv.mutual_information((prior, row.channel)), abs=1e-9)
    pml = dv.pml((prior, channel))
    assert all(bound >= pml.tail(t) - 1e-9 for t, bound in found.envelope)


def test_the_drawn_envelope_never_lies_below_the_true_one() -> None:
    """Between the places where it is known, too: there it once was 0.27 too low."""
    from matplotlib.figure import Figure

    prior = dv.Prior(["1/2", "1/4", "1/8", "1/8"])
    channel = dv.mechanisms.randomized_response(4, 1.2)
    found = dv.report((prior, channel))
    axes = Figure().subplots()
    pml, pmc = found.profile.pml, found.profile.pmc
    pictures.tails(pml, pmc, found.envelope, axes, found.voice)
    line = next(one for one in axes.lines if "merged" in str(one.get_label()))
    assert line.get_drawstyle() == "steps-post"
    places, heights = line.get_xdata(), line.get_ydata()
    for t in np.linspace(1e-6, pml.max() * (1 - 1e-9), 61):
        drawn = heights[np.searchsorted(places, t, side="right") - 1]
        assert drawn >= dv.tail_envelope((prior, channel), float(t)).lower - 1e-9


def test_what_was_typed_comes_first_and_theorems_are_folded() -> None:
    table = pa.table({"faith": ["a", "b", "b", "c", "c", "c"] * 50})
    receipt = dv.release(table, column="faith", guarantee="lip=0.5")
    found = dv.report(receipt)
    assert found.verdicts[0].guarantee == dv.LIP(0.5)
    assert all(v.holds for v in found.verdicts)
    lines = found.text().splitlines()
    assert lines[3].startswith(
        "For somebody who holds the prior that is shown: Whatever outcome is seen, no event becomes"
    )
    page = coin_page()
    assert page.index("<details>") < page.index("because")
    assert "What follows from it, by which theorems" in page
    wild = dv.report((dv.Prior.uniform(3), dv.Channel([[1 - 2e-12, 1e-12, 1e-12], [0, 1, 0], [0, 0, 1]])))
    assert "no useful bound" in wild.text()
    assert "000,000,000" not in wild.text()


def test_many_values_are_told_like_few() -> None:
    """Floats, past a size, in place of fractions: the same numbers, and promises that still hold."""
    n = 70
    table = pa.table({"x": [f"v{i}" for i in range(n)] * 20})
    receipt = dv.release(table, column="x", mechanism="randomized-response", epsilon=1)
    found = dv.report(receipt)
    assert not found.exactly
    assert all(v.holds for v in found.verdicts)
    few = dv.Joint(dv.Prior.uniform(n), receipt.channel)
    assert found.profile.pml.max() == pytest.approx(dv.pml(few).max(), rel=1e-12)
    for kind, kept in found.measured.items():
        exactly = type(kept).of(few if kept.about == "joint" else few.channel)
        for name in kept.bounded():
            assert getattr(exactly, name) <= getattr(kept, name) <= getattr(exactly, name) * (1 + 1e-9) + 1e-9, kind


def test_promises_are_decided_in_the_unit_that_is_asked() -> None:
    found = dv.report(JOINT, guarantees=["ldp=1.1", "pml=1", "pmc=0.1"])
    assert [v.holds for v in found.verdicts] == [True, True, False]
    assert [g.kind for g in found.guarantees] == ["ldp", "pml"]
    assert "pmc=0.1, is BROKEN" in found.text()
    bits = dv.report(JOINT, guarantees=["ldp=1.1"], unit="bits")
    assert [v.holds for v in bits.verdicts] == [False]
    told = bits.to_dict()
    assert told["guarantees"][0]["measured"]["epsilon"] == pytest.approx(math.log2(3))
    assert told["joint"]["pml"] == pytest.approx(math.log2(2.5))
    assert told["sensitivity"][-1]["pml"] == pytest.approx(math.log2(3))


def test_the_page_says_what_was_measured() -> None:
    page = Page(coin_page())
    said = [" ".join(text.split()) for texts in page.text.values() for text in texts]
    assert page.text["h1"] == ["What the coin reveals"]
    for number in ("× 2.5", "÷ 2.8", "× 3"):  # posterior 1/4 of 1/10; 1/28 of 1/10; 3/4 against 1/4
        assert number in page.text["p"]
    assert "After “yes” (30% of cases), “ill”: 10 → 25 in 100." in said
    assert "After “no” (70% of cases), “ill”: 10 → 3.57 in 100." in said
    assert "No outcome rules a value out, and none makes one certain." in said
    cells = {" ".join(text.split()) for text in page.text["td"]}
    assert {"× 2.5", "÷ 1.2", "÷ 2.8", "× 1.08"} <= cells  # 5/2, 5/6, 5/14, 15/14, rounded up
    assert all(term in page.text["h2"] for term in ("In short", "Who gains from it", "To keep in mind"))


def test_the_page_needs_nothing_and_reads_aloud() -> None:
    text = coin_page()
    page = Page(text)
    assert [name for name, _ in page.found if name in ("script", "link", "iframe", "object", "embed")] == []
    assert all(str(a.get("src", "data:")).startswith("data:image/svg+xml;base64,") for a in page.all("img"))
    assert all(str(a["href"]).startswith("#") for a in page.all("a"))
    assert {str(a["href"])[1:] for a in page.all("a")} <= {a["id"] for _, a in page.found if "id" in a}
    assert page.all("html") == [{"lang": "en"}]
    assert page.all("img")
    assert all(len(str(a["alt"])) > 30 for a in page.all("img"))
    assert len(page.all("caption")) == len(page.all("table")) > 5
    assert all(a.get("scope") in ("row", "col") for a in page.all("th"))
    assert next(name for name, _ in page.found if name in ("h1", "h2", "h3")) == "h1"
    ids = {a["id"] for _, a in page.found if "id" in a}
    assert {str(a["aria-labelledby"]) for _, a in page.found if "aria-labelledby" in a} <= ids
    for image in page.all("img"):
        drawing = base64.b64decode(str(image["src"]).partition(",")[2]).decode()
        assert ElementTree.fromstring(drawing).tag == "{http://www.w3.org/2000/svg}svg"
        assert set(re.findall(r'(?:href|src)="([^"#][^"]*)"', drawing)) == set()
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert len({a["id"] for _, a in page.found if "id" in a}) == sum("id" in a for _, a in page.found)


def test_hostile_labels_are_words() -> None:
    channel = dv.Channel([["1/2", "1/2"], ["0", "1"]], HOSTILE[:2], HOSTILE[2:])
    found = dv.report((dv.Prior.uniform(2).renamed(HOSTILE[:2]), channel), about="<b>it</b>", guarantees=["pml=0.1"])
    text = found.html()
    page = Page(text)
    assert not page.all("script")
    assert not page.all("b")
    assert not {"\x1b", "\u202e"} & set(text + found.text())
    assert HOSTILE[0] in page.text["th"]
    assert page.text["h1"] == ["What <b>it</b> reveals"]
    assert tag("p", "<", tag("b", "&"), title="'\"<") == '<p title="&#x27;&quot;&lt;">&lt;<b>&amp;</b></p>'


def test_long_labels_are_shortened() -> None:
    names = ["x" * 5000, "y" * 5000]
    found = dv.report((dv.Prior(["1/3", "2/3"], names), dv.Channel([["1/2", "1/2"], ["0", "1"]], names)))
    assert "x" * 200 not in found.html() + found.text()


def test_the_same_input_makes_the_same_page() -> None:
    assert coin_page() == dv.report(dv.Joint(["1/10", "9/10"], COIN), about="the coin").html()


def test_a_page_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dv.results.Report, "html", lambda report: f"all about {report.about}")
    found, path = dv.report(JOINT), tmp_path / "r.html"
    found.save(path)
    assert path.read_text() == found.html()
    with pytest.raises(dv.DivulgeError, match="--force"):
        dv.report(JOINT, about="another").save(path)
    assert path.read_text() == found.html()
    dv.report(JOINT, about="another").save(path, force=True)
    assert "another" in path.read_text()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(dv.DivulgeError, match="No space left"):
        found.save(path, force=True)
    with pytest.raises(dv.DivulgeError, match="No space left"):
        found.save(tmp_path / "new.html")
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]
    assert "another" in path.read_text()


def rows(n: int = 900) -> pa.Table:
    return pa.table({"ill": ["yes", "no", "no"] * n, "said": ["y", "n", "y", "n", "y", "n"] * (n // 2),
                     "name": [f"row number {i}" for i in range(3 * n)]})  # fmt: skip


def test_data_are_estimates_with_bounds() -> None:
    found = dv.report(rows(), secret="ill", released="said", guarantees=["ldp=0.01", "pml=2"])
    assert found.estimated
    assert found.audit is not None
    assert found.joint.prior.to_dict() == pytest.approx({"no": 2 / 3, "yes": 1 / 3})
    assert [a.violated for a in found.refutations] == [False, False]
    html = found.html()
    page = Page(html)
    assert "How sure this is" in page.text["h2"]
    assert "What is guaranteed" not in page.text["h2"]
    text = found.text()
    assert "Rows can refute a promise and never prove one" in text
    assert "row number" not in html
    assert "no proof that it is kept" in text
    strong = dv.report(pa.table({"x": [0, 1] * 500, "y": [0, 1] * 500}), secret="x", released="y", guarantees="ldp=1")
    assert "The promise ldp=1 is broken: the rows refute it." in strong.text().replace("\n", " ")
    assert "50 → 100 in 100 [500]" in strong.text()
    assert "50 → 0 in 100 [0]" in strong.text()


@pytest.mark.usefixtures("undrawn")
def test_a_receipt_brings_its_promises_and_what_it_adds_up_to(tmp_path: Path) -> None:
    book = {"ledger": str(tmp_path / "l.sqlite"), "source_name": "people"}
    channel = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    prior = dv.Prior(["1/4", "3/4"], ["yes", "no"])
    dv.release(rows(), tmp_path / "first.parquet", column="ill", mechanism=channel, prior=prior, **book)
    receipt = dv.release(rows(), tmp_path / "out.parquet", column="ill", mechanism=channel, prior=prior, **book)
    found = dv.report(tmp_path / "out.receipt.json", ledger=book["ledger"])
    assert found == dv.report(receipt, ledger=book["ledger"])
    assert {v.guarantee.kind for v in found.verdicts} == {"ldp", "pml", "pmc"}
    assert all(v.holds and v.margin == 0 for v in found.verdicts)
    assert found.spent is not None
    assert found.spent["ldp"] == pytest.approx(2 * math.log(3))
    two = Page(found.html())
    assert receipt.digest in two.text["td"]
    assert "all releases on record about these columns" in two.text["th"]
    assert "2.2" in two.text["td"]  # 2 log 3 = 2.197..., rounded up
    other = dv.report(receipt, prior=["1/2", "1/2"], prior_source="a guess")
    assert [v.guarantee.kind for v in other.verdicts] == ["ldp"]
    assert "Earlier and later releases" in other.text()
    with pytest.raises(dv.DivulgeError, match="hold the release of this receipt"):
        dv.report(receipt, ledger=str(tmp_path / "empty.sqlite"))


def test_every_number_of_a_promise_is_of_whom_it_says() -> None:
    """Under the prior that is shown, and for anyone: the worst event of both, by the law; the sums are in nats."""
    prior, law = np.array([0.6, 0.1, 0.3]), np.array(dv.mechanisms.randomized_response(3, 1.0).matrix, dtype=float)
    words = " ".join(dv.report((prior, law), guarantees=["pml=0.9", "ldp=1"]).text().split())
    lifts = law / (prior @ law)
    said = re.findall(r"For somebody who holds the prior that is shown: .*? gain by more than ([\d.]+), .*? more than "
                      r"([\d.]+) times", words)  # fmt: skip
    assert {float(one) for pair in said for one in pair} == {math.ceil(100 * math.exp(0.9)) / 100}
    assert words.count("no adversary multiplies") == len(said)
    assert lifts.max() <= math.exp(0.9)
    assert f"× {math.ceil(100 * lifts.max()) / 100:g}. After" in words
    assert f"÷ {math.ceil(100 / lifts.min()) / 100:g}. After" in words
    one_row = r"([\d.]+) in ([\d,]+)" + r" ([\d.]+) in [\d,]+" * 4
    rows = re.findall(one_row, words.partition("for anyone, at least")[2])
    assert len(rows) == 5
    for before, of, *told in rows:
        base = float(of.replace(",", ""))
        p, (most, least, anyone, nobody) = float(before) / base, (float(one) / base for one in told)
        grown = p * math.e / (p * math.e + 1 - p)
        fallen = p / (p + (1 - p) * math.e)
        assert grown <= anyone * (1 + 1e-9) < grown * 1.01
        assert nobody * (1 - 1e-9) <= fallen < nobody * 1.01
        assert min(p * lifts.max(), grown) <= most * (1 + 1e-9) <= anyone * (1 + 1e-9)
        assert nobody * (1 - 1e-9) <= least <= p


def test_what_all_releases_add_up_to_holds_for_whoever_holds_the_prior_that_is_shown(tmp_path: Path) -> None:
    """Another release of the column was made under another prior: its pml is of no one who holds this one."""
    first = dv.Channel([["1/2", "1/2"], ["7/10", "3/10"], ["3/10", "7/10"]], ["a", "b", "c"])
    second = dv.Channel([["1/2", "1/2"]] * 3 + [["51/100", "49/100"]], ["a", "b", "c", "d"])
    skewed = [0.05, 0.05, 0.89, 0.01]
    priors = dv.Prior(["1/3"] * 3, list("abc")), dv.Prior(["1/20", "1/20", "89/100", "1/100"], list("abcd"))
    made = [
        dv.release({"x": ["a", "b", "c"]}, column="x", mechanism=one, prior=prior, ledger=tmp_path / "l.sqlite",
                   source_name="t", per_row=True, purpose="record")
        for one, prior in zip((first, second), priors, strict=True)
    ]  # fmt: skip
    shares = np.array(skewed[:3]) / sum(skewed[:3])  # nobody answered d where there was no d
    law = np.einsum("xy,xz->xyz", *(np.array(one.matrix, dtype=float)[:3] for one in (first, second))).reshape(3, -1)
    lifts = law / (shares @ law)
    spent = dv.report(made[1], ledger=tmp_path / "l.sqlite").spent
    assert spent is not None
    assert math.log(lifts.max()) <= spent["pml"] + 1e-9
    assert -math.log(lifts.min()) <= spent["pmc"] + 1e-9
    own = dv.report(made[0], ledger=tmp_path / "l.sqlite").spent
    assert own is not None
    assert own["pml"] < spent["pml"]


@pytest.mark.parametrize(("promised", "factor"), [("ldp=2", "7.39"), ("ldp=60", None)])
def test_a_report_on_rows_of_which_a_person_has_several_says_so_first(promised: str, factor: str | None) -> None:
    table = pa.table({"who": [i // 3 for i in range(30)], "ill": ["yes", "no", "no"] * 10})
    asked: Any = {"column": "ill", "guarantee": promised, "prior": dv.Prior.uniform(["yes", "no"])}
    done = dv.release(table, person="who", rows_per_person=3, **asked)
    found = dv.report(done)
    short = " ".join(found.text().partition("What each outcome")[0].split())
    assert short.startswith("In short ======== A person has up to 3 rows here")
    if factor is None:
        assert "no useful bound on what all rows of a person tell together" in short
    else:
        assert f"change no odds between two values by more than {factor} times" in short
    alone = dv.report(dv.release(table, per_row=True, **asked))
    assert "A person has up to" not in alone.text()
    german = dv.report(done, language="de").text()
    assert "Ein Mensch hat hier bis zu 3 Zeilen" in " ".join(german.split())


def test_a_receipt_without_a_prior_or_with_several_columns_asks() -> None:
    channel = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    bare = dv.release(rows(), column="ill", mechanism=channel)
    with pytest.raises(dv.DivulgeError, match="`prior` must be given for a receipt that has none"):
        dv.report(bare)
    assert dv.report(bare, prior=["1/3", "2/3"]).profile.ldp == pytest.approx(math.log(3))
    both = dv.release(rows(), column=["ill", "said"], guarantee="ldp=1")
    if len(both.mechanisms) > 1:
        with pytest.raises(dv.DivulgeError, match="released together"):
            dv.report(both)
        assert "all of this release together" in dv.report(both, column="said").text()


def test_what_does_not_go_together_is_refused() -> None:
    for wrong in (
        {"subject": COIN},
        {"subject": JOINT, "prior": ["1/2", "1/2"]},
        {"subject": JOINT, "ledger": "l.sqlite"},
        {"subject": JOINT, "null_as": "none"},
        {"subject": rows(), "secret": "ill"},
        {"subject": rows(), "secret": "ill", "released": "said", "prior": ["1/2", "1/2"]},
        {"subject": JOINT, "guarantees": ["nonsense"]},
        {"subject": JOINT, "unit": "furlongs"},
    ):
        with pytest.raises(dv.DivulgeError):
            dv.report(**wrong)


@pytest.mark.thin
@pytest.mark.parametrize(
    "joint",
    [
        dv.Joint(["1"], [["1/2", "1/2"]]),
        dv.Joint(["1", "0"], [["1/2", "1/2"], ["0", "1"]]),
        dv.Joint(dv.Prior.uniform(3), dv.mechanisms.constant(3)),
        dv.Joint(dv.Prior.uniform(3), dv.mechanisms.identity(3)),
        dv.Joint(["1/2", "1/2", "0"], [["1/2", "1/2", "0"], ["1/4", "3/4", "0"], ["0", "0", "1"]]),
        dv.Joint([1e-12, 1 - 1e-12], [[0.9, 0.1], [0.1, 0.9]]),
    ],
)
def test_extreme_mechanisms_are_told_too(joint: dv.Joint) -> None:
    found = dv.report(joint)
    Page(found.html())
    assert not {"nan", "NaN"} & set(found.text().split())
    assert len(repr(found)) < 1500
    assert repr(found) in found.text()


@pytest.mark.parametrize("asked", ["f-divergence=hellinger:0.1", "metric=1/km"])
def test_guarantees_with_words_among_their_parameters_are_reported(asked: str) -> None:
    metric = dv.Metric.line(2, "1km")
    joint = dv.Joint([0.5, 0.5], [[0.6, 0.4], [0.4, 0.6]])
    told = dv.report(joint, guarantees=[dv.guarantees.parse(asked, metric)])
    assert asked in told.text()
    assert told.to_dict()["guarantees"]


def test_where_no_bound_holds_for_anyone_it_says_what_most_outcomes_tell() -> None:
    """Of P(S) <= e^0.1 Q(S) + 0.0005, at even chances, by hand: y = 0.001, hits at 0.01, and their advantage."""
    rare = dv.Joint(dv.Prior(["1/2", "1/2"]), dv.Channel([["9996/10000", "4/10000"], ["1", "0"]]))
    grown, delta = math.exp(0.1), 0.0005
    usual, hits = 0.001 / (0.001 + (0.001 - delta) / grown), grown * 0.01 + delta
    alarm, right = hits / (hits + 0.01), (1 + delta + (grown - 1) * (1 - delta) / (grown + 1)) / 2
    words = " ".join(dv.report(rare, guarantees=["adp=0.1:0.0005"]).text().split())
    assert f"50 in 100 {math.ceil(usual * 1000) / 10:g} in 100 {math.ceil(alarm * 1000) / 10:g} in 100" in words
    assert f"right one in more than {math.ceil(right * 1000) / 10:g} of 100" in words
    told = dv.report(rare, guarantees=["adp=0.1:0.0005"], language="de").text()
    assert "in 999 von 1.000" in told
    assert "No bound on every outcome" not in dv.report(rare, guarantees=["pml=1"]).text()


def test_a_chain_is_reported_with_what_all_outputs_say_of_each_step() -> None:
    chain = dv.Chain(["1/2", "1/2"], [["9/10", "1/10"], ["1/10", "9/10"]], [["3/4", "1/4"], ["1/4", "3/4"]], steps=3)
    found = dv.report(chain, secret=1)
    assert dv.lift(found.joint) == Fraction(49, 26)
    section = next(one for one in contents(found) if one.name == "correlated")
    words, table, picture = section.blocks
    # log 3; with 7/10 beside 3/10 from a neighbor log 7 and log 49/3; the lifts 49/26 and 3/26
    assert table.rows[1] == ("step 1", "1.099", "1.946", "2.794", "0.6338", "2.16")
    assert "steps" not in words.text
    axes = Figure().subplots()
    picture.draw(axes)
    assert [line.get_ydata()[1] for line in axes.lines] == pytest.approx([math.log(3), math.log(7), math.log(49 / 3)])
    assert "step 1, has one of 2 possible values. What goes out is one of 8 combinations" in found.text().replace(
        "\n", " "
    )
    bits = dv.report(chain, secret="all", unit="bits")
    assert next(one for one in contents(bits) if one.name == "correlated").blocks[1].rows[1][1] == "1.585"


def test_a_network_is_reported_with_what_all_outputs_say_of_each_variable() -> None:
    answer = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    both = dv.networks.couple().release("Ann", answer).release("Bob", answer)
    section = next(one for one in contents(dv.report(both, secret="Ann")) if one.name == "correlated")
    assert section.blocks[1].rows[0][:3] == ("Ann", "yes", "1.322")  # log 15/4
    axes = Figure().subplots()
    section.blocks[2].draw(axes)
    assert [text.get_text().split() for text in axes.texts] == [["Ann", "1.33"], ["Bob", "1.33"]]  # log 15/4 = 1.3218
    bits = next(one for one in contents(dv.report(both, secret="Ann", unit="bits")) if one.name == "correlated")
    axes = Figure().subplots()
    bits.blocks[2].draw(axes)
    assert axes.texts[0].get_text() == "Ann\n1.91"  # 1.9069
    assert axes.get_title().endswith("[bits]")
    assert "correlated" not in [one.name for one in contents(dv.report(both.joint("Ann")))]


@pytest.mark.parametrize(
    ("options", "message"), [({}, "`secret` must name"), ({"secret": 7}, "a step from 0 to 1"),
                             ({"secret": 0, "prior": "uniform"}, "`prior`"),
                             ({"secret": 0, "released": "y"}, "`released`")]
)  # fmt: skip
def test_a_report_on_a_chain_needs_a_secret_and_nothing_of_a_table(options: dict[str, Any], message: str) -> None:
    chain = dv.Chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], [[0.8, 0.2], [0.2, 0.8]], steps=2)
    with pytest.raises(dv.DivulgeError, match=message):
        dv.report(chain, **options)


def test_a_line_stands_below_a_header_of_several_lines() -> None:
    assert table_lines([["a", "b c"], ["1", "2"]], {0}, 1) == ["a  b", "   c", "----", "1  2"]
