"""Private directories: known by their own names, or by names in them, to hold keys or logins.

Such a directory is mounted only where a person agreed to this very one. The caller lists the names;
nothing is opened here.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from atoll.domain.errors import Forbidden

CODE = "private_folder"
"""The error's code: clients may recognise it, and request consent of their person."""

MAX_LOOKED_AT = 4096
"""The bound on names read in one directory to mount; later ones are not read."""

MAX_TOLD = 4
MAX_DEPTH = 3

_FOLDERS = (
    ".ssh", ".gnupg", ".aws", ".kube", ".password-store", ".mozilla", ".thunderbird",
    ".config/gcloud", ".config/gh", ".config/op", ".config/google-chrome", ".config/chromium",
    ".config/BraveSoftware", ".config/microsoft-edge", ".config/vivaldi", ".config/opera",
    ".local/share/keyrings", "snap/firefox", "snap/chromium", "Library/Keychains",
)  # fmt: skip
_NAMED = (*_FOLDERS, ".docker", ".azure", ".claude", ".codex", ".gemini")
"""The names that make a mount private when they are in its own path. In a project such a directory
is often harmless, and its contents decide."""

_FILES = (
    "credentials", "credentials.db", ".credentials.json", "application_default_credentials.json",
    "accessTokens.json", "msal_token_cache.json", "oauth_creds.json", "auth.json",
    ".docker/config.json", ".netrc", "_netrc", ".pgpass", ".my.cnf", ".git-credentials", ".pypirc",
    ".boto", ".s3cfg", ".vault-token", "kubeconfig", "authorized_keys", "secring.gpg",
    "key3.db", "key4.db", "logins.json", "cookies.sqlite", "Login Data", "Cookies", "wallet.dat",
    ".bash_history", ".zsh_history", ".bash_logout",
)  # fmt: skip
_KEY = re.compile(r"id_[A-Za-z0-9-]+|.+\.(?:kdbx|ppk|p12|pfx)")
_HOMES = re.compile(r"/(?:home|Users)(?:/[^/]+)?")
_LARGE = frozenset(("node_modules", ".git", ".venv", "target"))
"""The directories of programs, which are skipped."""

Listing = Callable[[str], Iterable[tuple[str, bool]]]
"""The names in a directory, relative to the one to mount (itself is ""), and which are
directories."""


def private_path(path: str) -> bool:
    """Report whether a path alone shows that it is private.

    It is a home, a directory for keys, logins or a browser profile, or below such a one.
    """
    below = f"{path}/"
    return _HOMES.fullmatch(path) is not None or any(f"/{one}/" in below for one in _NAMED)


def private_inside(source: str, listing: Listing) -> tuple[str, ...]:
    """Return the paths below `source` that mark the directory as private, at most `MAX_TOLD`."""
    found: list[str] = []
    for path, folder in _walk_breadth_first(listing):
        if _is_private(f"{source}/{path}", folder):
            found.append(path)
            if len(found) == MAX_TOLD:
                break
    return tuple(found)


def refuse_private(path: str, found: Iterable[str] = (), *, field: str = "mounts") -> Forbidden:
    """Return the error for a private directory without a person's consent."""
    listed = ", ".join(found)
    holds = f"holds {listed}" if listed else "is a place for keys, logins or a whole home"
    return Forbidden(
        f"{path} {holds}: an agent could read and send it. Mount a folder without it, or agree to "
        "this one: `--mount-private`, or `private` of the mount in the API",
        code=CODE,
        field=field,
    )


def _walk_breadth_first(listing: Listing) -> Iterator[tuple[str, bool]]:
    """Yield the paths below the top, level by level, so that near results come first."""
    level, looked = [""], 0
    for _depth in range(MAX_DEPTH):
        below: list[str] = []
        for top in level:
            for name, folder in listing(top):
                looked += 1
                if looked > MAX_LOOKED_AT:
                    return
                path = f"{top}/{name}" if top else name
                yield path, folder
                if folder and name not in _LARGE:
                    below.append(path)
        level = below


def _is_private(path: str, folder: bool) -> bool:
    if any(path.endswith(f"/{one}") for one in (_FOLDERS if folder else _FILES)):
        return True
    return not folder and _KEY.fullmatch(path.rpartition("/")[2]) is not None
