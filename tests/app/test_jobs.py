"""Work beside the pages: it ends with a result, a message or when asked, and a visit leaves nothing behind."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from divulge import stopping
from divulge.app import jobs
from divulge.app.jobs import LOADED, Job
from divulge.app.sessions import MOST, Sessions
from divulge.errors import DivulgeError
from divulge.reporting.statements.voice import languages, texts

Progress = Callable[[int, int | None], None]


def counts(progress: Progress, upto: int) -> int:
    for i in range(upto):
        progress(i + 1, upto)
    return upto


def forever(progress: Progress, path: str) -> None:
    Path(path).write_text(str(os.getpid()))
    while True:
        time.sleep(0.01)


def refuses(progress: Progress) -> None:
    raise DivulgeError("the table must have rows; it has none.")


def fails(progress: Progress, cell: str) -> None:
    raise ValueError(f"cannot read {cell}")


def loaded(progress: Progress) -> list[str]:
    return [name for name in LOADED if name in sys.modules]


def speaks(progress: Progress) -> int:
    """Return in how many languages sentences were read before the job."""
    return texts.cache_info().currsize


def loads(progress: Progress, folder: str) -> set[str]:
    """Return the libraries that a release loads which are not there."""
    import pyarrow as pa

    import divulge as dv

    before = {name.partition(".")[0] for name in sys.modules}
    table = pa.table({"a": ["x", "y"] * 9, "b": range(18)})
    dv.release(table, f"{folder}/out.csv", column="a", guarantee="ldp=1", per_row=True, ledger=None)
    pa.array([1, 2]).take(pa.array([True]).cast(pa.int64()))
    return {name.partition(".")[0] for name in sys.modules} - before


def dies(progress: Progress) -> None:
    os._exit(11)


def fails_after(progress: Progress, last: str, how: str) -> None:
    for word in ("temporary:00", "publishing", "published")[: {"": 0, "publishing": 2, "published": 3}[last]]:
        stopping.tell(word)
    stopping.ALREADY[:] = [stopping.PUBLISHED] if last == "published" else []
    if how == "dies":
        os._exit(11)
    raise {"disk": OSError, "memory": MemoryError, "refused": DivulgeError, "stopped": KeyboardInterrupt}[how]("x")


@pytest.mark.parametrize("how", ["dies", "disk", "memory", "refused", "stopped"])
@pytest.mark.parametrize("last", ["", "published"])
def test_what_fails_after_a_publication_does_not_say_that_there_was_none(how: str, last: str) -> None:
    job = Job.start(fails_after, {"last": last, "how": how})
    assert job.wait(300)
    assert job.result is None
    assert ("published already" in str(job.error)) == (last == "published")
    assert "othing was published" not in str(job.error) or last == ""


def test_a_job_that_dies_while_files_are_named_says_what_is_known() -> None:
    job = Job.start(fails_after, {"last": "publishing", "how": "dies"})
    assert job.wait(300)
    assert "counts as spent" in str(job.error)
    assert "published" not in str(job.error)


def test_a_job_tells_how_far_it_is_and_what_came_out() -> None:
    job = Job.start(counts, {"upto": 5})
    assert job.wait(300)
    assert (job.result, job.error, job.done, job.share) == (5, None, 5, 1.0)


def test_a_job_loads_no_library_that_others_loaded() -> None:
    job = Job.start(loaded, {})
    assert job.wait(300)
    assert job.result == list(LOADED)


def test_sentences_of_all_languages_are_read_before_a_job() -> None:
    job = Job.start(speaks, {})
    assert job.wait(60)
    assert job.result == len(languages()), job.error


def test_a_release_loads_no_library(tmp_path: Path) -> None:
    job = Job.start(loads, {"folder": str(tmp_path)})
    assert job.wait(60)
    assert job.result == set(), job.error


@pytest.mark.parametrize(
    ("function", "arguments", "told"),
    [
        (refuses, {}, "must have rows"),
        (fails, {"cell": "secret value"}, "ValueError"),
        (dies, {}, "nothing was published"),
    ],
)
def test_what_goes_wrong_becomes_a_message_without_values(function: Any, arguments: dict[str, Any], told: str) -> None:
    job = Job.start(function, arguments)
    assert job.wait(300)
    assert told in str(job.error)
    assert "secret value" not in str(job.error)


def gone(process: int) -> bool:
    for _ in range(10_000):
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_a_job_ends_when_asked(tmp_path: Path) -> None:
    job = Job.start(forever, {"path": str(tmp_path / "pid")})
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        assert not job.wait(0.01)
    job.cancel()
    assert job.wait(300)
    assert "Nothing was published" in str(job.error)
    assert gone(int((tmp_path / "pid").read_text()))


def test_so_many_jobs_work_at_a_time_and_others_wait_for_their_turn(tmp_path: Path) -> None:
    started = [Job.start(forever, {"path": str(tmp_path / str(i))}) for i in range(jobs.MOST + 3)]
    try:
        while len(list(tmp_path.iterdir())) < jobs.MOST:
            assert not started[0].wait(0.01)
        assert not started[-1].wait(0.5)
        assert len(list(tmp_path.iterdir())) == jobs.MOST
    finally:
        for job in reversed(started):
            job.cancel()
    assert all(job.wait(300) for job in started)
    assert len(list(tmp_path.iterdir())) == jobs.MOST, "what was stopped while it waited began"


def test_the_same_question_is_asked_once_and_another_one_ends_it(tmp_path: Path) -> None:
    sessions = Sessions()
    session = sessions.new()
    first = session.job("work", counts, upto=3)
    assert session.job("work", counts, upto=3) is first
    other = session.job("work", counts, upto=4)
    assert other is not first
    assert other.wait(300)
    assert other.result == 4
    sessions.close()
    assert not sessions.root.exists()


def test_visits_make_room_for_each_other() -> None:
    sessions = Sessions()
    first = sessions.new()
    assert first.folder.stat().st_mode & 0o077 == 0
    for _ in range(MOST):
        sessions.new()
    assert sessions.get(first.key) is None
    assert not first.folder.exists()
    sessions.close()
