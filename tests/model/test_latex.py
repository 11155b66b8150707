"""Tables in LaTeX, compiled once where LaTeX is installed; signs that LaTeX reads stand in labels."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import RUNNING_CHANNEL, RUNNING_PRIOR

import divulge as dv

LABELS = [
    "a_b",
    "c&d",
    *"\\~^<>|&%$#_{}[]*`-'\",;:!?@=+/() aü",
    "--",
    "---",
    "''",
    ",,",
    "[0, <5",
    "\\\\",
    "\\end{tabular}",
    "%%",
    "$x$",
    "é ß",
]
DOCUMENT = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs,amsmath}
\begin{document}
%s
\end{document}
"""


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="no LaTeX on this machine (apt-get install texlive-latex-base)"
)
def test_every_table_compiles_as_it_is(tmp_path: Path) -> None:
    labels = [label for label in dict.fromkeys(LABELS) if label.strip()]
    joint = dv.Joint(RUNNING_PRIOR, RUNNING_CHANNEL)
    shown = [
        RUNNING_CHANNEL, RUNNING_PRIOR, joint, dv.pml(joint),
        dv.pmc(dv.Joint(["1/2", "1/2"], [["1", "0"], ["0", "1"]])), dv.Channel([[1e-7, 1 - 1e-7]]),
        *(dv.Channel(np.eye(8), part, part) for part in (labels[i : i + 8] for i in range(0, len(labels) - 7, 8))),
        dv.Channel(np.eye(8), labels[-8:], labels[-8:]),
    ]  # fmt: skip
    (tmp_path / "tables.tex").write_text(DOCUMENT % "\n\n".join(one.to_latex() for one in shown))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "tables.tex"]
    own = os.environ | {"TEXMFVAR": str(tmp_path / "var"), "HOME": str(tmp_path)}  # else it keeps a folder at home
    done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    if shutil.which("pdftotext"):
        text = subprocess.run(
            ["pdftotext", "-layout", "tables.pdf", "-"], cwd=tmp_path, capture_output=True, text=True
        ).stdout
        assert all(label in text for label in ("a_b", "c&d", "\\end{tabular}", "[0, <5", "$x$")), text
