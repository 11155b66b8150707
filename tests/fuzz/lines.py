"""Command lines near good ones: each command, with one option or file of it replaced, repeated, dropped or put in."""

import json
import os
import random
import socket
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import typer
from biff import xls
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import divulge as dv
from divulge.cli.main import app
from fuzz.cases import COIN, NUMBERS
from fuzz.harness import MARK

GOOD: dict[str, tuple[tuple[str, ...], ...]] = {
    "measure": (("c.csv", "--prior", "p.csv"), ("--data", "t.csv", "--secret", "x", "--released", "y")),
    "check": (("c.csv", "--guarantee", "ldp=2"), ("c.csv", "--guarantee", "pml=1", "--prior", "t.csv:x")),
    "convert": (("ldp=1",), ("adp=1:1e-6", "--to", "ldp"), ("pml=1", "--p-min", "0.1")),
    "design": (("--prior", "t.csv:x", "--guarantee", "ldp=1"),
               ("--prior", "p.csv", "--guarantee", "pml", "--frontier", "0.1:1:3")),
    "attack": (("c.csv", "--prior", "uniform"), ("c.csv", "--prior", "p.csv", "--gain", "g.csv"),
               ("c.csv", "--tries", "1", "--worst-prior")),
    "compare": (("c.csv", "c.csv"), ("c.csv", "c.csv", "--prior", "p.csv")),
    "chain": (("--transition", "c.csv", "--release", "c.csv", "--steps", "3"),
              ("--transition", "c.csv", "--release", "c.csv", "--steps", "2", "--secret", "ever=a")),
    "network": (("b.bif", "--release", "y"), ("b.bif", "--release", "x=c.csv", "--secret", "y")),
    "noise": (("laplace", "--scale", "1", "--secret", "bernoulli(0.3)"),
              ("gaussian", "--scale", "2", "--secret", "t.csv:n")),
    "calibrate": (("gaussian", "adp=1:1e-5"), ("laplace", "hits=0.1:0.01", "--count", "3", "--beside", "l.json")),
    "account": (("l.json",), ("l.csv",), ("l.json", "--delta", "1e-6")),
    "release": (("t.csv", "--column", "x", "-o", "out.csv", "--only-column", "--mechanism", "c.csv"),
                ("t.csv", "--column", "x", "-o", "out.parquet", "--only-column", "--guarantee", "ldp=1"),
                ("t.csv", "--column", "x", "--preview", "--guarantee", "ldp=1")),
    "publish": (("t.csv", "--guarantee", "dp=1", "--count", "x", "--values-from-data", "-o", "out.csv"),
                ("t.csv", "--guarantee", "dp=1", "--mean", "n:0:90", "-o", "out.csv"),
                ("t.csv", "--guarantee", "dp=1", "--count", "x", "--values", "v.json", "-o", "out.csv"),
                ("t.csv", "--guarantee", "adp=9:0.1", "--count", "x", "-o", "out.csv"),
                ("t.csv", "--guarantee", "pml=1", "--count", "x", "--values", "v.json", "--record-prior", "p.csv", "-o",
                 "out.csv"),
                ("t.csv", "--guarantee", "dp=1", "--sum", "n:0:90", "--against", "t2.csv", "--runs", "50",
                 "-o", "out.csv")),
    "generalize": (("t.csv", "--known", "y", "--secret", "x", "--guarantee", "k=2", "-o", "out.csv"),),
    "verify": (("o.receipt.json", "--key", "k.pem"),),
    "run": (("q.json", "-o", "out.csv"),),
    "assess": (("t.csv", "--known", "y", "--secret", "x"), ("t.csv", "--known", "x,y"),
               ("t.csv", "--known", "y", "--secret", "x", "--claim", "k=2")),
    "estimate": (("o.csv", "--receipt", "o.receipt.json"), ("t.csv", "--mechanism", "c.csv", "--column", "x")),
    "audit": (("--data", "t.csv", "--secret", "x", "--released", "y", "--claim", "ldp=1"),
              ("--data", "t.csv", "--secret", "x", "--released", "y", "--mechanism", "c.csv")),
    "audit-model": (("m.csv", "--score", "s", "--member", "in", "--claim", "dp=1"),),
    "audit-attribute": (("t.csv", "--guess", "x", "--baseline", "y", "--truth", "n", "--claim", "lift=1.1"),),
    "audit-synthetic": (("t.csv", "--members", "t.csv", "--others", "t2.csv", "--secret", "x", "--known", "y",
                         "--linked", "n", "--claim", "dp=1"),),
    "ledger": (("show", "--ledger", "book.sqlite"),),
    "app": (("--no-browser", "--host", "256.0.0.1", "--port", "0", "--no-ledger"),),
    "statement": (("s.receipt.json", "--language", "de"),
                  ("o.receipt.json", "--language", "de"), ("o.receipt.json", "-o", "out.html")),
    "report": (("c.csv", "--prior", "uniform"), ("--receipt", "o.receipt.json", "--prior", "uniform", "-o", "out.html"),
               ("--receipt", "s.receipt.json"), ("--data", "t.csv", "--secret", "x", "--released", "y")),
}  # fmt: skip
"""Command -> good lines of it, about the files of `good_files`. The app's has no address to answer at."""

