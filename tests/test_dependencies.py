"""Dependencies: lower bounds, reasons and licenses of each; the lock file is whole and names no place."""

import importlib.util
import re
from contextlib import suppress
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from pathlib import Path
from types import ModuleType

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from divulge.extras import highs

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "dependencies.md").read_text()
LOCK = (ROOT / "requirements" / "app.lock").read_text()


def _script(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LICENSES = _script("docs/_licenses.py")
EXTRAS: dict[str, list[Requirement]] = {
    extra: [Requirement(line) for line in lines] for extra, lines in LICENSES.EXTRAS.items()
}
DIRECT = {
    requirement.name: requirement for lines in EXTRAS.values() for requirement in lines if requirement.name != "divulge"
}


def _reason(name: str, page: str = PAGE) -> str:
    """Return what the page says a package is for: the last cell of its row, or the sentence that names it."""
    row = re.search(rf"^\| (?:[\w.-]+, )*{re.escape(name)}(?:, [\w.-]+)* \| [\w-]+ \| (\S.+) \|$", page, re.MULTILINE)
    sentence = re.search(rf"[^.|]*`{re.escape(name)}`[^.|]*\.", page)
    return row[1] if row else sentence[0] if sentence else ""


@pytest.mark.parametrize("name", sorted(DIRECT))
def test_a_dependency_has_a_lower_bound_and_a_reason(name: str) -> None:
    assert any(bound.operator == ">=" for bound in DIRECT[name].specifier), (
        f"{name} has no lower bound in pyproject.toml"
    )
    assert len(_reason(name).split()) >= 3, f"docs/dependencies.md does not say what {name} is for"


def test_a_package_that_the_page_does_not_name_has_no_reason() -> None:
    assert _reason("leftpad") == ""
    assert _reason("numpy", PAGE.replace("| numpy | core |", "| numpyro | core |")) == ""


def test_an_upper_bound_is_said() -> None:
    said = PAGE.partition("An upper bound stands only")[2].partition("\n\n")[0]
    bounded = {
        name for name, requirement in DIRECT.items() if any("<" in bound.operator for bound in requirement.specifier)
    }
    assert bounded == set(re.findall(r"[\w-]+", said.rpartition(":")[2]))


@pytest.mark.parametrize("part", LICENSES.PARTS)
def test_the_license_of_what_is_installed_is_on_the_page(part: str) -> None:
    """Another system needs other packages: what is installed here must be there, not the other way around."""
    page = {name: license for each in LICENSES.PARTS for name, license in LICENSES.written(PAGE, each).items()}
    wrong = {
        name: (license, page.get(name))
        for name, license in LICENSES.licenses()[part].items()
        if license != page.get(name)
    }
    assert not wrong, "run `python docs/_licenses.py`, and look at what has changed"


def test_no_license_of_what_users_install_asks_for_their_code() -> None:
    users = LICENSES.written(PAGE, "users")
    assert len(users) > 40
    assert {name for name, license in users.items() if re.search("GPL|not stated", license)} == {
        "python-flint"
    }  # the LGPL


def test_the_lock_file_has_what_the_app_needs_with_hashes() -> None:
    entries = re.findall(
        r"^([\w.-]+)==([\w.]+)((?: ; [^\\\n]+)?)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)$", LOCK, re.MULTILINE
    )
    assert len(entries) == len(re.findall(r"^\w", LOCK, re.MULTILINE)), "an entry without a hash"
    versions = {canonicalize_name(name): version for name, version, _, _ in entries}

    def direct(extra: str) -> list[Requirement]:
        return [each for own in EXTRAS[extra] for each in (direct_of(own) if own.name == "divulge" else [own])]

    def direct_of(own: Requirement) -> list[Requirement]:
        return [each for extra in own.extras for each in direct(extra)]

    for requirement in [each for extra in ("", "app", "plot", "fast") for each in direct(extra)]:
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), (
            f"`make lock`: {requirement}"
        )


def _here(lock: str) -> dict[str, tuple[Version, Version]]:
    """Return what a lock file names for this system and is installed: (locked, installed)."""
    found: dict[str, tuple[Version, Version]] = {}
    for name, version, marker in re.findall(r"^([\w.-]+)==([\w.]+)(?: ; ([^\\\n]+))?", lock, re.MULTILINE):
        if not marker or Marker(marker.strip()).evaluate():
            with suppress(PackageNotFoundError):
                found[name] = (Version(version), Version(installed(name)))
    return found


def test_the_suite_runs_with_versions_no_older_than_the_newest_that_were_locked() -> None:
    """So that what the lock file gives to users has been through the tests, or is older than what has."""
    here = _here(LOCK)
    assert len(here) > 30
    older = {name: versions for name, versions in here.items() if versions[1] < versions[0]}
    assert not older, "pip install --upgrade -e '.[all,dev]'"
    assert _here("numpy==9999 \\")["numpy"][1] < Version("9999")


def test_what_the_suite_runs_with_is_allowed() -> None:
    for requirement in DIRECT.values():
        with suppress(PackageNotFoundError):
            version = installed(requirement.name)
            assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: {version} is installed"


def test_the_lock_file_names_no_place() -> None:
    assert not re.search(r"https?:|file:|--(extra-)?index|--find-links|(?<![\w<>=!'])/", LOCK)


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ({"osv": [{"name": "a", "version": "1", "vulns": []}]}, 0),
        ({"pypi": [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}]}, 1),
        ({}, 2),
    ],
)
def test_an_audit_that_reaches_nobody_does_not_say_that_all_is_well(
    answers: dict[str, list[dict[str, object]]],
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    audit = _script(".ci/audit.py")
    monkeypatch.setattr(audit, "asked", lambda service, lock: answers.get(service))
    assert audit.main("app.lock") == code
    out, err = capsys.readouterr()
    assert ("nothing was checked" in err) == (code == 2)
    assert ("X-1, mended in 2" in out) == (code == 1)


def test_a_package_that_a_list_does_not_know_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = _script(".ci/audit.py")
    answer = type("Answer", (), {"stdout": '{"dependencies": [{"name": "a", "skip_reason": "not found"}]}'})
    monkeypatch.setattr(audit.subprocess, "run", lambda *_, **__: answer)
    assert audit.asked("pypi", "app.lock") is None


def test_highs_prints_nothing_on_what_answers_are_read_from(capfd: pytest.CaptureFixture[str]) -> None:
    """HiGHS 1.16 prints who made it as soon as its class in Python is used: JSON behind it could not be read."""
    solver = highs(presolve="off")
    solver.addVar(1.0, 3.0)
    solver.run()
    assert solver.getOptionValue("presolve")[1] == "off"
    assert solver.getOptionValue("threads")[1] == 1
    assert capfd.readouterr() == ("", "")


def test_highs_is_made_in_one_place() -> None:
    """What is made elsewhere prints."""
    made = [path.name for path in (ROOT / "src").rglob("*.py") if "highspy.Highs()" in path.read_text()]
    assert not made
