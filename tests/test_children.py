"""Processes of our own: nothing in the working folder runs, nothing outlives its use, every exit code is true."""

import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import copies
import pyarrow as pa
import pytest

import divulge as dv
from divulge import children, kernels, staging, stopping
from divulge.app.jobs import Job, get_ready
from divulge.app.work import ingest
from divulge.extras import require
from divulge.publishing.counting import tables
from divulge.releasing.output import places
from divulge.releasing.records.database import data_folder

ROOT = Path(__file__).parent
DIVULGE = [str(Path(sys.executable).with_name("divulge"))]
RAN = "ran-"


@cache
def modules() -> list[str]:
    """Return what all modules are called that there are: to list them takes a second."""
    names = {*sys.stdlib_module_names, *packages_distributions()} - {"divulge"}
    return sorted(filter(str.isidentifier, names))


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a file of every format, beside modules that are called like all that there are."""
    import pandas as pd
    import pyreadstat
    import xlsxwriter

    frame = pd.DataFrame({"x": ["a", "b"] * 10, "n": [1.0, 2.0] * 10})
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"))
    pyreadstat.write_dta(frame, str(tmp_path / "t.dta"))
    frame.to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.sas7bdat").write_bytes(gzip.decompress((ROOT / "files/sample.sas7bdat.gz").read_bytes()))
    with xlsxwriter.Workbook(str(tmp_path / "t.xlsx")) as book:
        sheet = book.add_worksheet()
        for i, row in enumerate([("x", "n"), *zip(frame["x"], frame["n"], strict=True)]):
            sheet.write_row(i, 0, row)
    for name in modules():
        text = f"import os\nopen({str(tmp_path / RAN)!r} + {name!r}, 'w').close()\n"
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name.startswith(RAN))


RELEASED = ["--column", "x", "--mechanism", "randomized-response", "--epsilon", "1", "-o", "o.csv", "--no-ledger"]
LINES = [
    *(["release", f"t.{kind}", *RELEASED] for kind in ("csv", "xlsx", "sav", "dta")),
    ["measure", "--data", "t.sas7bdat", "--secret", "mychar", "--released", "mychar"],
    ["publish", "t.xlsx", "--count", "x", "--values-from-data", "--guarantee", "dp=1", "-o", "p.csv", "--no-ledger"],
    ["release", "t.sav", *RELEASED[:-3], "--preview", "--picture", "p.png", "--no-ledger"],
]


@pytest.mark.parametrize(
    "line",
    [pytest.param(line, marks=() if "--preview" in line else pytest.mark.long) for line in LINES],
    ids=lambda line: " ".join(line[:2]),
)
def test_no_command_runs_what_lies_in_the_working_folder(line: list[str], planted: Path) -> None:
    """Also where PYTHONPATH ends in a colon, which means the working folder."""
    done = subprocess.run([*DIVULGE, *line], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": "/none"})
    assert (done.returncode, ran(planted)) == (0, []), done.stderr


def test_the_planted_modules_would_run(planted: Path) -> None:
    """The test above can fail: as Python is started by default, the first of them runs."""
    subprocess.run([sys.executable, "-c", "import json"], capture_output=True)
    assert ran(planted)


@pytest.mark.long
def test_no_reader_of_a_notebook_looks_into_the_folder_of_the_notebook(planted: Path) -> None:
    """A notebook has its folder at the head of the path, for itself."""
    script = f"""
import os, sys
os.chdir({str(ROOT)!r})
import divulge as dv
dv.open_table({str(planted / "t.xlsx")!r})
os.chdir({str(planted)!r})
sys.path[:0] = ["", {str(planted)!r}]
print([dv.open_table(f"t.{{kind}}").rows for kind in ("xlsx", "sav", "dta")])
"""
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True)
    assert (done.stdout.strip(), ran(planted)) == ("[20, 20, 20]", []), done.stderr


def test_the_app_and_its_work_look_into_no_working_folder(planted: Path) -> None:
    """The server that work is started from is started there, and so is the reader."""
    script = """
import multiprocessing
from divulge.app.jobs import Job, get_ready
from divulge.app.work import ingest
from divulge.extras import require
get_ready()
job = Job.start(ingest, {"path": "t.xlsx", "name": "t", "options": {}, "into": "into.parquet"})
assert job.wait(100)
print(job.error, job.result["rows"])
"""
    Path("app").mkdir()
    (planted / "app" / "script.py").write_text(f"if __name__ == '__main__':\n    exec({script!r})\n")
    done = subprocess.run([sys.executable, "app/script.py"], capture_output=True, text=True)
    assert (done.stdout.strip(), ran(planted)) == ("None 20", []), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere jobs need no socket")
def test_the_server_of_jobs_starts_where_temporary_files_have_a_long_path(tmp_path: Path) -> None:
    """The path of a socket has 107 bytes at most. All that was made is taken away in silence, each by its own end."""
    long = tmp_path / ("x" * 100)
    long.mkdir()
    script = """
