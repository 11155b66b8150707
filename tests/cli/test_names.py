"""How every command speaks of files: by their names, without their folders, with control characters written out."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from typer.testing import CliRunner

import divulge as dv
from divulge.cli.main import COMMANDS, app

FOLDER = "Folder\x1b[2J\u202e"
C, T, P, L, O = (f"{FOLDER}/{name}" for name in ("c\x1b.csv", "t\x1b.csv", "p.csv", "l.json", "o.csv"))
B = f"{FOLDER}/b\x1b.bif"
K = f"{FOLDER}/k.pem"
ASKED = f"{FOLDER}/asked.json"
RECEIPT, PUBLISHED, NONE = f"{FOLDER}/o.receipt.json", f"{FOLDER}/s.receipt.json", f"{FOLDER}/none.csv"

LINES: dict[str, tuple[tuple[str, ...], ...]] = {
    "measure": ((C, "--prior", P), ("--data", T, "--secret", "x", "--released", "y"), (C, "--prior", f"{T}:x"),
                (C, "--plot", f"{FOLDER}/m.png"), (C, "--plot", f"{FOLDER}/m.zzz"), (NONE,), (C, "--prior", NONE)),
    "check": ((C, "--guarantee", "ldp=2"), (C, "--guarantee", "pml=1", "--prior", P), (P, "--guarantee", "ldp=2")),
    "convert": (("ldp=1",),),
    "design": (("--prior", P, "--guarantee", "ldp=1"), ("--prior", f"{T}:x", "--guarantee", "ldp=1"),
               ("--prior", f"{T}:*", "--guarantee", "ldp=1", "-o", f"{FOLDER}/new"),
               ("--prior", f"{T}:x", "--guarantee", "ldp", "--frontier", "1,2"),
               ("--prior", f"{T}:z", "--guarantee", "ldp=1"),
               ("--prior", f"{T}:x", "--guarantee", "ldp=1", "--about", f"{P}:x"),
               ("--prior", P, "--guarantee", "ldp=1", "-o", f"{FOLDER}/none/m.csv")),
    "attack": ((C, "--prior", P), (C, "--prior", f"{T}:x"), (NONE,)),
    "compare": ((C, C), (C, C, "--json"), (C, NONE), (C, P)),
    "chain": (("--transition", C, "--release", C, "--steps", "2"),
              ("--transition", NONE, "--release", C, "--steps", "2"),
              ("--transition", C, "--release", P, "--steps", "2")),
    "network": ((B, "--release", f"y={C}"), (NONE, "--release", "y"), (P, "--release", "y")),
    "noise": (("gaussian", "--scale", "2", "--secret", f"{T}:n"), ("gaussian", "--scale", "2", "--secret", f"{T}:x")),
    "account": ((L,), (NONE,)),
    "calibrate": (("laplace", "dp=9", "--beside", L), ("laplace", "dp=9", "--beside", NONE)),
    "release": ((T, "--column", "x", "-o", f"{FOLDER}/r.csv", "--mechanism", C, "--only-column"),
                (T, "--column", "x", "--guarantee", "ldp=1", "--preview"), (T, "--column", "z", "--mechanism", C),
                (T, "--column", "x", "-o", O, "--mechanism", C), (T, "--column", "x", "-o", T, "--mechanism", C),
                (T, "--column", "x", "-o", f"{FOLDER}/none/o.csv", "--mechanism", C)),
    "publish": ((T, "--guarantee", "dp=1", "--count", "x", "--values-from-data", "-o", f"{FOLDER}/n.csv"),
                (T, "--guarantee", "dp=1", "--mean", "n:0:9", "-o", f"{FOLDER}/n.csv"),
                (T, "--guarantee", "dp=1", "--count", "x", "--values", NONE, "-o", f"{FOLDER}/n.csv")),
    "run": ((ASKED, "-o", f"{FOLDER}/q.csv"), (NONE,), (P,)),
    "estimate": ((O,), (T, "--mechanism", C, "--column", "x"), (P,)),
    "audit": (("--data", T, "--secret", "x", "--released", "y", "--claim", "ldp=1"),
              ("--data", T, "--secret", "x", "--released", "y", "--mechanism", C),
              ("--data", T, "--secret", "x", "--released", "y", "--receipt", P)),
    "audit-model": ((f"{FOLDER}/scores.csv", "--score", "s", "--member", "in"),
                    (NONE, "--score", "s", "--member", "in"),
                    (T, "--score", "n", "--member", "x"), (T, "--score", "x", "--member", "n"),
                    (f"{FOLDER}/scores.csv", "--score", "s", "--member", "in", "--plot", f"{FOLDER}/m.zzz")),
    "audit-attribute": ((T, "--guess", "x", "--baseline", "y", "--truth", "n"),
                        (NONE, "--guess", "x", "--baseline", "y", "--truth", "n"),
                        (T, "--guess", "x", "--baseline", "y", "--truth", "z"),
                        (T, "--guess", "x", "--baseline", "y", "--truth", "n", "--member", "x")),
    "audit-synthetic": ((T, "--members", T, "--others", T, "--secret", "x", "--known", "y"),
                        (T, "--members", NONE, "--others", T, "--secret", "x", "--known", "y"),
                        (T, "--members", T, "--others", T, "--secret", "z", "--known", "y,n")),
    "assess": ((T, "--known", "y", "--secret", "x", "--claim", "k=2"), (T, "--known", "x,y"), (T, "--known", "z"),
               (T, "--secret", "x", "--hierarchy", f"x={NONE}"), (T, "--secret", "x", "--population", NONE)),
    "generalize": ((T, "--known", "y", "--guarantee", "k=1", "-o", f"{FOLDER}/g.csv"),
                   (T, "--known", "z", "--guarantee", "k=1"), (T, "--known", "y", "--guarantee", "k=99"),
                   (T, "--known", "y", "--guarantee", "k=1", "--hierarchy", f"y={NONE}"),
                   (T, "--known", "y", "--guarantee", "k=1", "-o", T)),
    "ledger": (("show", "--ledger", T), ("show", "--ledger", f"{FOLDER}/none.sqlite")),
    "app": (("--no-browser", "--host", "256.0.0.1", "--port", "0", "--ledger", f"{FOLDER}/book.sqlite"),),
    "report": ((C, "--prior", P), ("--receipt", RECEIPT, "--prior", P, "-o", f"{FOLDER}/r.html"),
               ("--data", T, "--secret", "x", "--released", "y"), ("--receipt", PUBLISHED),
               (C, "-o", f"{FOLDER}/r.pdf")),
    "verify": ((RECEIPT, "--key", K), (NONE, "--key", K), (RECEIPT, "--key", P)),
    "statement": ((RECEIPT,), (RECEIPT, "-o", f"{FOLDER}/s.html"), (P,)),
}  # fmt: skip
"""Command -> lines of it that work, and lines that do not. What `ledger show` lists are sources, by their paths."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a place with files of every kind in a folder with a name like no other."""
    place = tmp_path_factory.mktemp("names")
    inside = place / FOLDER
    inside.mkdir()
    coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"])
    dv.write_channel(coin, place / C)
    (place / B).write_text(
        "network coin {} variable x { type discrete [ 2 ] { a, b }; } variable y { type discrete [ 2 ] { a, b }; }"
        " probability ( x ) { table 0.5, 0.5; } probability ( y | x ) { (a) 0.9, 0.1; (b) 0.2, 0.8; }"
    )
    (place / T).write_text("x,y,n\n" + "a,b,1\nb,a,2\na,a,3\n" * 20)
    (inside / "scores.csv").write_text("s,in\n" + "1,yes\n2,no\n" * 20)
    (place / P).write_text("a,1/2\nb,1/2\n")
    (place / L).write_text(json.dumps([{"mechanism": "channel", "file": "c\x1b.csv"}]))
    dv.Request.of("release", T, column="x", mechanism=C, only_column=True).save(place / ASKED)
    public = Ed25519PrivateKey.generate().public_key()
    (place / K).write_bytes(public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    table = pa.table({"x": ["a", "b"] * 20})
    dv.release(table, place / O, column="x", mechanism=coin, ledger=inside / "book.sqlite", source_name="t")
    dv.publish(table, dv.Count("x"), inside / "s.csv", guarantee="dp=1", values={"x": ["a", "b"]})
    return place


def test_every_command_is_there() -> None:
    assert set(LINES) == set(COMMANDS)


@pytest.mark.thin
@pytest.mark.parametrize("command", LINES)
def test_files_are_called_by_their_names(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("DIVULGE_LEDGER", str(folder / FOLDER / "book.sqlite"))
    for line in LINES[command]:
        done = CliRunner().invoke(app, [command, *line])
        said = done.stdout + done.stderr
        assert done.exit_code in (0, 1, 2), done.exception
        assert "Folder" not in said, (line, said)
        assert all(c.isprintable() or c == "\n" for c in said), (line, said)


def test_names_of_columns_may_have_colons_wherever_one_stands_between_other_things(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("time: h,2024\n" + "1,a\n2,b\n3,a\n4,b\n" * 20)
    out = ("--guarantee", "dp=100", "--no-ledger", "--json", "-o")

    def value(*asked: str) -> Any:
        found = CliRunner().invoke(app, ["publish", str(path), *asked, *out, str(tmp_path / "o.csv"), "--force"])
        assert found.exit_code == 0, found.output
        return json.loads(found.stdout)

    assert value("--mean", "time: h:0:5")["queries"]
    assert value("--mean", "time: h:0:5:0.5")["queries"]
    assert value("--quantiles", "time: h:0:5:0.25,0.5")["queries"]
    assert value("--proportion", "time: h:3")["queries"]
    prior = f"{path}:time: h"
    shares = CliRunner().invoke(app, ["design", "--prior", prior, "--guarantee", "ldp=1", "--json"])
    assert shares.exit_code == 0, shares.output
    own = CliRunner().invoke(
        app, ["release", str(path), "--column", "time: h", "--guarantee", "pml=0.1", "--prior", prior, "--preview"]
    )
    assert own.exit_code == 2
    assert "the released column itself" in own.stderr
    over = CliRunner().invoke(app, ["design", "--prior", prior, "--guarantee", "ldp=1", "-o", str(path), "--force"])
    assert over.exit_code == 2
    assert "the same file" in over.stderr
    assert path.read_text().startswith("time: h")
