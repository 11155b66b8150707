"""`python -m search --minutes 60 --seed 7 --case pointwise` runs the cases in turn; exit code 1 on a find."""

import argparse
import secrets
import sys
import time
import traceback

from search import registry
from search.cases import CASES
from search.registry import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="search", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="repeat the run, or the find, of this seed")
    parser.add_argument("--case", choices=sorted(CASES), default=None, help="this one only")
    parser.add_argument("--once", action="store_true", help="one draw of each case")
    asked = parser.parse_args()
    registry.timed = True
    first = secrets.randbelow(10**9) if asked.seed is None else asked.seed
    print(f"seed {first}", flush=True)
    end, seed, finds, drawn = time.monotonic() + 60 * asked.minutes, first, 0, 0
    while True:
        for title in [asked.case] if asked.case else sorted(CASES):
            try:
                run(title, seed)
            except Exception as error:
                finds += 1
                kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
                print(
                    f"FOUND by {title}, seed {seed}: {kind}{error}\n  repeat: --case {title} --seed {seed} --once",
                    flush=True,
                )
                if asked.once:
                    traceback.print_exc()
            drawn += 1
        seed += 1
        if asked.once or time.monotonic() >= end:
            break
    print(f"{drawn} draws of {len(CASES)} cases, seeds {first} to {seed - 1}: {finds} finds")
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
