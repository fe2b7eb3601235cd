"""Address of the control plane, and the token to speak to it with.

Environment first (`ATOLL_URL`, `ATOLL_TOKEN`), then what `atoll up` left in `ATOLL_HOME`, else what
`atoll login --url` kept there.
The token of the home goes only to the server of that home: pointing `ATOLL_URL` at
another machine never hands it over. Nothing here opens a connection.
"""

import json
import os
import re
import stat
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from atoll.domain.errors import Forbidden, Invalid, Unauthenticated, Unavailable

if TYPE_CHECKING:
    from pathlib import Path

NOT_RUNNING = "Atoll is not running: start it with `atoll up`"
MAX_NOTE_BYTES = 4096
LOGIN_FILE = "login.json"
_USUAL = re.compile(r"http://(localhost|127\.0\.0\.1):([0-9]{1,5})/?").fullmatch
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class GuestKey(NamedTuple):
    """The credential of a guest, in memory only: a cookie's value, and the page's key for it."""

    session: str
    page_key: str

    def __repr__(self) -> str:
        """Return it without its secrets."""
        return "GuestKey()"


class SavedLogin(NamedTuple):
    """A login at a server elsewhere: its token goes there and nowhere else."""

    url: str
    token: str
    token_id: str

    def __repr__(self) -> str:
        """Return it without its token."""
        return f"SavedLogin({self.url!r})"


class Server(NamedTuple):  # a data class would load `inspect`, at every start of `atoll`
    """A control plane: `prefix` is the path below which its API lies, usually empty. A guest's has
    a `guest` key and no token. `by_home`: the token is that of the home, which nobody named."""

    url: str
    secure: bool
    host: str
    port: int
    prefix: str
    token: str = ""
    guest: GuestKey | None = None
    by_home: bool = False

    def __repr__(self) -> str:
        """Return it without its token."""
        return f"Server({self.url!r})"

    def credentials(self) -> dict[str, str]:
        """Return the headers that say who the client is; none for nobody yet."""
        if self.guest is not None:
            scheme, _, rest = self.url.partition("://")
            return {
                "Cookie": f"atoll_guest={self.guest.session}",
                "Atoll-Page-Key": self.guest.page_key,
                "Origin": f"{scheme}://{rest.partition('/')[0]}",
            }
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


def server_at(url: str, name: str) -> Server:
    """Return the server at a URL, without a credential. `name` is what the person calls the URL.
    Raises `Invalid`."""
    secure, host, port, prefix = _split_url(url, name)
    return Server(url.rstrip("/"), secure, host, port, prefix)


def home_of(environ: Mapping[str, str]) -> "Path":
    """Return `$ATOLL_HOME`, else `atoll` in the XDG state directory."""
    from pathlib import Path  # loaded late: a request needs the words of it only

    return Path(_home(environ))


def _home(environ: Mapping[str, str]) -> str:
    named = environ.get("ATOLL_HOME")
    if named:
        return os.path.expanduser(named)  # noqa: PTH111  see `home_of`
    state = environ.get("XDG_STATE_HOME") or "~/.local/state"
    return os.path.expanduser(f"{state}/atoll")  # noqa: PTH111


def find_server(environ: Mapping[str, str]) -> Server:
    """Return the server to speak to. Raises `Unavailable` (none runs), `Unauthenticated` (no
    token), `Forbidden` (a token others can read, or one that would travel in clear), `Invalid`
    (URL)."""
    home = _home(environ)
    local = _running_url(home)
    url = environ.get("ATOLL_URL") or local
    # Read only where it can count: most calls are for the server of this home.
    saved = None if _is_same_server(url, local) else saved_login(home)
    url = url or (saved.url if saved else None)
    if url is None:
        raise Unavailable(NOT_RUNNING)
    secure, host, port, prefix = _split_url(url)
    server = Server(url.rstrip("/"), secure, host, port, prefix)
    refuse_plain(server, environ)
    token = environ.get("ATOLL_TOKEN")
    if not token and saved is not None and _is_same_server(url, saved.url):
        token = saved.token
    if token:
        return server._replace(token=token)
    return server._replace(token=_home_token(home, ours=_is_same_server(url, local)), by_home=True)


