"""A visit without a browser: forms are sent, and parts asked for until they are there."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from divulge.app.server import application

HOST = "127.0.0.1:8765"


class Visit:
    """One session of the app."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.base = re.findall(r"/s/[\w-]+", str(client.get("/", follow_redirects=True).url))[0]

    def get(self, path: str, **more: Any) -> Any:
        return self.client.get(f"{self.base}/{path}", **more)

    def post(self, path: str, data: Any = None, **more: Any) -> Any:
        return self.client.post(f"{self.base}/{path}", data=data or {}, **more)

    def part(self, path: str) -> str:
        """Return a part of a page once its work is done."""
        for _ in range(300):
            found = self.get(path).text
            if 'class="running"' not in found:
                return found
        raise AssertionError(f"{path} is never done")

    def upload(self, path: Path, **options: str) -> None:
        with path.open("rb") as stream:
            assert self.post("upload", options, files={"file": (path.name, stream)}).status_code == 200
        found = self.part("columns")
        assert "rows," in found or "Zeilen," in found

    def aimed(self, secret: str, after: float = 20.0, attacker: str = "everything") -> None:
        """Choose the sensitive column and what must not happen."""
        assert self.post("secret", {"secret": secret}).status_code == 200
        assert self.post("aim", {"attacker": attacker, "before": "1", "after": str(after)}).status_code == 200

    def papers(self, folder: Path, **form: Any) -> dict[str, Path]:
        """Publish, and return what came out."""
        assert self.post("release", form or {"format": "csv"}).status_code == 200
        done = self.part("release/found")
        assert "Files for the public" in done, done
        kinds = re.findall(r'/paper/([\w.]+)" download', done)
        for kind in kinds:
            (folder / kind).write_bytes(self.get(f"paper/{kind}").content)
        return {kind: folder / kind for kind in kinds}


@contextmanager
def running(**options: Any) -> Iterator[TestClient]:
    """Run the app without a port."""
    made = application(frozenset({HOST}), **options)
    with TestClient(made, base_url=f"http://{HOST}", follow_redirects=True) as client:
        yield client


@contextmanager
def serving(**options: Any) -> Iterator[str]:
    """Run the app on a port of this machine, for a browser; yield its address."""
    import socket
    import threading

    import uvicorn

    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{listening.getsockname()[1]}"
        made = application(frozenset({host}), **options)
        server = uvicorn.Server(
            uvicorn.Config(made, log_level="critical", access_log=False, timeout_graceful_shutdown=1)
        )
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            thread.join(0.02)
        yield f"http://{host}/"
        server.should_exit = True
        thread.join(30)


@contextmanager
def visiting(path: Path) -> Iterator[Visit]:
    """A visit with a file, for tests that leave nothing behind."""
    with running() as client:
        visit = Visit(client)
        visit.upload(path)
        yield visit
