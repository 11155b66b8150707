"""What went out before, and what goes out beside, in the numbers of step 2 and of a column that protects another."""

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import divulge as dv

from .visits import Visit, running

N = 600
ROWS = [("abc"[i % 3], "xy"[i % 5 > i % 3], "NS"[i % 2 if i % 7 else 0]) for i in range(N)]
LEVEL: Any = {"column": "faith", "guarantee": "ldp=1", "per_row": True}


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("town,faith,side\n" + "\n".join(map(",".join, ROWS)) + "\n")
    return path


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", "", page).split())


def after(before: float, loss: float) -> float:
    return 100 * before * math.exp(loss) / (1 - before + before * math.exp(loss))


def said(pattern: str, page: str) -> float:
    found = re.search(pattern, words(page))
    assert found is not None, words(page)
    return float(found[1])


def test_step_2_counts_what_went_out_before_and_what_may_be_known(people: Path, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    for i in range(2):
        dv.release(people, tmp_path / f"o{i}.csv", keep=(), ledger=ledger, **LEVEL)
    with running(ledger=str(ledger)) as client:
        visit = Visit(client)
        visit.upload(people)
        visit.post("secret", {"secret": "faith", "public": ["town", "side"], "whose": "row"})
        asked = "attacker=everything&value=x&before=1&after=5"
        page = visit.part(f"sum/found?{asked}")
        own = math.log(5 / 95 * 99)
        assert said(r"With the 3 releases .* at most ([\d.]+) in 100\.", page) == pytest.approx(
            after(0.01, 2 + own), 0.02
        )
        groups = Counter((town, side) for town, _, side in ROWS)
        share = max(Counter(ROWS)[town, "x", side] / n for (town, side), n in groups.items())
        assert said(r"with up to ([\d.]+) in 100 before", page) == pytest.approx(100 * share, 0.02)
        assert said(r"and with at most ([\d.]+) in 100 afterwards", page) >= min(100, after(share, 2 + own)) - 1e-9
        more = visit.part(f"sum/found?{asked.replace('after=5', 'after=20')}")
        assert said(r"at most ([\d.]+) in 100\.", more) == pytest.approx(after(0.01, 2 + math.log(0.25 * 99)), 0.02)
        assert visit.get("sum/found?attacker=nobody").status_code == 400
    with running() as client:
        visit = Visit(client)
        visit.upload(people)
        assert visit.get("sum/found").status_code == 409
        visit.post("secret", {"secret": "faith", "public": [], "whose": "row"})
        assert "what went out before is not known" in visit.part("sum/found")


def test_a_protected_column_is_told_with_all_on_record(people: Path, tmp_path: Path) -> None:
    """The sum holds against the exact posterior of an attacker who reads both releases and the column beside."""
    ledger = tmp_path / "ledger.sqlite"
    before = dv.release(people, tmp_path / "first.csv", keep=(), ledger=ledger, **LEVEL)
    asked: dict[str, Any] = {"column": "town", "protect": "faith", "times": "1.2", "purpose": "statistics",
                             "whose": "row"}  # fmt: skip
    with running(ledger=str(ledger)) as client:
        visit = Visit(client)
        visit.upload(people)
        visit.post("protect", asked)
        page = visit.part("protect/found")
        bound = said(r"With all 2 releases .* at most ([\d.]+) times as likely", page)
        visit.post("protect/chosen")
        visit.post("asked", {"format": "csv", "keep": "side"})
        told = visit.part("asked/found")
        assert said(r"With all 2 releases .*?: at most ([\d.]+) times", told) == bound
        beside = said(r"and with all that is on record at most ([\d.]+) times", told)
        receipt = dv.Receipt.read(visit.papers(tmp_path, format="csv", keep="side")["receipt.json"])
    shares, alone, both = Counter(faith for _, faith, _ in ROWS), 0.0, 0.0
    first, second = before.channel, receipt.channel
    for y in first.outcomes:
        for z in second.outcomes:
            weights = {row: n * float(first.floats[first.secrets.index(row[1]), first.outcomes.index(y)])
                       * float(second.floats[second.secrets.index(row[0]), second.outcomes.index(z)])
                       for row, n in Counter(ROWS).items()}  # fmt: skip
            for faith, n in shares.items():
                for sides in ({"N", "S"}, {"N"}, {"S"}):
                    seen = {row: w for row, w in weights.items() if row[2] in sides}
                    if not (total := sum(seen.values())):
                        continue
                    lift = sum(w for row, w in seen.items() if row[1] == faith) / total / (n / N)
                    alone, both = (max(alone, lift), both) if len(sides) == 2 else (alone, max(both, lift))
    assert 1.2 < alone <= bound
    assert both <= beside
