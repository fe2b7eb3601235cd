"""A harness that keeps an agent's mind outside, and runs its tools in a sandbox.

    ATOLL_URL=… ATOLL_TOKEN=… python glas_harness.py SESSION FOLDER LINE...

The folder is the truth: it is copied in, each line runs as a tool, and the files are written back
to it. Plain HTTP, with the standard library alone. Tools go through the exec API.
"""

import io
import json
import os
import sys
import tarfile
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

HARNESS = "glas-harness"
TAR = "application/x-tar"


class Atoll:
    """The calls of the HTTP API that this harness makes."""

    def __init__(self, url: str, token: str) -> None:
        self._url = url.rstrip("/")
        self._token = token

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Send JSON and return the answer's. Raises `HTTPError`, whose body is a problem."""
        data = None if body is None else json.dumps(body).encode()
        return json.loads(self.send(method, path, data, "application/json") or b"null")

    def send(self, method: str, path: str, data: bytes | None, kind: str) -> bytes:
        """Send bytes of a media type, and return the answer's."""
        headers = {"Authorization": f"Bearer {self._token}", "Accept": kind, "Content-Type": kind}
        request = Request(f"{self._url}{path}", data, headers, method=method)  # noqa: S310
        with urlopen(request, timeout=300) as answer:  # noqa: S310
            return bytes(answer.read())


class Session:
    """A session of an agent: its sandbox stands while the block lasts, and is kept afterwards."""

    def __init__(self, atoll: Atoll, session_id: str, folder: Path) -> None:
        self._atoll = atoll
        self._id = session_id
        self._folder = folder
        self.sandbox: dict[str, Any] = {}

    def __enter__(self) -> "Session":
        """Ask for the sandbox, and copy the folder in."""
        asked = {
            "profile": "profile.agent-dev",
            "scope": "session",
            "workspace": {"mode": "mirror", "access": "rw"},
            "consumer": {"actor": "agt", "harness": HARNESS, "session_id": self._id},
        }
        poll_url = self._atoll.call("POST", "/v1/sandboxes", asked)["poll_url"]
        self.sandbox = self._atoll.call("GET", f"{poll_url}?wait=ready&timeout=300")
        if self.sandbox["state"] != "ready":
            raise RuntimeError(f"no sandbox: {self.sandbox['reason']}")
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            archive.add(self._folder, ".", filter=_plain)
        self._atoll.send("PUT", self._path("files/archive"), packed.getvalue(), TAR)
        return self

    def run_tool(self, line: str) -> dict[str, Any]:
        """Run a line of shell inside. A tool that fails is a result, not an error."""
        return dict(self._atoll.call("POST", self._path("exec"), {"shell": line}))

    def __exit__(self, *_: object) -> None:
        """Bring the folder back, and end the session."""
        packed = self._atoll.send("GET", self._path("files/archive"), None, TAR)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            for member in archive:
                self._take(archive, member)
        self._atoll.call("POST", "/v1/consumers/end", {"harness": HARNESS, "session_id": self._id})

    def _take(self, archive: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Write a file back. An agent wrote the archive: nothing leads out of the folder."""
        place = (self._folder / member.name).resolve()
        if member.isreg() and place.is_relative_to(self._folder.resolve()):
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes((archive.extractfile(member) or io.BytesIO()).read())

    def _path(self, rest: str) -> str:
        return f"/v1/sandboxes/{self.sandbox['sandbox_id']}/{rest}"


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return member if member.isreg() or member.isdir() else None


if __name__ == "__main__":
    atoll = Atoll(os.environ["ATOLL_URL"], os.environ["ATOLL_TOKEN"])
    with Session(atoll, sys.argv[1], Path(sys.argv[2])) as session:
        for tool in sys.argv[3:]:
            print(json.dumps(session.run_tool(tool)))
