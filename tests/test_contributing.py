"""The walk-throughs of CONTRIBUTING, done: in a copy of the tree each is followed, and its commands fail, then pass.

Where a walk-through needs a file that its section does not name, the section is wrong.
"""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from support import THOROUGH

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
SECTIONS = dict(re.findall(r"^## (Adding [^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


@dataclass(frozen=True)
class Edit:
    """Text that is put behind the first place where `after` stands; a file without it is new."""

    path: str
    text: str
    after: str = ""

    def apply(self, tree: Path) -> None:
        path = tree / self.path
        if not self.after:
            assert not path.exists(), self.path
            path.write_text(self.text)
            return
        before, found, rest = path.read_text().partition(self.after)
        assert found, f"{self.path} no longer holds {self.after!r}"
        path.write_text(before + found + self.text + rest)


MEASURE = (
    Edit(
        "src/divulge/measures/average/information.py",
        '''

def normalized_information(joint: JointLike, unit: Unit = "nats") -> float:
    r"""Return I(X; Y) / H(X), the share of the entropy of the secret that is told, 0 where the secret is known.

    Parameters
    ----------
    joint : Joint, (prior, channel), or array_like of shape (N, M)
    unit : "nats" or "bits"
        Of both; the share has none.

    Returns
    -------
    float
        In [0, 1].

    Raises
    ------
    DivulgeError
        When `joint` is no joint distribution (entries at least 0, sum 1 within 1e-9), or `unit` is unknown.

    References
    ----------
    Shannon, "A mathematical theory of communication", 1948.

    Examples
    --------
    >>> normalized_information(dv.Joint(["1/2", "1/2"], [["1", "0"], ["0", "1"]]))
    1.0
    """
    from divulge.measures.average.entropies import entropy

    joint = as_joint(joint)
    whole = entropy(joint.prior, unit)
    return mutual_information(joint, unit) / whole if whole > 0 else 0.0
''',
        after="    return float_mutual_information(joint, row_logs(joint.channel)) / nats_per(unit)\n",
    ),
    Edit(
        "src/divulge/measures/__init__.pyi",
        "from .average.information import normalized_information as normalized_information\n",
        after="from .average.information import mutual_information as mutual_information\n",
    ),
    Edit(
        "tests/measures/test_accuracy.py",
        '    "normalized_information": dv.measures.normalized_information,\n',
        after='    "mutual_information": dv.mutual_information,\n',
    ),
    Edit(
        "tests/search/measures.py",
        """

@case("normalized_information")
def normalized_share(rng: np.random.Generator) -> None:
    d = drawn(rng)
    told = mp.fsum(
        p * c * log(c / d.q[y]) for p, row in zip(d.p, d.c, strict=True) for y, c in enumerate(row) if p * c > 0
    )
    whole = -mp.fsum(p * log(p) for p in d.p if p > 0)
    same("share", dv.measures.normalized_information(d.joint()), told / whole if whole > 0 else 0, 1e-9, 1e-15)
""",
        after="    return [p * row[y] / d.q[y] for p, row in zip(d.p, d.c, strict=True)]\n",
    ),
    Edit(
        "src/divulge/glossary.py",
        '        Term("uncertainty coefficient", "", ("measures.normalized_information",), "Shannon", "measures"),\n',
        after='("measures.guesswork", "measures.guesswork_after"), "Massey", "measures"),\n',
    ),
    Edit(
        "docs/glossary.md",
        "| [uncertainty coefficient](measures.md#notion-uncertainty-coefficient) |  "
        "| `dv.measures.normalized_information` | Shannon |\n",
        after="`dv.measures.guesswork`, `dv.measures.guesswork_after` | Massey |\n",
    ),
    Edit(
        "docs/measures.md",
        "| `normalized_information` | uncertainty coefficient: information over entropy | $[0, 1]$ | Shannon |\n",
        after="| `min_entropy_leakage` | $\\log \\left( \\sum_y \\max_x P_x C_{xy} / p_{\\max} \\right)$ "
        "| $[0, \\log \\min(N, M)]$ | Smith 2009 |\n",
    ),
)

THEOREM = (
    Edit(
        "src/divulge/guarantees/theorems/average.py",
        """    Theorem(
        "name of the row",
        (k.PML,),
        k.AverageGLeakage,
        "1 / p",
        lambda c, a: 1 / c.p,
        needs=("p_min",),
        remark="of a uniform secret that is published",
    ),
""",
        after="AVERAGE: tuple[Theorem, ...] = (\n",
    ),
    Edit(
        "tests/guarantees/test_theorems.py",
        """    ("name of the row", "p_min"): (
        dv.Joint(dv.Prior.uniform(3), [["1", "0", "0"], ["0", "1", "0"], ["0", "0", "1"]]),
        {"p_min": "1/2"},
        {},
    ),
""",
        after="    # (row, condition): (a mechanism, what is wrongly believed of its secret, thresholds of premises)\n",
    ),
    Edit(
        "tests/guarantees/attaining.py",
        '    "name of the row": lambda: _measured(dv.PML, WHOLE, {"p_min": "1/4"}),\n',
        after="ATTAINED: dict[str, Callable[[], Case]] = {\n",
    ),
)

GAIN = (
    Edit(
        "src/divulge/adversaries/adversary.py",
        '''    @classmethod
    def avoid(cls, secrets: LabelsLike) -> "Gain":
        """Return the gain of naming a value that the secret does not have.

        Examples
        --------
        >>> dv.vulnerability(["1/2", "1/3", "1/6"], Gain.avoid(3))
        Fraction(5, 6)
        """
        letters = _alphabet(secrets)
        return cls._table("avoid", letters, letters, lambda w, x: int(w != x))

''',
        after="Diagonal(exact.as_fractions([1] * len(letters))))\n\n",
    ),
    Edit(
        "tests/adversaries/test_families.py",
        '    "avoid": dv.Gain.avoid(SECRETS),\n',
        after='    "identity": dv.Gain.identity(SECRETS),\n',
    ),
    Edit(
        "tests/search/families.py",
        '        "avoid": (dv.Gain.avoid(x), [[int(i != j) for j in every] for i in every]),\n',
        after='        "identity": (dv.Gain.identity(x), [[int(i == j) for j in every] for i in every]),\n',
    ),
)

NOISE = (
    Edit(
        "src/divulge/noise/families/continuous.py",
        '''

def hyperbolic_secant(scale: float) -> Noise:
    """Return noise of density 1 / (pi s cosh(z / s)): its tails are those of Laplace noise, epsilon = d/s."""
    s = positive(scale, "scale")
    stats = require("scipy.stats", "science")
    return Noise(
        "hyperbolic-secant",
        {"scale": s},
        quiet(lambda z: math.log(2 / (math.pi * s)) - np.abs(z) / s - np.log1p(np.exp(-2 * np.abs(z) / s))),
        stats.hypsecant(scale=s).cdf,
        frozen=stats.hypsecant(scale=s),
        log_concave=True,
        slopes=(1 / s, 1 / s),
        steepest=1 / s,
        shift_loss=lambda d: d / s,
        curvature=1 / s,
        bend=1 / s,
        made_by=(hyperbolic_secant, (s,)),
    )
''',
        after="        **gaussian_sides(s),\n    )\n",
    ),
    Edit("src/divulge/noise/families/table.py", "hyperbolic_secant, ", after="continuous import gaussian, "),
    Edit(
        "src/divulge/noise/families/table.py",
        '    "hyperbolic-secant": hyperbolic_secant,\n',
        after='    "logistic": logistic,\n',
    ),
    Edit(
        "tests/noise/test_noise.py",
        '    "hyperbolic-secant": lambda z, s: 1 / (mp.pi * s * mp.cosh(z / s)),\n',
        after="DENSITIES = {\n",
    ),
)

ORACLE = (
    Edit(
        "src/divulge/designing/pricing/two_grids.py",
        '''"""A coarse grid, then a fine one."""

from divulge.designing.effort import Effort
from divulge.designing.master.restricted_master import Dual
from divulge.designing.polytope.vertices import Vertices
from divulge.designing.pricing.grid import ScaledWeights
from divulge.designing.pricing.problem import Problem


class TwoGrids:
    """Prices on a coarse grid; what exceeds there is priced on a fine one."""

    def __init__(self, problem: Problem, effort: Effort) -> None:
        self.coarse, self.fine = (ScaledWeights(problem, cells, effort) for cells in (1e4, 3e6))

    def price(self, dual: Dual, enough: float = 0.0) -> tuple[Vertices, float]:
        """Return vertices with reduced cost, and what no vertex exceeds, rounded up."""
        vertices, excess = self.coarse.price(dual, enough)
        return (vertices, excess) if excess <= enough else self.fine.price(dual, enough)
''',
    ),
    Edit(
        "tests/designing/oracle/test_pricing.py",
        '    "two grids": (lambda problem: TwoGrids(problem, Effort()), True),\n',
        after="ORACLES: dict[str, tuple[Callable[[Problem], Oracle], bool]] = {\n",
    ),
    Edit(
        "tests/designing/oracle/test_pricing.py",
        "from divulge.designing.pricing.two_grids import TwoGrids\n",
        after="from divulge.designing.pricing.problem import Oracle, Problem\n",
    ),
)

FORMAT = (
    Edit(
        "src/divulge/files/channels/as_marked.py",
        '''"""CSV under a first line that says what it is."""

from typing import BinaryIO

from divulge.files.channels import as_csv
from divulge.model.channel import Channel
from divulge.model.prior import Prior

MARK = b"%channel\\n"


def channel(stream: BinaryIO) -> Channel:
    """Return the channel of a header of outcomes and a line for each secret."""
    stream.readline()
    return as_csv.channel(stream)


def prior(stream: BinaryIO) -> Prior:
    """Return the prior of two columns."""
    stream.readline()
    return as_csv.prior(stream)


def write(what: Channel, stream: BinaryIO) -> None:
    """Write the mark, the header of outcomes and a line for each secret."""
    stream.write(MARK)
    as_csv.write(what, stream)
''',
    ),
    Edit(
        "src/divulge/files/formats.py",
        '    "marked CSV": (".channel",),\n',
        after='CHANNELS: Formats = {\n    "CSV": (".csv",),\n',
    ),
    Edit(
        "src/divulge/files/__init__.py",
        '    Format(CHANNELS["marked CSV"], (as_marked.MARK,), as_marked.channel, as_marked.write, as_marked.prior),\n',
        after="as_json.channel, as_json.write, as_json.prior, as_json.read),\n",
    ),
    Edit("src/divulge/files/__init__.py", ", as_marked", after="as_arrow, as_csv, as_json, as_numpy"),
)

WALKS = {
    "Adding a measure": MEASURE,
    "Adding a theorem": THEOREM,
    "Adding a gain or a cost": GAIN,
    "Adding a noise family": NOISE,
    "Adding an oracle": ORACLE,
    "Adding a file format": FORMAT,
}


def test_every_section_is_walked() -> None:
    assert set(SECTIONS) == set(WALKS)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md", "CHANGELOG.md", "src/divulge/README.md"])
def test_what_a_newcomer_reads_is_read_in_five_minutes(page: str) -> None:
    assert sum(word not in ("|", "|---|---|", "|---|---|---|") for word in (ROOT / page).read_text().split()) <= 1200


def copied(folder: Path) -> Path:
    """Return a copy of what the tests read, with what was compiled of it, which is read where a file is as it was."""
    left = shutil.ignore_patterns(".*", "site", "*.nbi", "*.nbc")
    shutil.copytree(ROOT, folder, ignore=left)
    return folder


def commands(section: str) -> list[str]:
    """Return the commands of a section's blocks that run tests."""
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", SECTIONS[section], re.DOTALL))
    return [line.strip().partition("   #")[0] for line in blocks.splitlines() if " -m pytest " in line]


def passes(tree: Path, command: str) -> tuple[bool, str]:
    """Run a command in the copy, and say whether its tests passed; that no test ran is no pass."""
    *_, arguments = command.partition(".venv/bin/python -m pytest ")
    done = subprocess.run(
        f"{sys.executable} -m pytest -q -x -p no:cacheprovider {arguments}",
        shell=True,
        cwd=tree,
        capture_output=True,
        text=True,
        env={k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "DIVULGE_THOROUGH"))}
        | {"TMPDIR": str(tree.parent)},
    )
    return done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


