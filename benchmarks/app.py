"""What the app costs in seconds of processor: the first preview after a file is chosen, and one movement of a slider.

Run: python benchmarks/app.py. Seconds of processor are those of this process and its jobs; nothing here waits. What a
visitor sees beside them is the time the machine gives to others.
"""

import random
import re
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from divulge import datasets
from divulge.app import work
from divulge.app.server import application

HOST = "127.0.0.1:8765"


def spent() -> float:
    """Return the processor seconds of this process and of those that ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def cost(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor seconds of a call, and its answer."""
    begun = spent()
    answer = run()
    return spent() - begun, answer


def previews(folder: Path) -> None:
    """Print what the jobs of the first page cost once they are called: columns, then what they say about a secret."""
    files = {"the census, 199,523 rows": (datasets.census_path(), "race", {})}
    rng = random.Random(0)
    for rows in (3_000, 100_000):
        path = folder / f"survey{rows}.csv"
        lines = [
            f"town{min(49, int(rng.expovariate(0.1)))};{rng.choice('fm')};{rng.randint(18, 90)}" for _ in range(rows)
        ]
        path.write_text("town;sex;age\n" + "\n".join(lines) + "\n", encoding="utf-8")
        files[f"a text of {rows:,} rows, 50 towns"] = (path, "town", {"delimiter": ";"})
    for name, (path, secret, options) in files.items():
        into = str(folder / "kept.parquet")
        read, found = cost(
            lambda path=path, options=options, into=into: work.ingest(_quiet, str(path), "t", options, into)
        )
        public = [one["name"] for one in found["columns"] if one["values"] and one["name"] != secret]
        told, _ = cost(lambda into=into, secret=secret, public=public: work.expose(_quiet, into, secret, public))
        print(f"{name}: columns after {read:.2f} s, and then what they say about {secret!r} after {told:.2f} s")


def _quiet(*_: Any) -> None:
    """Tell nobody how far work is."""


def sliders(folder: Path) -> None:
    """Print what one movement of a slider costs, for a secret of 20 values."""
    rng = random.Random(1)
    path = folder / "twenty.csv"
    path.write_text("answer\n" + "\n".join(f"v{rng.randrange(20)}" for _ in range(2_000)) + "\n")
    with TestClient(application(frozenset({HOST})), base_url=f"http://{HOST}") as client:
        base = re.findall(r"/s/[\w-]+", str(client.get("/").url))[0]
        client.post(f"{base}/upload", files={"file": ("twenty.csv", path.read_bytes())})
        while "rows," not in client.get(f"{base}/columns").text:
            pass
        client.post(f"{base}/secret", data={"secret": "answer"})
        for attacker in ("everything", "frequencies", "nothing"):
            times: list[float] = []
            for after in range(20, 80):
                asked = {"attacker": attacker, "before": "5", "after": str(after)}
                used, page = cost(lambda asked=asked: client.get(f"{base}/meaning", params=asked))
                assert page.status_code == 200
                times.append(used)
            times.sort()
            print(
                f"a slider, the attacker knows {attacker}: {1000 * times[30]:.0f} ms, at most {1000 * times[-1]:.0f} ms"
            )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        previews(Path(place))
        sliders(Path(place))
