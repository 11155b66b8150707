"""The path of somebody who does not program: what they believe about each file that comes out is so."""

import itertools
import json
import math
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from scipy import stats
from support import NEVER, few, some

import divulge as dv
from divulge import clock
from divulge.clock import OutOfTime
from divulge.designing.effort import Effort
from divulge.model.integer import IntegerChannel
from divulge.releasing.estimating import intervals
from divulge.releasing.planning import assumed, choosing, naming
from divulge.reporting.remarks import remark
from divulge.reporting.statements.voice import Voice

COUNTS = {"Catholic": 700, "None": 300, "Muslim": 100, "Other": 52, "Buddhist": 30, "Jewish": 18}
PUBLIC = ("codebook.json", "codebook.md", "receipt.json")


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,200 people and their religion."""
    rng = np.random.default_rng(3)
    religion = rng.permutation(np.repeat(list(COUNTS), list(COUNTS.values())))
    path = tmp_path_factory.mktemp("survey") / "survey.csv"
    pacsv.write_csv(pa.table({"religion": religion, "sex": rng.choice(["f", "m"], 1200)}), path)
    return path


def released(survey: Path, folder: Path, **asked: Any) -> dv.Receipt:
    return dv.release(survey, folder / "out.csv", column="religion", **({"guarantee": "ldp=1"} | asked))


@pytest.fixture(scope="module")
def done(survey: Path, tmp_path_factory: pytest.TempPathFactory) -> dv.Receipt:
    """A release of it, with all papers."""
    return released(survey, tmp_path_factory.mktemp("done"))


def test_every_religion_occurs_under_its_name_and_raises_itself_most(done: dv.Receipt) -> None:
    table = pacsv.read_csv(done.papers["table"])
    assert table.column_names == ["religion_perturbed", "sex"]
    assert set(table["religion_perturbed"].to_pylist()) == set(COUNTS)
    channel = done.channel
    prior = dv.Prior.from_counts({x: COUNTS[x] for x in channel.secrets})
    lift = dv.Joint(prior, channel).lift
    for j, outcome in enumerate(channel.outcomes):
        others = [lift[i, j] for i, x in enumerate(channel.secrets) if x != outcome]
        assert lift[list(channel.secrets).index(outcome), j] > max(others)


def test_estimates_from_the_public_files_alone_cover_all_six(done: dv.Receipt, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "_FALSE_ALARM", NEVER)  # so seldom is a warning that these rows are others
    table, receipt = done.papers["table"], done.papers["receipt.json"]
    found = dv.estimate_frequencies(table, receipt, confidence=1 - NEVER)
    assert found.warnings == ()
    for value, low, high in zip(found.values, found.lower, found.upper, strict=True):
        assert low <= COUNTS[value] / 1200 <= high
    book = json.loads(done.papers["codebook.json"].read_text())["columns"][0]
    said = pacsv.read_csv(table)["religion_perturbed"].to_pylist()
    shares = np.array([said.count(y) / 1200 for y in book["channel"]["outcomes"]])
    assert shares @ np.array(book["estimate"]["estimator"]) == pytest.approx(found.frequency, abs=1e-9)
    assert np.array(book["channel"]["matrix"]) @ np.array(book["estimate"]["estimator"]) == pytest.approx(np.eye(6))


def test_no_public_file_holds_a_count_of_the_source(survey: Path, tmp_path: Path) -> None:
    """The same mechanism over other counts writes the same papers, but for the time, the digest and the draws."""
    other = tmp_path / "survey.csv"
    religion = np.repeat(list(COUNTS), 200)
    pacsv.write_csv(pa.table({"religion": religion, "sex": ["f"] * 1200}), other)
    texts: list[dict[str, str]] = []
    for name, source in (("a", survey), ("b", other)):
        (tmp_path / name).mkdir()
        released(source, tmp_path / name)
        found = {end: (tmp_path / name / f"out.{end}").read_text() for end in PUBLIC}
        receipt = json.loads(found["receipt.json"])
        found["receipt.json"] = json.dumps(
            {k: v for k, v in receipt.items() if k not in ("created", "digest", "checksum")}
        )
        texts.append(found)
    assert texts[0] == texts[1]


def test_the_record_is_the_keepers_alone(done: dv.Receipt) -> None:
    keeper = done.papers["keeper.json"]
    assert stat.S_IMODE(keeper.stat().st_mode) == 0o600
    found = json.loads(keeper.read_text())
    assert {one["value"]: one["count"] for one in found["counts"]} == COUNTS
    assert "exact counts" in found["note"]
    assert found["report"]["prior"]["source"].startswith("counted")
    assert dv.Receipt.read(keeper).guarantees == done.guarantees


@pytest.mark.parametrize("name", choosing.NAMED)
def test_every_named_mechanism_runs_and_its_names_are_true(name: str, survey: Path) -> None:
    asked: dict[str, Any] = {"guarantee": None, "mechanism": name, "purpose": "record"}
    if choosing.NAMED[name].tunable:
        asked["epsilon"] = 0.1
    receipt = dv.release(survey, column="religion", **asked)
    whole = receipt.mechanisms[0].channel
    assert not naming.untrue(whole.weights, whole.secrets, whole.outcomes)
    if name in ("randomized-response", "symmetric", "subset-selection"):
        assert receipt.guarantees["ldp"] == pytest.approx(0.1, abs=1e-12)
    assert any("rules out" in said for said in receipt.warnings) == (name in ("erasure", "identity"))


def test_outcomes_that_are_sets_are_called_after_all_that_they_raise(survey: Path) -> None:
    public = dv.Prior.from_counts({"Catholic": 60, "None": 25, "Muslim": 8, "Other": 4, "Buddhist": 2, "Jewish": 1})
    for guarantee in ("ldp=0.5", "ldp=1", "ldp=2"):
        receipt = dv.release(
            survey, column="religion", guarantee=guarantee, outcomes="sets", purpose="information", prior=public
        )
        joint = dv.Joint(public.aligned(receipt.channel.secrets), receipt.channel)
        for j, outcome in enumerate(receipt.channel.outcomes):
            up = {str(x) for i, x in enumerate(joint.secrets) if joint.lift[i, j] > 1}
            text = str(outcome).split(" (")[0]
            named = set(text.removeprefix("any but ").replace(" or ", ", ").split(", "))
            assert up == (set(COUNTS) - named if text.startswith("any but ") else named)


def test_an_outcome_that_means_something_else_than_its_name_is_refused(survey: Path) -> None:
    """Of rows published as b most are a."""
    lying = dv.Channel([["1/4", "3/4"], ["3/4", "1/4"]], ["f", "m"], ["f", "m"])
    with pytest.raises(dv.DivulgeError, match="only where it raises that value most"):
        dv.release(survey, column="sex", mechanism=lying)
    assert dv.release(survey, column="sex", mechanism=lying, outcomes="sets").channel.outcomes == ("m", "f")


ASKED = itertools.product(
    ["statistics", "record", "information"],
    ["ldp=0.5", "pml=0.5", "pml=1", "lip=0.7"],
    [None, "lower=1/20", dv.Prior([0.02, 0.6, 0.01, 0.08, 0.25, 0.04], sorted(COUNTS))],
)


@pytest.mark.parametrize(("purpose", "guarantee", "prior"), some(list(ASKED)))
def test_designs_under_names_keep_the_promise_and_rule_nothing_out(
    purpose: str, guarantee: str, prior: Any, survey: Path
) -> None:
    asked: dict[str, Any] = {"guarantee": guarantee, "purpose": purpose, "prior": prior}
    only = dv.release(survey, column="religion", **asked).mechanisms[0]
    assert only.channel.outcomes == only.channel.secrets
    weights = only.channel.weights
    assert (np.diag(weights) > np.where(np.eye(6, dtype=bool), 0, weights).max(axis=0)).all()
    assert only.guarantees["ldp"] <= 2 * float(guarantee.partition("=")[2]) * (1 + 1e-9)
    kept = dv.guarantees.parse(guarantee)
    if only.prior is not None:
        assert kept.holds_for(dv.Joint(only.prior, only.channel.exact) if kept.about == "joint" else only.channel.exact)


def test_what_names_cost_is_said_beside_the_bound_without_them(done: dv.Receipt) -> None:
    said = [text for text in done.warnings if text.startswith("Calling each entry")]
    lost, found, bound = map(float, re.search(r"is ([\d.]+) % larger \(\D*([\d.]+);\D*([\d.]+)\)", said[0]).groups())
    assert bound <= found < 1.2 * bound  # n times the variance of six estimates, least possible and reached
    assert lost == pytest.approx(100 * (found / bound - 1), abs=0.1)


def test_a_noisy_prior_spends_its_epsilon_and_holds_the_truth(survey: Path, tmp_path: Path) -> None:
    receipt = released(survey, tmp_path, prior="noisy=0.25", ledger=tmp_path / "l.sqlite")
    assert 0.99 < receipt.guarantees["ldp"] <= 1  # the mechanism has what the estimate left of 1
    assert receipt.mechanisms[0].guarantees["ldp"] < 0.76
    assert receipt.together is not None
    assert receipt.together["guarantees"]["ldp"] == pytest.approx(receipt.guarantees["ldp"])
    with pytest.raises(dv.DivulgeError, match="with E below"):
        released(survey, tmp_path, prior="noisy=1", force=True)
    shares = np.array(list(COUNTS.values())) / 1200
    missed = 0
    for _ in range(200):
        found = assumed.assumption("noisy=2", COUNTS, False)
        assert found.prior is not None
        missed += float(np.abs(found.prior.floats - shares).sum()) > found.radius
    assert missed <= stats.binom.isf(NEVER, 200, 0.05)


def test_bounds_on_noise_hold_for_exact_sums() -> None:
    """Sums of |Z_i| by convolution of their exact law."""
    for scale in (0.7, 3.0, 20.0):
        a, k = np.exp(-1 / scale), np.arange(4000)
        law = np.where(k == 0, (1 - a) / (1 + a), 2 * a**k * (1 - a) / (1 + a))
        total = np.array([1.0])
        for n in range(1, 7):
            total = np.convolve(total, law)[:4000]
            bound = assumed.noise_bound(n, scale, 0.05)
            assert 1 - total[: int(bound) + 1].sum() <= 0.05
            assert 1 - total[: int(bound / 2) + 1].sum() > 0.05  # not vacuous


def test_a_set_of_priors_keeps_the_promise_under_each_of_them(survey: Path, tmp_path: Path) -> None:
    receipt = released(survey, tmp_path, guarantee="pml=0.5", prior="lower=1/20")
    rng = np.random.default_rng(0)
    for _ in range(few(300)):
        shares = 1 / 20 + (1 - 6 / 20) * rng.dirichlet(np.full(6, 0.2))
        assert dv.pml((shares, receipt.channel.floats)).max() <= 0.5 + 1e-9
    assert dv.Receipt.read(tmp_path / "out.receipt.json").mechanisms[0].assumed == receipt.mechanisms[0].assumed


def test_second_releases_are_added_up_at_once(survey: Path, tmp_path: Path) -> None:
    for times in (1, 2, 3):
        receipt = dv.release(survey, column="religion", guarantee="ldp=1", ledger=tmp_path / "l.sqlite")
        assert receipt.together is not None
        assert receipt.together["releases"] == times
        assert receipt.together["guarantees"]["ldp"] == pytest.approx(times, abs=1e-9)


def test_a_preview_says_what_the_estimate_will_say_and_draws_nothing(survey: Path, tmp_path: Path) -> None:
    seen = dv.preview(survey, column="religion", guarantee="ldp=1", by="sex")
    assert [level.asked for level in seen.levels] == ["ldp=0.5", "ldp=1", "ldp=2"]
    assert list(tmp_path.iterdir()) == []
    level = seen.levels[1]
    receipt = released(survey, tmp_path)
    whole = receipt.mechanisms[0].channel
    matrix = whole.weights / 2.0**whole.bits
    drawn = np.random.default_rng(1)
    counts = np.array([COUNTS[x] for x in whole.secrets])
    inverse = np.linalg.inv(matrix)
    trials = [sum(drawn.multinomial(n, row) for n, row in zip(counts, matrix, strict=True)) for _ in range(4000)]
    spread = (np.array(trials) / 1200 @ inverse).std(axis=0)
    from scipy.stats import norm

    z = norm.isf(0.05 / 12)
    # rows are drawn for fixed true values, the interval is for a population too: it is at least as wide
    half = np.array([v.half_width for v in level.values])
    assert (half >= z * spread * 0.95).all()
    assert (half <= z * np.sqrt(spread**2 + 0.25 / 1200) * 1.12).all()  # the longer side of an exact interval
    assert level.stays == pytest.approx(matrix[0, 0])
    assert set(level.groups) == {"f", "m"}
    assert not any(v.told_from_zero for v in level.values if v.count < 60)
    text = seen.text()
    assert "Jewish" in text
    assert "too rare to be told from zero" in text


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"prior": "lower=1/2"}, "at most 1/6"),
        ({"prior": "lower"}, "'uniform', 'lower=P', 'noisy=E' or 'groups=A,B'"),
        ({"prior": "noisy=-1"}, "number above 0"),
        ({"prior": "uniform", "prior_from_data": True}, "left out with prior_from_data"),
        ({"guarantee": None}, "a mechanism or a guarantee"),
        ({"guarantee": None, "mechanism": "randomized-response"}, "come with epsilon or ratio"),
        (
            {"guarantee": None, "mechanism": "nonsense", "epsilon": 1},
            "the file of one, or one of randomized-response",
        ),
        ({"guarantee": None, "mechanism": "identity", "epsilon": 1}, "left out"),
        ({"guarantee": None, "mechanism": "randomised-response", "epsilon": 1}, "Did you mean 'randomized-response'"),
        ({"guarantee": "50%"}, "a kind and its number, such as ldp=1"),
        ({"guarantee": "ldp=50%"}, "without percent signs"),
        ({"guarantee": "ldq=1"}, "of a known kind.* Did you mean 'ldp'"),
        ({"guarantee": "l=2"}, "of a known kind.* distinct-l, entropy-l or recursive-l"),
        ({"guarantee": "k-anonymity=5"}, "of a known kind.* k=5"),
        ({"purpose": "statistic"}, "Did you mean 'statistics'"),
        ({"prior": dv.Prior({"Catholic": 0.5, "None": 0.5})}, "the number of rows with a value that it lacks is 200"),
        ({"outcomes": "letters"}, "values, sets"),
        ({"only_column": True, "keep": ["sex"]}, "left out with only_column"),
    ],
)
def test_what_cannot_be_asked_has_a_message_of_its_own(
    asked: dict[str, Any], message: str, survey: Path, tmp_path: Path
) -> None:
    with pytest.raises(dv.DivulgeError, match=message):
        released(survey, tmp_path, **asked)
    assert list(tmp_path.iterdir()) == []


def test_a_column_with_one_value_is_refused(tmp_path: Path) -> None:
    """Its list of answers alone would tell everybody's."""
    table = pa.table({"religion": ["same"] * 30})
    for asked in ({"guarantee": "ldp=1"}, {"mechanism": "randomized-response", "epsilon": 1}):
        with pytest.raises(dv.DivulgeError, match="at least two values; 'religion' is the same in every row"):
            dv.release(table, tmp_path / "o.csv", column="religion", **asked)
    public = dv.Prior({"same": 0.9, "other": 0.1})
    receipt = dv.release(table, tmp_path / "o.csv", column="religion", guarantee="ldp=1", prior=public)
    assert set(receipt.channel.outcomes) == {"same", "other"}


