"""The login of this machine at a server elsewhere: confirmed on its page, kept in a private file.

`client.server` reads the file: its token goes to the server it was made at, and to no other.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from atoll.client.made.people.logins import CliLogin, CliPoll
from atoll.client.server import LOGIN_FILE, Server
from atoll.client.transport import Call, Transport
from atoll.domain.errors import Failed, Unavailable

MOST_SECONDS = 900.0
USUAL_SECONDS = 600.0
PAUSE_SECONDS = 2.0
_JSON = (("Content-Type", "application/json"),)


class RemoteLogin:
    """A login at one server. `sleep` waits some seconds between two looks."""

    def __init__(self, server: Server, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._server = server
        self._transport = Transport(lambda: server)
        self._sleep = sleep

    def begin(self, machine: str) -> CliLogin:
        """Begin a login, which a person confirms."""
        return self._transport.read(CliLogin, _post("/auth/cli", {"machine": machine}))

    def wait(self, begun: CliLogin) -> CliPoll:
        """Return the token once a person has confirmed. Raises `Unavailable` when nobody does."""
        left = min(float(begun.expires_in or USUAL_SECONDS), MOST_SECONDS)
        while left > 0:
            poll = _post("/auth/cli/poll", {"secret": begun.secret})
            poll_answer = self._transport.read(CliPoll, poll)
            if poll_answer.token:
                return poll_answer
            pause = max(1.0, float(begun.interval or PAUSE_SECONDS))
            self._sleep(pause)
            left -= pause
        raise Unavailable("nobody confirmed this login in time: run `atoll login` again")

    def save(self, home: Path, fetched: CliPoll) -> None:
        """Keep the login in the home, readable by this person alone. Raises `Failed`."""
        login = {"url": self._server.url, "token": fetched.token, "token_id": fetched.token_id}
        draft = home / f".{LOGIN_FILE}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            home.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(draft, flags, 0o600), "w") as file:
                json.dump(login, file)
            draft.replace(home / LOGIN_FILE)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise Failed(f"the login cannot be kept in {home}: {error.strerror}") from error


def forget(home: Path) -> None:
    """Remove the login that is kept in a home; a missing one is not an error."""
    (home / LOGIN_FILE).unlink(missing_ok=True)


def _post(path: str, value: dict[str, object]) -> Call:
    return Call("POST", path, (), _JSON, json.dumps(value).encode())