import multiprocessing.util
from divulge.app.jobs import Job, get_ready
from divulge.app.work import ingest
from divulge.extras import require
job = Job.start(ingest, {"path": "t.csv", "name": "t", "options": {}, "into": "into.parquet"})
assert job.wait(100)
print(job.error, job.result["rows"])
"""
    (tmp_path / "t.csv").write_text("x\na\nb\n")
    (tmp_path / "script.py").write_text(f"if __name__ == '__main__':\n    exec({script!r})\n")
    surroundings = os.environ | {"TMPDIR": str(long)}
    done = subprocess.run(
        [sys.executable, "script.py"], capture_output=True, text=True, cwd=tmp_path, env=surroundings
    )  # fmt: skip
    assert (done.stdout.strip(), done.stderr, list(long.iterdir())) == ("None 2", "", [])


def test_work_that_gets_no_folder_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    get_ready()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    job = Job.start(ingest, {"path": "t.csv", "name": "t", "options": {}, "into": "into.parquet"})
    assert job.wait(300)
    assert "nothing was published" in str(job.error)


def large(folder: Path) -> Path:
    """Return a file of SPSS that takes seconds to read."""
    import pandas as pd
    import pyreadstat

    path = folder / "large.sav"
    pyreadstat.write_sav(pd.DataFrame({f"n{i}": range(60_000) for i in range(20)}), str(path))
    return path


def waited(condition: Any, seconds: float = 300.0) -> bool:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def readers(folder: Path) -> list[int]:
    """Return the processes whose temporary files go below a folder."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        try:
            known = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
        except OSError:
            continue
        if f"TMPDIR={folder}/{children.PREFIX}".encode() in known:
            found.append(int(entry.name))
    return found


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for temporary files of its own; the server of jobs has its socket before."""
    get_ready()
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_a_reader_ends_with_its_command_and_leaves_no_copy(name: str, temporary: Path, tmp_path: Path) -> None:
    line = ["release", str(large(tmp_path)), "--column", "n0", *RELEASED[2:]]
    running = subprocess.Popen([*DIVULGE, *line], cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert waited(lambda: list(temporary.glob("*/*.sav")) or running.poll() is not None)
    assert running.poll() is None
    assert readers(temporary)
    (folder,) = temporary.iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    os.kill(running.pid, getattr(signal, name))
    running.wait(300)
    assert waited(lambda: not readers(temporary))
    if name == "SIGKILL":  # nothing can be taken away then: the next run does

        def nothing() -> bool:
            children.remove_abandoned()
            return not list(temporary.iterdir())

        assert waited(nothing)  # as soon as the system has ended all that was killed
    assert list(temporary.iterdir()) == []
    assert not list(tmp_path.glob("o.*"))


def test_work_that_is_stopped_ends_its_reader_and_leaves_nothing(temporary: Path, tmp_path: Path) -> None:
    into = tmp_path / "into"
    into.mkdir()
    arguments = {"path": str(large(tmp_path)), "name": "t", "options": {}, "into": str(into / "t.parquet")}
    job = Job.start(ingest, arguments)
    assert waited(lambda: list(temporary.glob("*job-*/*/*.sav")) or job.over.is_set())
    assert not job.over.is_set(), job.error
    job.cancel()
    assert job.wait(300)
    assert "Stopped" in str(job.error)
    assert [path for path in temporary.iterdir() if "job-" in path.name] == []
    assert list(into.iterdir()) == []


def test_folders_of_runs_that_live_stay(temporary: Path) -> None:
    with children.private_folder("one") as one, children.private_folder("two") as two:
        (one / "kept").touch()
        children.remove_abandoned()
        assert [(one / "kept").exists(), two.exists()] == [True, True]
    (temporary / f"{children.PREFIX}link").symlink_to(temporary)
    children.remove_abandoned()
    assert [path.name for path in temporary.iterdir()] == [f"{children.PREFIX}link"]


def test_what_duckdb_spills_goes_into_a_private_folder(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(temporary.parent)
    with tables.counting("t") as connection:
        where = connection.execute("SELECT current_setting('temp_directory')").fetchone()[0]
        assert (Path(where).parent, Path(where).stat().st_mode & 0o777) == (temporary, 0o700)
        connection.execute("SET memory_limit = '20MB'; SET threads = 1")
        connection.execute("CREATE TEMP TABLE t AS SELECT range AS n, md5(range::varchar) AS s FROM range(600000)")
        assert list(Path(where).iterdir())
    assert list(temporary.iterdir()) == tables._LEFT == []
    assert [path.name for path in temporary.parent.iterdir()] == ["temporary"]


def test_where_nothing_is_private_nothing_is_spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(purpose: str) -> Any:
        raise PermissionError

    monkeypatch.setattr(children, "private_folder", refuse)
    with tables.counting("t") as connection:
        assert connection.execute("SELECT current_setting('temp_directory')").fetchone() == ("",)
    too_much = "CREATE TEMP TABLE t AS SELECT range AS n, md5(range::varchar) AS s FROM range(600000)"
    with pytest.raises(MemoryError), tables.counting("t") as connection:
        connection.execute(f"SET memory_limit = '20MB'; SET threads = 1; {too_much}")


def test_a_database_is_left_for_the_next_count_empty_and_only_where_all_went_well(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kept(statement: str = "CREATE TEMP TABLE t AS SELECT 1") -> list[Any]:
        with tables.counting("t") as connection:
            assert not tables._LEFT
            connection.execute(statement)
        return [*tables._LEFT]

    tables._LEFT.clear()
    (left,) = kept()
    assert kept() == [left]
    with pytest.raises(dv.InputFileError):
        kept("SELECT * FROM t")
    assert tables._LEFT == []
    assert kept() != []
    assert copies.run(lambda: sys.exit(len(tables._LEFT))).returncode == 0
    monkeypatch.setattr(children, "addresses", lambda: 1 << 40)
    assert kept() == []
    assert list(temporary.iterdir()) == []


def test_a_signal_during_steps_that_belong_together_waits_for_them() -> None:
    before = signal.getsignal(signal.SIGINT)
    done: list[str] = []

    def steps() -> None:
        with stopping.held():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("one")
            with stopping.held():
                os.kill(os.getpid(), signal.SIGINT)
                done.append("two")
            done.append("three")
        done.append("four")

    with pytest.raises(KeyboardInterrupt):
        steps()
    assert done == ["one", "two", "three"]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_signal_whose_exception_is_lost_stops_at_the_next_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "ASKED", [])
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_DFL)
    source = dv.open_table(pa.table({"x": ["a"] * 10}))
    batches = source.batches()
    next(batches)
    with pytest.raises(stopping.Interrupted):
        stopping._interrupt(signal.SIGTERM, None)  # as in `__del__`, where Python drops it
    with pytest.raises(stopping.Interrupted):
        list(dv.open_table(pa.table({"x": ["a"] * 10})).batches())
    with pytest.raises(stopping.Interrupted), stopping.held():
        raise AssertionError("begun")
    stopping._interrupt(signal.SIGTERM, None)  # a second one disturbs no cleaning up


CALLS = ("link", "rename", "replace", "fsync", "unlink", "lstat")


@pytest.mark.parametrize("old", [False, True], ids=["new", "over another"])
@pytest.mark.parametrize("call", CALLS)
def test_names_appear_together_or_none_whichever_step_fails(
    call: str, old: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The n-th call of each kind fails, for every n: all is as it was, or all is there."""
    names = ["t.receipt.json", "t.codebook.md", "t.csv"]
    real, n = getattr(os, call), 0
    while True:
        folder = tmp_path / str(n)
        folder.mkdir()
        for name in names if old else ():
            (folder / name).write_text("old")
        left = [n]

        def failing(*arguments: Any, left: list[int] = left, **options: Any) -> Any:
            left[0] -= 1
            if left[0] == -1:
                raise OSError(28, "No space left on device")
            return real(*arguments, **options)

        with ExitStack() as stack:
            staged = {folder / name: stack.enter_context(staging.under_way(folder / name)) for name in names}
            for temporary in staged.values():
                temporary.write_text("new")
            with monkeypatch.context() as patch:
                patch.setattr(os, call, failing)
                try:
                    places.publish_together(staged, old)
                    ended = True
                except (OSError, dv.DivulgeError):
                    ended = False
        assert sorted(os.listdir(folder)) in ([], sorted(names)), n
        there = {name: (folder / name).read_text() if (folder / name).exists() else None for name in names}
        assert set(there.values()) in ([{"new"}] if ended else [{"new"}, {"old"} if old else {None}]), (n, there)
        if left[0] >= 0:  # so many calls there are not
            break
        n += 1
    stopping.ALREADY.clear()