def test_a_missing_value_is_told_as_an_empty_cell(tmp_path: Path) -> None:
    table = pa.table({"r": ["a", "b", None] * 50, "id": range(150)})
    dv.release(table, tmp_path / "o.csv", column="r", guarantee="ldp=1", null_as="no answer")
    assert "In the table, “no answer” is an empty cell." in (tmp_path / "o.statement.txt").read_text()
    assert set(pacsv.read_csv(tmp_path / "o.csv")["r_perturbed"].to_pylist()) == {"a", "b", ""}


def test_names_of_files_may_hold_what_means_something_elsewhere(survey: Path, tmp_path: Path) -> None:
    for name in ("alip=0.4:0.5.csv", "a:b ü ö 100%.csv"):
        receipt = dv.release(survey, tmp_path / name, column="religion", guarantee="ldp=1")
        assert receipt.papers["table"].name == name
        assert dv.Receipt.read(receipt.papers["receipt.json"]).output == name


def test_files_are_named_in_python_as_on_the_command_line(survey: Path, tmp_path: Path) -> None:
    public = dv.Prior.from_counts({x: 100 + n for x, n in COUNTS.items()})
    shares = "\n".join(f"{x},{p}" for x, p in public.to_dict().items())
    (tmp_path / "public.csv").write_text(f"secret,probability\n{shares}\n")
    by_file = released(survey, tmp_path, prior=tmp_path / "public.csv", guarantee="pml=0.5")
    assert by_file.channel == dv.release(survey, column="religion", prior=public, guarantee="pml=0.5").channel
    assert dv.preview(survey, column="religion", prior=str(tmp_path / "public.csv"), guarantee="pml=0.5").levels
    with pytest.raises(dv.DivulgeError, match="be public; it is the released column itself"):
        dv.release(survey, column="religion", guarantee="ldp=1", prior=f"{survey}:religion")
    coin = dv.mechanisms.randomized_response(list(COUNTS), 1.0)
    rows = "\n".join(",".join([x, *map(repr, row)]) for x, row in zip(coin.secrets, coin.floats.tolist(), strict=True))
    (tmp_path / "coin.csv").write_text(f"secret,{','.join(map(str, coin.outcomes))}\n{rows}\n")
    given = dv.release(survey, column="religion", mechanism=str(tmp_path / "coin.csv"))
    assert given.channel == dv.release(survey, column="religion", mechanism=coin).channel


