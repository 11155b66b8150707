"""The JSON schemas of docs/schemas, against what commands print, what they write, and what they read."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from support import key_pair
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import COMMANDS, app

pytestmark = pytest.mark.xdist_group("schemas")
"""One process makes the files that the commands read."""

FOLDER = Path(__file__).parents[1] / "docs" / "schemas"
SCHEMAS: dict[str, Any] = {path.stem: json.loads(path.read_text()) for path in FOLDER.glob("*.json")}
REGISTRY: Any = Registry().with_resources(
    (f"{name}.json", Resource.from_contents(schema)) for name, schema in SCHEMAS.items()
)

PRINTED = {
    "generalize": [
        "t.csv --known age,sex --guarantee k=5 -o coarse.csv --no-ledger",
        "t.csv --known age,sex --secret race --guarantee k=5 --guarantee t=0.5 --suppress 0.1 --loss class-size",
    ],
    "assess": [
        "t.csv --known age,sex",
        "t.csv --known age,sex --secret race --claim k=1 --claim pml=0.1 --columns --others 2 --population 9000",
        "t.csv --known sex --secret race,age",
    ],
    "measure": [
        "c.csv",
        "c.csv --prior p.json --unit bits",
        "z.csv --prior p.json",
        "--data t.csv --secret race --released sex",
    ],
    "check": [
        "c.csv --guarantee ldp=1",
        "c.csv --prior p.json --guarantee pml=0.5 --guarantee alip=1:2 --guarantee lift-capacity=3",
        "z.csv --prior p.json --guarantee pmc=1 --guarantee mean-pml=1 --guarantee tail-pml=0.5:0.2",
    ],
    "convert": [
        "pml=0.1 --p-min 1/4",
        "adp=1:1e-6",
        "pml=0.1 pmc=0.2 --n 4 --uniform --unit bits",
        "gdp=1 --to adp=?:1e-6,rdp=2:?",
    ],
    "chain": [
        "--transition m.csv --release c.csv --steps 3",
        "--transition m.csv --release c.csv --steps 3 --secret ever=ill --unit bits",
        "--transition m.csv --release z.csv --steps 3 --outputs yes,no",
        "--transition m.csv --release c.csv --steps 3 --calibrate 1",
    ],
    "network": [
        "coin.bif --release y=c.csv",
        "coin.bif --release y --release x=c.csv --secret x",
        "coin.bif --release y --secret x --outputs y=ill",
    ],
    "compare": ["c.csv z.csv", "c.csv z.csv --prior p.json", "c.csv c.csv"],
    "attack": [
        "c.csv --prior p.json",
        "c.csv --prior p.json --outcome yes --unit bits",
        "z.csv --prior p.json",
        "c.csv --prior p.json --gain g.csv",
        "c.csv --prior p.json --tries 1 --case max",
        "c.csv --worst-prior --tries 1",
        "c.csv --prior q.json --dalenius d.csv --off 1/10 --factor 2",
    ],
    "design": [
        "--prior p.json --guarantee pml=0.5",
        "--prior p.json --guarantee pml=0.5 --guarantee ldp=1 --compare",
        "--prior p.json --guarantee pml --at-least 0.01",
        "--prior p.json --guarantee pml --frontier 0.1:1:3",
    ],
    "noise": [
        'laplace --secret "values(0:0.5, 1:0.5)" --scale 1',
        'gaussian --secret "normal(0, 1)" --scale 1',
        'laplace --secret "uniform(0, 1)" --scale 1 --at 0,1 --epsilon 0.1 --unit bits',
        'discrete-laplace --secret "values(0:0.5, 1:0.5)" --scale 1',
    ],
    "account": ["r.json", "r.json --epsilon 1", "promised.json --delta 1e-6 --unit bits"],
    "calibrate": [
        "gaussian adp=1:1e-6",
        "laplace dp=1 --noise 20 --unit bits",
        "randomized-response hits=0.2:0.1",
        "laplace pml=1 --base-rate 0.1",
        "laplace interval=20",
        "shuffled adp=1:1e-6 --people 100",
    ],
    "audit": [
        "--data t.csv --secret race --released sex",
        "--data t.csv --secret race --released sex --claim ldp=0.01",
        "--data pairs.csv --secret sex --released said --claim ldp=2 --receipt out.receipt.json",
    ],
    "audit-model": [
        "scores.csv --score s --member in --claim dp=1 --base-rate 0.1",
        "scores.csv --score s --member in --low --unit bits",
        "scores.csv --score s --member in --one-run --claim adp=1:1e-5",
        "scores.csv --score s --member in --method f-dp --claim gdp=1",
        "scores.csv --score s --member in --method anytime",
    ],
    "audit-attribute": [
        "t.csv --guess sex --baseline race --truth age --claim lift=1.5",
        "guesses.csv --guess said --baseline usual --truth ill --member in --unit bits",
    ],
    "audit-synthetic": [
        "t.csv --members t.csv --others t.csv --secret race --known sex,age --claim dp=1 --base-rate 0.1",
        "t.csv --members t.csv --others t.csv --secret race --known sex --linked age --unit bits",
    ],
    "release": [
        "t.csv --column sex --guarantee ldp=1 --preview",
        "t.csv --column sex --guarantee ldp=1 --preview --by race",
        "t.csv --column race --column sex --guarantee ldp=2 -o two.csv --no-ledger",
        "t.csv --column sex --mechanism randomized-response --epsilon 1 -o again.csv --ledger l.sqlite --budget ldp=9",
    ],
    "estimate": [
        "out.csv --receipt out.receipt.json",
        "out.csv --receipt out.receipt.json --by race",
        "out.csv --receipt out.receipt.json --method em",
        "reports.csv --top 1",
    ],
    "publish": [
        "t.csv --count sex --mean age:0:90 --guarantee dp=1 --values v.json --no-ledger -o n2.csv",
        "t.csv --count race,sex --count sex --guarantee pml=1 --record-prior lower=0.05 --values v.json "
        "--no-ledger --consistent -o n3.csv",
        "t.csv --quantiles age:0:90:0.5 --proportion sex:Female --guarantee adp=1:1e-9 --ledger l.sqlite -o n4.csv",
    ],
    "run": ["asked.json -o run.csv", "asked-statistics.json -o run2.csv", "asked-groups.json -o run3.csv"],
    "ledger": ["show --ledger l.sqlite", "show --ledger l.sqlite --unit bits"],
    "report": [
        "c.csv --prior p.json --guarantee ldp=1",
        "--receipt out.receipt.json --prior t.csv:sex --ledger l.sqlite",
        "--data t.csv --secret race --released sex",
        "--receipt n.receipt.json",
    ],
    "verify": ["out.receipt.json --key public.pem", "signed.receipt.json --key public.pem"],
    "statement": ["out.receipt.json", "reports.receipt.json", "n.receipt.json --language de", "groups.receipt.json"],
}
"""Command -> arguments of runs that print with --json; files are made by `folder`."""

WRITTEN = {
    "receipt": [
        "out.receipt.json",
        "both.receipt.json",
        "signed.receipt.json",
        "about.receipt.json",
        "reports.receipt.json",
        "moved.receipt.json",
    ],
    "codebook": ["out.codebook.json", "signed.codebook.json", "reports.codebook.json", "moved.codebook.json"],
    "keeper": ["out.keeper.json", "both.keeper.json", "signed.keeper.json", "reports.keeper.json", "moved.keeper.json"],
    "statistics-receipt": ["n.receipt.json", "sums.receipt.json"],
    "statistics-codebook": ["n.codebook.json", "sums.codebook.json"],
    "statistics-keeper": ["n.keeper.json", "sums.keeper.json"],
    "generalize": ["groups.keeper.json", "local.keeper.json"],
    "generalization-receipt": ["groups.receipt.json", "local.receipt.json"],
    "generalization-codebook": ["groups.codebook.json", "local.codebook.json"],
    "request": ["asked.json", "asked-statistics.json", "asked-groups.json", "asked-local.json", "asked-both.json"],
    "input-channel": ["c.json", "designed.json"],
    "input-prior": ["p.json"],
    "input-values": ["v.json"],
    "input-releases": ["r.json", "promised.json"],
}
"""Schema -> files that it describes."""


def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name], registry=REGISTRY)


def wrong(name: str, found: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:300]}" for error in validator(name).iter_errors(found)]


def run(line: str) -> str:
    result = CliRunner().invoke(app, shlex.split(line))
    assert result.exit_code in (0, 1), f"{line}: {result.output}"
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of inputs, and of a release and statistics with their papers."""
    place = tmp_path_factory.mktemp("schemas")
    patch = pytest.MonkeyPatch()
    patch.chdir(place)
    columns = ["age", "race", "sex"]
    pyarrow.csv.write_csv(dv.datasets.census(columns).slice(0, 2000), "t.csv")
    (place / "c.csv").write_text("secret,yes,no\nill,3/4,1/4\nwell,1/4,3/4\n")
    (place / "z.csv").write_text("secret,yes,no\nill,1,0\nwell,1/4,3/4\n")
    (place / "m.csv").write_text("state,ill,well\nill,9/10,1/10\nwell,1/10,9/10\n")
    (place / "coin.bif").write_text(
        "network coin {} variable x { type discrete [ 2 ] { ill, well }; }"
        " variable y { type discrete [ 2 ] { ill, well }; }"
        " probability ( x ) { table 0.5, 0.5; } probability ( y | x ) { (ill) 0.9, 0.1; (well) 0.2, 0.8; }"
    )
    (place / "d.csv").write_text("mood,ill,well\nsad,1/2,1/2\nfine,1/10,9/10\n")
    (place / "g.csv").write_text("action,ill,well\nstay,1,0\ngo,0,1/2\n")
    (place / "c.json").write_text(
        '{"secrets": ["a", "b"], "outcomes": ["y", "n"], "matrix": [["1/3", "2/3"], [0.5, 0.5]]}'
    )
    (place / "scores.csv").write_text("s,in\n" + "".join(f"{i + 30 * (i % 2)},{i % 2}\n" for i in range(80)))
    (place / "guesses.csv").write_text("said,usual,ill,in\n" + "yes,no,yes,1\nno,no,yes,0\n" * 30)
    (place / "p.json").write_text('{"ill": "1/10", "well": 0.9}')
    (place / "q.json").write_text('{"sad": "1/10", "fine": "9/10"}')
    (place / "v.json").write_text(
        json.dumps({name: dv.datasets.census(name).unique().to_pylist() for name in columns[1:]})
    )
    (place / "r.json").write_text(
        '[{"mechanism": "gaussian", "sigma": 10, "count": 9}, {"mechanism": "randomized-response", "epsilon": 0.1}]'
    )
    (place / "promised.json").write_text(
        '[{"mechanism": "adp", "epsilon": 0.5, "delta": 1e-8}, {"mechanism": "zcdp", "rho": 0.1}]'
    )
    run("release t.csv --column sex --guarantee ldp=1 -o out.csv --ledger l.sqlite --save-request asked.json")
    run(
        "publish t.csv --count sex --guarantee dp=1 --values v.json --ledger l.sqlite -o n.csv "
        "--save-request asked-statistics.json"
    )
    key_pair(place)
    run("release t.csv --column sex --guarantee ldp=1 -o signed.csv --no-ledger --sign key.pem")
    run("publish t.csv --mean age:0:90 --guarantee dp=1 --no-ledger --sign key.pem -o sums.csv")
    run(
        "generalize t.csv --known age,sex --secret race --guarantee k=5 --no-ledger --sign key.pem -o groups.csv "
        "--save-request asked-groups.json"
    )
    run(
        "generalize t.csv --known age,sex --secret race --guarantee k=5 --no-ledger --recoding local -o local.csv "
        "--save-request asked-local.json"
    )
    run(
        "generalize t.csv --known age,sex --secret race --guarantee k=5 --guarantee pml=1 --no-ledger "
        "--perturb ldp=1 -o both.csv --save-request asked-both.json"
    )
    run("release t.csv --column race --guarantee ldp=2 --protocol auto --values v.json -o reports.csv --no-ledger")
    run("release t.csv --column age --guarantee metric=0.1 --grid 1 --box 0,90 -o moved.csv --no-ledger")
    run("release t.csv --column sex --protect race --guarantee pml=0.1 -o about.csv --no-ledger")
    run("design --prior p.json --guarantee pml=0.5 -o designed.json --no-compare")
    said = pyarrow.csv.read_csv("out.csv")["sex_perturbed"]
    pyarrow.csv.write_csv(pyarrow.table({"sex": dv.datasets.census("sex").slice(0, 2000), "said": said}), "pairs.csv")
    yield place
    patch.undo()


