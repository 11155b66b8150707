"""What releases from a census give away: randomized response on race, and publishing only the income bracket."""

import math
from collections.abc import Hashable

import divulge as dv

BRACKETS = {"- 50000.": "income below 50,000", "50000+.": "income of 50,000 or more"}


def heading(text: str) -> None:
    print(f"\n{text}\n{'=' * len(text)}\n")


def change(joint: dv.Joint, outcome: Hashable, secret: Hashable) -> str:
    """Say what the outcome does to the belief that a person has the secret."""
    before, after = float(joint.prior[secret]), float(joint.posterior(outcome)[secret])
    factor = (
        f"{after / before:.2f} times" if after >= before else f"{before / after:.2f} times less" if after else "never"
    )
    return f"{str(secret).strip():<38} {before:7.2%} -> {after:7.2%}   {factor}"


def tell(joint: dv.Joint, words: dict[str, str] | None = None) -> None:
    """Say what each outcome reveals about one person, the secret that gains most and the one that is ruled out most."""
    for row in dv.profile(joint).to_dict()["by_outcome"]:
        outcome = row["outcome"]
        shown = (words or {}).get(outcome, f"the answer {outcome!r}")
        print(f"Whoever sees {shown} (so for {row['probability']:.1%} of people) believes of that person")
        print(f"    most gained  {change(joint, outcome, row['pml_secret'])}")
        print(f"    most lost    {change(joint, outcome, row['pmc_secret'])}")
    leak = dv.profile(joint)
    print(
        f"\nIn nats: at most {leak.pml.max():.3f} gained (pointwise maximal leakage), at most {leak.pmc.max():.3f} "
        f"lost (pointwise maximal cost),\n{leak.mutual_information:.4f} on average (mutual information)."
    )


def main() -> None:
    census = dv.datasets.census_path()
    race = dv.Prior.from_column(dv.datasets.census("race"))

    heading("1. Race, asked by randomized response at epsilon = 1")
    asked = dv.mechanisms.randomized_response(race, epsilon=1.0)
    truth = float(asked.floats.max())
    print(
        f"Each person says the truth with probability {truth:.1%}, else one of the {len(race) - 1} other answers by "
        f"chance. Whatever one knew\nbefore, odds change by at most {math.e:.2f} times (local differential privacy 1). "
        "With the census as what one knew before:\n"
    )
    tell(dv.Joint(race, asked))

    for secret, column in (("race", "race"), ("occupation", "major_occupation")):
        heading(f"{2 if secret == 'race' else 3}. Publishing only the income bracket: what it says about {secret}")
        tell(dv.read_joint(census, column, "income"), BRACKETS)

    print(
        "\nThe last two are estimates: the 199,523 rows of the table stand for everybody. Try your own table:\n"
        "    .venv/bin/divulge measure --data TABLE --secret COLUMN --released COLUMN"
    )


if __name__ == "__main__":
    main()