def test_a_column_of_names_or_free_text_is_not_released_with_the_list_of_all_of_them(tmp_path: Path) -> None:
    people = pa.table({"name": [f"Person {i}" for i in range(30)], "ill": ["yes"] + ["no"] * 29})
    for asked in ({"guarantee": "ldp=1"}, {"mechanism": "randomized-response", "epsilon": 1.0}):
        for does in (dv.release, dv.preview):
            with pytest.raises(dv.DivulgeError, match="have values that people share") as refused:
                does(people, column="name", **asked)
            assert "Person" not in str(refused.value)
    public = dv.Prior.uniform([f"Person {i}" for i in range(30)])
    assert dv.release(people, column="name", guarantee="ldp=1", prior=public).rows == 30  # a list that everybody has


def test_a_value_of_one_row_is_told_to_the_keeper_alone(tmp_path: Path) -> None:
    people = pa.table({"ill": ["rare"] + ["common", "other"] * 20})
    assert any("1 value of 'ill' stands in one row only" in said for said in dv.preview(
        people, column="ill", guarantee="ldp=1").notes)  # fmt: skip
    told: list[str] = []
    receipt = dv.release(people, tmp_path / "out.csv", column="ill", guarantee="ldp=1", warn=told.append)
    assert any("one row only" in said for said in told)
    assert "one row only" not in str(receipt.warnings)
    for path in set(tmp_path.glob("out*")) - {tmp_path / "out.keeper.json"}:
        assert "one row only" not in path.read_text(), path


