"""Reports as pages, and commands from their start."""

import os
import subprocess
import sys

import divulge as dv
from growth.work import FOLDER, Goal, Maker, Task, Work, sources_now, stochastic, weights


def reported(n: int) -> Task:
    joint = dv.Joint(dv.Prior(weights(n)), dv.Channel(stochastic(n, n)))
    return lambda: dv.report(joint).html()


def by_pandas(n: int) -> Task:
    """Return the matrix as a table of HTML."""
    import pandas as pd

    matrix = pd.DataFrame(stochastic(n, n))
    return lambda: matrix.to_html()


def started(*arguments: str) -> Maker:
    def maker(_: int) -> Task:
        environment = os.environ | {"PYTHONPATH": str(sources_now())}
        return lambda: subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True)

    return maker


def channel_file() -> str:
    path = FOLDER / "channel.csv"
    path.write_text("secret,yes,no\nill,0.75,0.25\nwell,0.25,0.75\n")
    return str(path)


NUMPY = "import numpy"
STARTED = {NUMPY: started("-c", "import numpy"), "python -c pass": started("-c", "pass")}
MEASURE = ("-m", "divulge", "measure", channel_file(), "--prior", "uniform")


WORK = (
    Work("report", "values", (5, 50, 500), reported, {"the matrix in HTML by pandas": by_pandas},
         (Goal(2, "the matrix in HTML by pandas"),)),
    Work("divulge --version", "", (1,), started("-m", "divulge", "--version"), STARTED, (Goal(1.5, NUMPY),)),
    Work("divulge measure", "", (1,), started(*MEASURE), STARTED, (Goal(3, NUMPY),)),
)  # fmt: skip