def test_schemas_are_schemas_and_every_command_that_prints_json_has_one() -> None:
    for name, schema in SCHEMAS.items():
        Draft202012Validator.check_schema(schema)
        assert schema["$id"] == f"{name}.json"
        assert schema["title"]
    assert set(PRINTED) == set(COMMANDS) - {"app"}, "--json of a new command needs a schema"
    assert {*PRINTED, *WRITTEN, "common"} == set(SCHEMAS)


@pytest.mark.parametrize("command", PRINTED)
@pytest.mark.thin
def test_what_a_command_prints_is_what_its_schema_says(command: str, folder: Path) -> None:
    for arguments in PRINTED[command]:
        line = f"{command} {arguments} --json"
        found = json.loads(run(line))
        assert not wrong(command, found), line
        assert wrong(command, {**found, "unheard of": 1})
        assert wrong(command, dict(list(found.items())[1:]))


@pytest.mark.parametrize("name", WRITTEN)
def test_files_are_what_their_schemas_say(name: str, folder: Path) -> None:
    for file in WRITTEN[name]:
        assert not wrong(name, json.loads((folder / file).read_text())), file


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        ("input-channel", {"matrix": []}),
        ("input-channel", {"matrix": [["a third", "2/3"]]}),
        ("input-prior", {"ill": None}),
        ("input-prior", {}),
        ("input-values", {"sex": "Female"}),
        ("input-releases", [{"mechanism": "magic"}]),
        ("input-releases", {"mechanism": "gaussian"}),
    ],
)  # fmt: skip
def test_inputs_that_the_commands_refuse_are_refused(name: str, bad: Any) -> None:
    assert wrong(name, bad)
