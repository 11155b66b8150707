"""Step 6 by its forms: audits with the numbers of the library, receipts of both kinds, two mechanisms."""

import random
import re
from pathlib import Path

import pyarrow as pa

import divulge as dv

from .visits import Visit, running


def test_an_audit_shows_the_bounds_of_the_library(tmp_path: Path) -> None:
    rng = random.Random(0)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("race,said\n" + "".join(f"{rng.choice('abc')},{rng.choice('xyz')}\n" for _ in range(2000)))
    found = dv.audit(pairs, secret="race", released="said", claim="ldp=0.0001").to_dict()
    with running() as client:
        visit = Visit(client)
        for claim in ("", "ldp=0.0001"):
            asked = {"secret": "race", "released": "said", "claim": claim}
            visit.post("check/audit", asked, files={"file": ("pairs.csv", pairs.read_bytes())})
            page = visit.part("check/found")
            rows = re.findall(r'<th scope="row">(.*?)</th><td class="n">(.*?)</td><td class="n">(.*?)</td>'
                              r'<td class="n">(.*?)</td>', page)  # fmt: skip
            assert {row[0] for row in rows} == set(found["measures"])
            for name, *numbers in rows:
                wanted = [float(found["measures"][name][key]) for key in ("lower", "estimate", "upper")]
                low, near, high = (float(n.replace(",", "").replace("no bound", "inf")) for n in numbers)
                assert wanted[0] * 0.99 <= low <= wanted[0]  # rounded to the safe side
                assert near == float(f"{wanted[1]:.4g}")
                assert wanted[2] <= high <= wanted[2] * 1.01
        assert ("does not hold" in page) == bool(found["violated"])


def test_receipts_of_columns_and_of_statistics_are_read(tmp_path: Path) -> None:
    import pyarrow as pa

    table = pa.table({"answer": ["yes", "no", "no", "no"] * 50})
    dv.publish(table, dv.Count("answer"), tmp_path / "s.csv", guarantee="dp=1", values={"answer": ["yes", "no"]})
    with running() as client:
        visit = Visit(client)
        name = "s.receipt.json"
        visit.post("check/receipt", files={"file": (name, (tmp_path / name).read_bytes())})
        assert "The report is ready" in visit.part("check/found")
        shown = visit.get("paper/checked?show").text
        assert "had any one person answered something else" in " ".join(shown.split())


def test_a_receipt_without_a_prior_is_read_for_values_that_are_all_alike(tmp_path: Path) -> None:
    coin = dv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"], ["yes", "no"])
    with running() as client:
        dv.release(pa.table({"v": ["yes", "no"] * 50}), tmp_path / "out.csv", column="v", mechanism=coin)
        visit = Visit(client)
        receipt = (tmp_path / "out.receipt.json").read_bytes()
        visit.post("check/receipt", files={"file": ("out.receipt.json", receipt)})
        part = visit.part("check/found")
        (name,) = set(re.findall(r"/paper/([\w.]+)", part))
        assert "all equally likely, as the receipt has no prior" in visit.get(f"paper/{name}?show").text
