"""Run commands that write into a folder with less and less room; what comes of each is one line of JSON.

python small_disk.py FOLDER WORK ROUTE     FOLDER is a small disk ("disk"), or no file may have more bytes ("limit")
"""

import json
import os
import resource
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from typer.testing import CliRunner

import divulge as dv
from divulge.app import work
from divulge.cli.main import app
from divulge.releasing.request import Request

ROOMS = (0, 3, 7)
"""KiB that are left: of which nothing that is written here has enough; one a line, or all in `make search`."""

COIN = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["a", "b"], ["a", "b"])


@contextmanager
def with_room(folder: Path, kilobytes: int, route: str) -> Generator[None]:
    """Let there be room for so much in the folder, or in each file."""
    filler, before = folder / "filler", resource.getrlimit(resource.RLIMIT_FSIZE)
    if route == "disk":
        free = os.statvfs(folder)
        filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - kilobytes * 1024)))
    else:
        resource.setrlimit(resource.RLIMIT_FSIZE, (kilobytes * 1024 // 8, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        filler.unlink(missing_ok=True)


def lines(here: Path) -> dict[str, tuple[str | None, list[Any]]]:
    """Return what is tried: a name, the file that is there before, and the line."""
    release = ["release", "t.csv", "--column", "x", "--mechanism", "c.csv", "--only-column", "--force"]
    publish = ["publish", "t.csv", "--guarantee", "dp=1", "--count", "x", "--values-from-data", "--force"]
    return {
        "release": ("o.csv", [*release, "-o", here / "o.csv", "--ledger", "book.sqlite"]),
        "release as Parquet": ("o.parquet", [*release, "-o", here / "o.parquet", "--ledger", "book.sqlite"]),
        "release, ledger": (None, [*release, "-o", "o.csv", "--ledger", here / "new.sqlite"]),
        "publish": ("p.csv", [*publish, "-o", here / "p.csv", "--ledger", "book.sqlite"]),
        "publish, ledger": (None, [*publish, "-o", "p.csv", "--ledger", here / "new.sqlite"]),
        "report": ("r.html", ["report", "c.csv", "--prior", "uniform", "--force", "-o", here / "r.html"]),
        "statement": ("s.html", ["statement", "made.receipt.json", "--force", "-o", here / "s.html"]),
        "picture": ("m.png", ["account", "l.json", "--plot", here / "m.png", "--force"]),
        "channel": ("d.json", ["design", "--prior", "p.csv", "--guarantee", "ldp=1", "--force", "-o", here / "d.json"]),
    }


def called(line: list[Any]) -> tuple[int, str]:
    done = CliRunner().invoke(app, list(map(str, line)))
    return done.exit_code, done.stderr


def saved(save: Callable[[], Any]) -> tuple[int, str]:
    """Return how a step of the app ends: what it raises is shown on its page."""
    try:
        save()
    except dv.DivulgeError as error:
        return 2, f"error: {error}"
    return 0, ""


def main(folder: Path, place: Path, route: str) -> None:
    """Try everything with every room."""
    warnings.simplefilter("ignore")
    os.chdir(place)
    rows = "".join(f"{'ab'[i % 2]},{'ab'[i % 3 > 0]},{i * 7919 % 100003}\n" for i in range(9000))
    Path("t.csv").write_text("x,y,n\n" + rows)
    Path("p.csv").write_text("".join(f"secret number {i},1/40\n" for i in range(40)))
    Path("l.json").write_text(json.dumps([{"mechanism": "gaussian", "sigma": 10, "sensitivity": 1}]))
    dv.write_channel(COIN, "c.csv")
    dv.release(pa.table({"x": ["a", "b"] * 20}), "made.csv", column="x", mechanism=COIN)
    dv.publish(pa.table({"x": ["a"] * 9}), dv.Count("x"), "sums.csv", guarantee="dp=1", values={"x": ["a"]})
    kept = {"ledger": "book.sqlite", "source_name": "t", "force": True}
    asked = Request.of("release", "t.csv", "o.csv", column="x", mechanism=COIN, **kept)
    steps: dict[str, Any] = {
        "app, upload": (None, lambda: work.ingest(lambda *_: None, "t.csv", "t", {}, str(folder / "u.parquet"))),
        "app, release": ("o.csv", lambda: work.release(lambda *_: None, "t.csv", str(folder), asked)),
        "app, report": (None, lambda: work.report(lambda *_: None, "sums.receipt.json", str(folder / "r.html"))),
    }  # fmt: skip
    for number, (name, (old, how)) in enumerate((lines(folder) | steps).items()):
        for kilobytes in ROOMS if os.environ.get("DIVULGE_THOROUGH") else [ROOMS[number % len(ROOMS)]]:
            for file in folder.iterdir():
                file.unlink()
            Path("book.sqlite").unlink(missing_ok=True)
            if old is not None:
                (folder / old).write_text("what was there")
            with with_room(folder, kilobytes, route):
                code, said = saved(how) if callable(how) else called(how)
            ledger = next((p for p in (folder / "new.sqlite", Path("book.sqlite")) if p.exists()), None)
            found = {
                "name": name, "room": kilobytes, "code": code, "said": said, "old": old,
                "left": sorted(file.name for file in folder.iterdir()),
                "kept": old is None or (folder / old).read_text(errors="replace") == "what was there",
                "entries": 0 if ledger is None else len(dv.Ledger(ledger).entries()),
            }  # fmt: skip
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