FILES = ("t.csv", "t2.csv", "t.xls", "v.json", "g.csv", "l.csv", "p.json", "p.npy",
         "c.csv", "p.csv", "l.json", "o.csv", "o.receipt.json", "o.codebook.json", "s.receipt.json",
         "book.sqlite", "pipe", "sock", "dir", "zero", "full", "loop", "nowhere", "empty", "deep", "nul", "hard.csv",
         "sealed", "sealed/out.csv", "dir/out.csv", "none/out.csv", ".", "..", "/", "-", "", "~", "t.csv:x", "c.csv:*",
         "t.csv:", ":x", "t.csv:none", "out.csv", "out.html", "out.png", "out.docx", "\x1b[2J.csv", "\udce9.csv",
         "x" * 300, "/dev/null", "/dev/full", "/proc/self/mem", "sqlite://", "postgresql://h/x")  # fmt: skip
"""What may stand in the place of a file."""

WORDS = ("", " ", "a", "x", "none", "X", "uniform", "lower=0.1", "lower=0", "lower=nan", "noisy=1", "noisy=1e400",
         "all", "ldp=1", "ldp=", "=1", "ldp==1", "ldp=1:2", "adp=1:1e-6", "adp=1", "zcdp=1e308", "pml=inf",
         "lip=1e-320", "pml", "a:b", ":", "::", "n:0:90", "n:90:0", "n:nan:1", "n:0:1e400", "n:0:90:1e-300",
         "n:0:90:0.5,1.5", "n:0:90:0.5:7", "n:0:1e15:0.5:1", "1,2", "0,0,0", "0.1:3:1000000000", "3:0.1:4",
         "bernoulli(2)", "values()", "normal(0, 0)",
         "values(0:0.5)", "gumbel_r(0, 2", "uniform(0, 1e308)", "__import__('os')", "{}", "[]", "null", "-1", "--",
         "-x",
         "\x1b[2J", "\u202eabc", "\udce9", "é", "x" * 10_000, "a=b=c", "%s%n", "rows=0", "cells=1,bytes=10",
         "rows=1e99")  # fmt: skip
"""What may stand in the place of a word."""