@pytest.mark.parametrize(("answers", "null_as", "told"), [
    (["1", "2", "n/a", "-99"], None, "2 values of 'ill' are written as missing answers often are"),
    (["1", "2", "N/A"], None, "1 value of 'ill' is written as missing answers often are"),
    ([1, 2, -9], None, "1 value of 'ill' is written"), ([-3, 2, -9], None, None), (["none", "keine", "-"], None, None),
    (["1", "2", None], "NA", None), (["1", "2", "NA", None], "no answer", "1 value of 'ill' is written"),
], ids=str)  # fmt: skip
def test_codes_of_missing_answers_are_told_to_count_as_answers(
    answers: list[Any], null_as: str | None, told: str | None
) -> None:
    """An empty cell is missing, and a reader of "missing: 0" takes -99 for that: the keeper is told, without a cell."""
    people = pa.table({"ill": answers * 30})
    notes = dv.preview(people, column="ill", guarantee="ldp=1", null_as=null_as, per_row=True).notes
    said = [note for note in notes if "missing answers" in note]
    assert len(said) == (told is not None)
    assert told is None or said[0].startswith(told)
    receipt = dv.release(people, column="ill", guarantee="ldp=1", null_as=null_as, per_row=True)
    assert not any("missing answers" in warning for warning in receipt.warnings)
    if told is not None:
        assert "fehlende Antworten" in remark(Voice("de"), said[0])


