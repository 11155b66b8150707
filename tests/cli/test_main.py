"""The command itself: help, version, and one message for what is wrong."""

import pytest
from typer.testing import CliRunner

from divulge.cli.main import COMMANDS, app

run = CliRunner().invoke


def test_version() -> None:
    result = run(app, ["--version"])
    assert (result.exit_code, result.output.split()[0]) == (0, "divulge")


def test_help_names_every_command() -> None:
    output = run(app, ["--help"]).output
    assert all(name in output for name in COMMANDS)


@pytest.mark.parametrize("arguments", [["bogus"], ["--bogus"], ["measure", "--unit", "furlongs"]])
def test_bad_usage_is_exit_2(arguments: list[str]) -> None:
    assert run(app, arguments).exit_code == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name: str) -> None:
    result = run(app, [name, "--help"])
    assert result.exit_code == 0, result.output
    assert "--help" in result.output