SUPERVISED = """
import os, signal, sys, time
from divulge import stopping
from divulge.cli import supervisor
supervisor.GRACE = 0.5
stopping.catch()
def replaced():
    from divulge.files.opening import replacing
    with replacing("found.json") as stream:
        stream.write(b"0")
def work():
    {work}
supervisor.supervised(work)
"""

# what the work does -> (exit code, what is said)
ENDS = {
    "sys.exit(1)": (1, ""),
    "pass": (0, ""),
    "os._exit(1)": (2, "error: the work ended before it was done: memory ran out, or a library failed. Nothing was"),
    "os.abort()": (2, "error: the work ended before it was done: memory ran out, or a library failed. Nothing was"),
    "replaced(); os.abort()": (2, "memory ran out, or a library failed. Written whole: found.json.\n"),
    "replaced(); os.unlink('found.json'); os.abort()": (2, "Nothing was published.\n"),
    "stopping.tell('publishing'); os.abort()": (2, "Nothing was published; what was drawn counts as spent"),
    "stopping.tell('publishing'); stopping.tell('published'); os.abort()": (0, "It is published"),
    "import atexit; atexit.register(os.abort); sys.exit(1)": (1, ""),
}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody waits")
@pytest.mark.parametrize("work", ENDS)
def test_every_exit_code_is_true(work: str, tmp_path: Path) -> None:
    done = copies.run(copies.script(SUPERVISED.format(work=work)), text=True, cwd=tmp_path)
    code, said = ENDS[work]
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert said or not done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody waits")
@pytest.mark.parametrize("who", ["one", "all"])
def test_work_that_hears_no_signal_is_ended(who: str) -> None:
    """As a loop in C: its signals are blocked. A terminal and `timeout` send theirs to all of the group."""
    work = "signal.pthread_sigmask(signal.SIG_BLOCK, [15]); print(os.getpid(), flush=True); time.sleep(100)"
    running = subprocess.Popen(
        [sys.executable, "-c", SUPERVISED.format(work=work)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert running.stdout is not None
    child = int(running.stdout.readline())
    (os.kill if who == "one" else os.killpg)(running.pid, signal.SIGTERM)
    _, said = running.communicate(timeout=300)
    assert (running.returncode, said) == (130, "interrupted. Nothing was published.\n")
    assert waited(lambda: not Path(f"/proc/{child}").exists())


@pytest.mark.skipif(sys.platform != "linux", reason="limits addresses")
@pytest.mark.parametrize("megabytes", [150, 300, 500, 800])
@pytest.mark.parametrize("line", [LINES[0], LINES[5]], ids=["release", "publish"])
@pytest.mark.thin
def test_little_memory_is_no_answer(line: list[str], megabytes: int, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x\na\nb\n")
    words = " ".join(line).replace("t.xlsx", "t.csv")
    shell = f"ulimit -v {megabytes * 1024}; {DIVULGE[0]} {words}"
    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode in (0, 2), (done.returncode, done.stderr)
    assert "unforeseen" not in done.stderr
    if done.returncode:
        assert [path.name for path in tmp_path.iterdir()] == ["t.csv"], done.stderr
    else:
        assert json.loads((tmp_path / f"{words.split()[words.split().index('-o') + 1][0]}.receipt.json").read_text())


# --- settings that libraries look for in the working folder


def test_settings_beside_a_table_compile_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba unpickles what lies in the folder that a file beside the table names."""
    monkeypatch.setattr(kernels, "_compiled", {})
    monkeypatch.chdir(tmp_path)
    Path(".numba_config.yaml").write_text("cache_dir: planted\n")
    assert kernels.fastest(kernels.draw, 10**10) is None
    with pytest.raises(dv.DivulgeError, match="must not be told by the working folder"):
        kernels.compiled(kernels.draw)
    assert not kernels._compiled


def test_settings_beside_a_table_draw_nothing(tmp_path: Path) -> None:
    """A `matplotlibrc` may ask for LaTeX, with a preamble of its own."""
    import matplotlib as mpl

    from divulge.cli.common import draw
    from divulge.reporting.reports.pictures import as_address

    class Plotted:
        def plot(self) -> Any:
            from matplotlib.figure import Figure

            axes = Figure().subplots()
            axes.plot([0, 1])
            seen.append(mpl.rcParams["text.usetex"])
            return axes

    seen: list[bool] = []
    with mpl.rc_context({"text.usetex": True, "text.latex.preamble": r"\input{planted}"}):
        draw(Plotted(), tmp_path / "p.svg", force=False)
        as_address(lambda axes: seen.append(mpl.rcParams["text.usetex"]), (2, 1))
    assert seen == [False, False]
    assert (tmp_path / "p.svg").exists()


def test_a_library_that_cannot_be_loaded_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "planted_library.py").write_text("raise UnicodeError('secret')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(dv.DivulgeError, match=r"`planted_library` cannot be loaded \(UnicodeError\)"):
        require("planted_library", "plot")


@pytest.mark.parametrize("given", ["", "relative", "./relative", "~/none"])
def test_a_ledger_is_the_same_in_every_folder(given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", given)
    monkeypatch.chdir(tmp_path)
    assert data_folder() == tmp_path / "home" / ".local" / "share" / "divulge"
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
