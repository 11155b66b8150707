"""The root of the command line, as a user runs it."""

import os
import subprocess
import sys

import divulge


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "divulge", *arguments], capture_output=True, text=True, env=os.environ)


def test_version_goes_to_standard_output() -> None:
    done = _run("--version")
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, f"divulge {divulge.__version__}", "")


def test_an_unknown_command_is_a_usage_error() -> None:
    done = _run("no-such-command")
    assert done.returncode == 2
    assert "no-such-command" in done.stderr
    assert "Traceback" not in done.stderr