def saved_login(home: str) -> SavedLogin | None:
    """Return the login that `atoll login --url` kept in a home, None where there is none. Raises
    `Forbidden` for a file that others can read."""
    path = f"{home}/{LOGIN_FILE}"
    try:
        data, status = _read_note(path)
        document = json.loads(data)
        login = SavedLogin(document["url"], document["token"], document["token_id"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not all(isinstance(text, str) and text.isascii() and text.isprintable() for text in login):
        return None
    if status.st_nlink != 1 or stat.S_IMODE(status.st_mode) & 0o077:
        raise Forbidden(f"the login {path} can be read by others: remove it and log in again")
    return login


def refuse_plain(server: Server, environ: Mapping[str, str]) -> None:
    """Raise `Forbidden` for an address to which a token would travel in clear."""
    insecure = not server.secure and server.host not in _LOOPBACK
    if insecure and environ.get("ATOLL_INSECURE_HTTP") != "1":
        raise Forbidden(
            f"{server.url} is plain http to another machine, where the token could be read on the "
            "way: use https, or set ATOLL_INSECURE_HTTP=1 for a network you trust"
        )


def _split_url(url: str, name: str = "ATOLL_URL") -> tuple[bool, str, int, str]:
    """Return whether a URL is secure, its host, its port and its path. Raises `Invalid`."""
    if (usual := _USUAL(url)) and int(usual[2]) < 65536:
        return False, usual[1], int(usual[2]) or 80, ""
    from urllib.parse import urlsplit  # loaded late: see `_USUAL`

    try:
        split = urlsplit(url)
        port = split.port
    except ValueError as problem:
        raise Invalid(f"{name} {url!r} is not a URL: {problem}", field=name) from problem
    if split.scheme not in ("http", "https") or not split.hostname:
        raise Invalid(f"{name} {url!r} must be http://… or https://…", field=name)
    secure = split.scheme == "https"
    return secure, split.hostname, port or (443 if secure else 80), split.path.rstrip("/")


def _is_same_server(url: str | None, local: str | None) -> bool:
    if url is None or local is None:
        return False
    return _split_url(url)[:3] == _split_url(local)[:3]


def _running_url(home: str) -> str | None:
    """Return the address of the control plane, or of a further replica once that one is gone."""
    url, runs = _read_address_note(f"{home}/run/control.json")
    if runs:
        return url
    try:
        names = sorted(os.listdir(f"{home}/run"))  # noqa: PTH208  see `home_of`
    except OSError:
        return url
    for name in names:
        if name.startswith("replica-") and name.endswith(".json"):
            other, runs = _read_address_note(f"{home}/run/{name}")
            if runs:
                return other
    return url


def _read_address_note(path: str) -> tuple[str | None, bool]:
    """Return the address in a note, and whether the process that left it still runs."""
    try:
        note = json.loads(_read_note(path)[0])
        url = note["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None, False
    return (url, _is_running(note.get("pid"))) if isinstance(url, str) else (None, False)


def _is_running(pid: object) -> bool:
    try:
        os.kill(pid if isinstance(pid, int) and pid > 0 else 0, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return isinstance(pid, int) and pid > 0


def _home_token(home: str, *, ours: bool) -> str:
    if not ours:
        raise Unauthenticated("no token for this server: set ATOLL_TOKEN")
    path = f"{home}/token"
    try:
        text, status = _read_note(path)
        token = text.decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is not a token"
        raise Unauthenticated(
            f"the token {path} cannot be read ({why}): "
            "run this as the person who started Atoll, or set ATOLL_TOKEN"
        ) from problem
    if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
        raise Forbidden(f"the token {path} is not a plain file: remove it and restart Atoll")
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise Forbidden(f"the token {path} can be read by others: chmod 600 it")
    return token


def _read_note(path: str) -> tuple[bytes, os.stat_result]:
    """Return a small file the control plane wrote. It may be a link or a pipe by now, which would
    make a more powerful caller send a file of its own, or wait for ever: neither is followed."""
    with os.fdopen(os.open(path, _READ), "rb") as file:
        status = os.fstat(file.fileno())
        return (file.read(MAX_NOTE_BYTES) if stat.S_ISREG(status.st_mode) else b""), status