def test_a_preview_says_what_its_marks_stand_for(survey: Path) -> None:
    assert "the dashes are where an estimate may be with ldp=1:" in dv.preview(
        survey, column="religion", guarantee="ldp=1").text()  # fmt: skip


@pytest.mark.parametrize("values", [pytest.param(2, marks=pytest.mark.long), 45])
def test_a_picture_of_a_preview_has_room_for_long_names(values: int) -> None:
    names = [f"a long name of an answer, number {i}, $" for i in range(values)]
    table = pa.table({"v": [name for i, name in enumerate(names) for _ in range(3 + i)]})
    ax = dv.preview(table, column="v", mechanism="randomized-response", epsilon=3).plot()
    ax.figure.canvas.draw()
    box = ax.get_window_extent()
    assert box.width > 0.4 * ax.figure.bbox.width  # the labels and the legend leave the axes their room
    for one in ax.figure.legends:
        assert one.get_window_extent().width < ax.figure.bbox.width
    assert ("40 most frequent of 45" in ax.get_title()) == (values == 45)
    assert ax.get_yticklabels()[0].get_text().count("\\") <= 1


def test_answers_that_begin_alike_are_told_apart() -> None:
    start = "A very long answer that many people give, and which ends with "
    table = pa.table({"v": [start + "yes", start + "no"] * 50})
    found = dv.preview(table, column="v", guarantee="ldp=1")
    lines = [line for line in found.text().splitlines() if line.startswith("A very")]
    assert len({line.partition(" 50 ")[0].strip() for line in lines}) == 2
    assert len({tick.get_text() for tick in found.plot().get_yticklabels()}) == 2