def prepared(section: str, tree: Path, code_alone: bool = False) -> list[str]:
    """Follow a section in a copy, or what it says of code alone, and return its commands."""
    for edit in WALKS[section]:
        if not code_alone or (edit.path.startswith("src/") and not edit.path.endswith("glossary.py")):
            edit.apply(tree)
    return commands(section)


@pytest.mark.parametrize("section", WALKS)
def test_no_file_is_touched_that_a_section_does_not_name(section: str) -> None:
    page = SECTIONS[section]
    for edit in WALKS[section]:
        name = Path(edit.path)
        named = edit.path in page or name.name in page or any(f"{parent}/" in page for parent in name.parents)
        assert named, f"CONTRIBUTING does not name {edit.path} under {section!r}"
        assert edit.after in ((ROOT / edit.path).read_text() if edit.after else ""), edit
    lines = commands(section)
    assert lines
    for file in (word for line in lines for word in line.split() if word.startswith("tests/")):
        assert (ROOT / file).is_file(), file


@pytest.mark.parametrize("section", [*WALKS] if THOROUGH else ["Adding a theorem"])
def test_a_walk_through_can_be_walked(section: str, tmp_path: Path) -> None:
    """Its commands run, and pass at the end."""
    tree = copied(tmp_path / "tree")
    for command in prepared(section, tree):
        good, output = passes(tree, command)
        assert good, f"{command}\n{output}"


@pytest.mark.parametrize(
    "section", [name for name in WALKS if "fail" in SECTIONS[name]] if THOROUGH else ["Adding a measure"]
)
def test_tests_that_are_said_to_fail_until_then_do(section: str, tmp_path: Path) -> None:
    """With the code alone, and nothing of what the section asks for beside it, a command fails."""
    tree = copied(tmp_path / "tree")
    assert not all(passes(tree, command)[0] for command in prepared(section, tree, code_alone=True))