@cache
def good_files() -> dict[str, bytes]:
    """Return the content of every file that good lines name."""
    rows = [
        (a, b, str(i), f"{MARK} {i}") for i, (a, b) in enumerate([("a", "b"), ("b", "b"), ("c", "a"), ("a", "a")] * 5)
    ]
    lines = "".join(",".join(row) + "\n" for row in rows)
    table = pa.table({"x": [row[0] for row in rows], "n": [int(row[2]) for row in rows]})
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "t.csv").write_text("x,y,n,diary\n" + lines)
        (folder / "t2.csv").write_text("x,y,n,diary\n" + lines.replace(",19,", ",90,"))
        dv.write_channel(COIN, folder / "c.csv")
        (folder / "m.csv").write_text("s,in\n" + "".join(f"{i * 37 % 101},{i % 2}\n" for i in range(100)))
        (folder / "b.bif").write_text(
            "network coin {} variable x { type discrete [ 3 ] { a, b, c }; }"
            " variable y { type discrete [ 2 ] { a, b }; }"
            " probability ( x ) { table 0.5, 0.25, 0.25; } probability ( y | x ) { (a) 0.9, 0.1; default 0.2, 0.8; }"
        )
        dv.Request.of("release", "t.csv", column="x", mechanism="c.csv", only_column=True).save(folder / "q.json")
        key = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key()
        (folder / "k.pem").write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        (folder / "p.csv").write_text("a,1/3\nb,1/3\nc,1/3\n")
        (folder / "l.json").write_text(
            json.dumps([{"mechanism": "gaussian", "sigma": 10, "sensitivity": 1, "count": 9}])
        )
        (folder / "l.csv").write_text("mechanism,sigma,sensitivity\ngaussian,10,1\n")
        (folder / "v.json").write_text(json.dumps({"x": ["a", "b", "c"]}))
        (folder / "g.csv").write_text("action,a,b,c\nguess a,1,0,0\nguess b,0,1,1/2\n")
        (folder / "p.json").write_text(json.dumps({"a": "1/3", "b": "1/3", "c": "1/3"}))
        np.save(folder / "p.npy", np.array([0.25, 0.25, 0.5]))
        (folder / "t.xls").write_bytes(xls())
        dv.release(
            table, folder / "o.csv", column="x", keep=[], mechanism=COIN, ledger=folder / "book.sqlite", source_name="t"
        )
        dv.publish(table, dv.Count("x"), folder / "s.csv", guarantee="dp=1", values={"x": ["a", "b", "c"]})
        return {path.name: path.read_bytes() for path in folder.iterdir()} | {
            "empty": b"", "deep": b"[" * 100_000, "nul": bytes(200), "sealed/inside.csv": b"x\na\n",
        }  # fmt: skip


def write_files(folder: Path) -> None:
    """Write the good files, and beside them what nobody should wait for, follow or replace."""
    for name in ("dir", "sealed"):
        (folder / name).mkdir()
    for name, content in good_files().items():
        (folder / name).write_bytes(content)
    os.link(folder / "c.csv", folder / "hard.csv")
    os.mkfifo(folder / "pipe")
    for name, target in {"loop": "loop", "nowhere": "none", "zero": "/dev/zero", "full": "/dev/full"}.items():
        os.symlink(target, folder / name)
    here = os.open(".", os.O_RDONLY)
    os.chdir(folder)  # the path of a socket must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
    os.chdir(here)
    os.close(here)
    (folder / "sealed").chmod(0o500)


@cache
def options_of(name: str) -> dict[str, Any]:
    """Return the options of a command, as typer has them, by their longest name."""
    group: Any = typer.main.get_command(app)
    command = group.get_command(None, name)
    command = command.commands["show"] if hasattr(command, "commands") else command
    return {max(p.opts, key=len): p for p in command.params if p.opts[0].startswith("-")}


def value(rng: random.Random, option: Any) -> list[str]:
    """Return an option with some value."""
    name = max(option.opts, key=len)
    if option.is_flag:
        return [name]
    return [name, rng.choice(rng.choice([FILES, WORDS, NUMBERS]))]


def changed(rng: random.Random, line: list[str], options: dict[str, Any]) -> list[str]:
    """Return a line with one of its parts replaced, dropped or repeated, or with one more option."""
    at = rng.randrange(len(line))
    given = options.get(line[at - 1]) if at else None
    other = rng.choice(FILES + WORDS) if given is None or given.is_flag else value(rng, given)[1]
    return rng.choice([
        [*line, *value(rng, rng.choice(list(options.values())))],
        [*line, *value(rng, rng.choice(list(options.values())))],
        [*line[:at], other, *line[at + 1 :]],
        [*line[:at], rng.choice(FILES), *line[at + 1 :]],
        line[:at] + line[at + 1 :],
        line + line[at : at + 2],
    ]) or [""]  # fmt: skip


def near(rng: random.Random, folder: Path) -> list[str]:
    """Write the files, and return a good line of some command with a change or two."""
    write_files(folder)
    command = rng.choice(list(GOOD))
    line = list(rng.choice(GOOD[command]))
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        line = changed(rng, line, options_of(command))
    return [command, *line, *(["--host", "256.0.0.1"] if command == "app" else [])]