def test_answers_written_in_several_ways_are_told_before_anything_is_drawn() -> None:
    people = pa.table({"ill": ["yes", "Yes", " yes", "no"] * 20})
    notes = dv.preview(people, column="ill", guarantee="ldp=1").notes
    assert any(
        "3 values of 'ill' differ from another one in spaces, case or zeros at their beginning alone" in said
        for said in notes
    )
    told: list[str] = []
    receipt = dv.release(people, column="ill", guarantee="ldp=1", warn=told.append)
    assert any("in spaces, case or zeros" in said for said in told)
    assert "in spaces, case or zeros" not in str(receipt.warnings)
    same = pa.table({"ill": ["yes", "no"] * 20})
    assert not any("in spaces" in said for said in dv.preview(same, column="ill", guarantee="ldp=1").notes)


def test_levels_over_a_set_are_those_of_its_worst_priors_rounded_up() -> None:
    rng = np.random.default_rng(8)
    center = dv.Prior(rng.dirichlet(np.ones(4)))
    corners = dv.measures.ConvexHull([["1/2", "1/2", 0, 0], ["1/4", "1/4", "1/2", 0]], [0, 1, 2, 3])
    found = IntegerChannel.of(rng.dirichlet(np.ones(5), 4), raise_small=True)
    only = IntegerChannel.of([["1/2", "1/2"], ["1/4", "3/4"], ["1/8", "7/8"], [1, 0]])
    for held in (
        assumed.Assumed("lower", dv.Prior.uniform(4), least=0.01), assumed.Assumed("noisy", center, radius=0.2),
        assumed.Assumed("groups", center, beliefs=corners),
    ):  # fmt: skip
        for channel, kind in itertools.product((found, only), ("pml", "pmc", "lip")):
            assert held.priors is not None
            level = getattr(held.priors, kind)(channel.exact)
            level = level if kind == "lip" else level.max()
            reached = assumed.level_reached(kind, held, channel)
            assert level * (1 - 1e-12) - 1e-15 <= reached <= level * (1 + 1e-12) + 1e-15
    assert assumed.level_reached("pmc", assumed.Assumed("lower", dv.Prior.uniform(4), least=0.01), only) == math.inf


def test_a_set_of_priors_takes_its_time_and_no_more(survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks, found = itertools.count(), list[bool]()
    monkeypatch.setattr(clock, "now", lambda: float(next(looks)))
    for limit in (5, 180, 10_000):
        start = next(looks)
        with suppress(OutOfTime):
            made = dv.release(survey, column="religion", guarantee="pml=1", prior="lower=0.01", time_limit=limit)
            assert made.guarantees["pml"] <= 1
            found.append(limit < 10_000)
        assert next(looks) - start < limit + 20
    assert found[-1] is False  # there is a mechanism, and a good one before all are looked at
    assert any(found)
    assert len(found) < 3


def test_named_mechanisms_that_are_not_tuned_in_time_are_left_out_and_said(
    survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {
        "column": "religion", "guarantee": "ldp=1", "prior": "lower=0.01", "purpose": "record",
    }  # fmt: skip
    with pytest.raises(dv.DivulgeError, match="`time_limit` must be long enough to find a mechanism"):
        dv.preview(survey, **asked, time_limit=0)
    there = dv.preview(survey, **asked)
    assert not any("time limit" in note for note in there.notes)
    whole = choosing.candidates
    monkeypatch.setattr(choosing, "candidates", lambda p, kept, s, _: whole(p, kept, s, Effort(deadline=0)))
    late = dv.preview(survey, **asked)
    assert any("over before 2 of 2 named mechanisms were tuned" in note for note in late.notes)


def test_where_names_cost_much_a_frequency_protocol_is_named_and_does_better() -> None:
    many = [f"place {i}" for i in range(120)]
    rows, asked = {"place": many * 5}, {"column": "place", "guarantee": "ldp=2", "prior": "uniform"}
    notes = dv.preview(rows, **asked, levels=[1.0]).notes
    (said,) = [note for note in notes if note.startswith("A frequency protocol keeps the same promise")]
    (cost,) = [note for note in notes if note.startswith("Calling each entry")]
    found, bound = map(float, re.search(r"estimation ([\d.e+]+);\D*([\d.e+]+)\)", cost).groups())
    assert "protocol='auto' with values=" in said
    best = dv.protocols.choose(many, "ldp=2", n=1).best.protocol
    assert found > 2 * bound
    assert bound * (1 - 1e-3) <= sum(best.variance(1 / 120) for _ in many) < 1.1 * bound
    few = dv.preview({"place": many[:4] * 5}, **asked, levels=[1.0]).notes
    assert not any(note.startswith("A frequency protocol") for note in few)
