"""The source of a repository, and the one place where it is kept.

Reads what a person typed (`owner/repo`, an https or ssh address) into one canonical https address
and one directory below `repos/`. It never touches the network or a disk; `domain.network.address`
checks the resolved address before it is dialled.
"""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from atoll.domain.errors import Invalid

HARMLESS_FLAWS = ("zeroPaddedFilemode", "badTimezone", "missingSpaceBeforeDate", "badDateOverflow")
"""The harmless flaws of old commits in real histories, by git's names; all others are refused."""

DEFAULT_HOST = "github.com"
CASELESS_HOSTS = frozenset({"github.com", "gitlab.com", "bitbucket.org", "codeberg.org"})
"""The hosts that treat `Owner/Repo` and `owner/repo` as one: kept once here as well."""

MAX_URL_LENGTH = 500
MAX_SEGMENTS = 16
LOCAL_FOLDER = "local"

_SHORTHAND = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9._][A-Za-z0-9._-]{0,99}")
_SCP = re.compile(r"(?:[A-Za-z0-9._-]+@)?(?P<host>[A-Za-z0-9.-]+):(?P<path>[^:]+)")
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SEGMENT = re.compile(r"[A-Za-z0-9_.~][A-Za-z0-9_.~+-]{0,99}")
_LOCAL_KEY = re.compile(r"[0-9a-f]{16,64}")
_LOCAL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Remote:
    """A repository on a server. `repo_url` is canonical https (http only for loopback),
    without user, password or `.git`; `key` names it everywhere (`github.com/owner/repo`)."""

    key: str
    repo_url: str
    host: str
    port: int

    @property
    def folder(self) -> str:
        """The relative directory of its bare repository."""
        return f"{self.key}.git"

    @property
    def name(self) -> str:
        """The last segment of its address: `repo`."""
        return self.repo_url.rsplit("/", 1)[-1]


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A checkout on a person's machine.

    Its key was derived from the directory by the owner's CLI. `repo_url` is that checkout's own
    origin in https form, or empty.
    """

    key: str
    name: str
    repo_url: str = ""

    @property
    def folder(self) -> str:
        """The relative directory of its bare repository."""
        return f"{LOCAL_FOLDER}/{self.name}-{self.key}.git"


Source = Remote | LocalSource


def read_remote(text: str, *, allow_loopback: bool = False) -> Remote:
    """Return the remote a person means.

    Accepts `owner/repo` (GitHub), `https://host/path`, and the ssh forms `ssh://git@host/path` and
    `git@host:path`, which become https. `allow_loopback` also accepts http and a port on
    127.0.0.1 or localhost, for development. Raises `Invalid` with field `repo_url` for everything
    else: other schemes and transport helpers (`ext::`, `file:`), credentials, options, queries,
    `..`, control characters.
    """
    if len(text) > MAX_URL_LENGTH or not text.isascii() or not text.isprintable() or " " in text:
        raise _refusal(text, "it is too long or holds spaces, control or non-ASCII characters")
    if _SHORTHAND.fullmatch(text):
        return _remote("https", DEFAULT_HOST, None, text, text)
    if "::" in text or text.startswith("-"):
        raise _refusal(text, "transport helpers and options are not addresses")
    if "://" not in text:
        scp = _SCP.fullmatch(text)
        if scp is None or "." not in scp["host"]:
            raise _refusal(text, "it is neither owner/repo nor an https or ssh address")
        return _remote("https", scp["host"], None, scp["path"], text)
    return _from_url(text, allow_loopback=allow_loopback)


def _from_url(text: str, *, allow_loopback: bool) -> Remote:
    parts, port = _split(text)
    host = parts.hostname or ""
    loopback = allow_loopback and host in ("127.0.0.1", "localhost")
    if parts.query or parts.fragment or "?" in text or "#" in text:
        raise _refusal(text, "a query or fragment has no meaning here")
    if parts.scheme == "ssh":
        if parts.password is not None:
            raise _refusal(text, "leave the password out")
        return _remote("https", host, None, parts.path, text)
    if "@" in parts.netloc:
        raise _refusal(text, "leave user and password out: credentials never enter a sandbox")
    if parts.scheme == "https" or (parts.scheme == "http" and loopback):
        return _remote(parts.scheme, host, port, parts.path, text)
    raise _refusal(text, "only https (and ssh, which is rewritten to https) is allowed")


def _split(text: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(text)
        return parts, parts.port
    except ValueError as error:
        raise _refusal(text, "host or port cannot be read") from error


def _remote(scheme: str, host: str, port: int | None, path: str, text: str) -> Remote:
    host = host.lower().rstrip(".")
    labels = host.split(".")
    if (len(labels) < 2 and host != "localhost") or not all(map(_LABEL.fullmatch, labels)):
        raise _refusal(text, "the host name is not one")
    segments = path.strip("/").removesuffix(".git").split("/")
    if len(segments) > MAX_SEGMENTS or not all(map(_is_valid_segment, segments)):
        raise _refusal(text, "the path holds something other than plain names")
    default_port = 443 if scheme == "https" else 80
    place = host if port in (None, default_port) else f"{host}+{port}"
    authority = host if port in (None, default_port) else f"{host}:{port}"
    joined = "/".join(segments)
    return Remote(
        key=f"{place}/{joined.lower() if host in CASELESS_HOSTS else joined}",
        repo_url=f"{scheme}://{authority}/{joined}",
        host=host,
        port=port or default_port,
    )


def _is_valid_segment(segment: str) -> bool:
    # An inner `x.git` would put one repository inside another's directory.
    return (
        _SEGMENT.fullmatch(segment) is not None
        and segment not in (".", "..")
        and not segment.lower().endswith((".git", ".lock"))
    )


def read_local(key: str, name: str, repo_url: str = "") -> LocalSource:
    """Return a local source from what its CLI sent. Raises `Invalid` naming the field."""
    if _LOCAL_KEY.fullmatch(key) is None:
        raise Invalid("A local repository's key is 16 to 64 lower-case hex digits.", field="key")
    if _LOCAL_NAME.fullmatch(name) is None or name.lower().endswith((".git", ".lock")):
        raise Invalid(
            "A local repository's name is up to 64 letters, digits, `.`, `_` and `-`.",
            field="name",
        )
    return LocalSource(key, name, read_remote(repo_url).repo_url if repo_url else "")


def is_local_key(text: str) -> bool:
    """Report whether `text` has the shape of a local repository's key."""
    return _LOCAL_KEY.fullmatch(text) is not None


def plain_name(text: str) -> str:
    """Return a directory's name changed into one that `read_local` accepts; never empty."""
    bent = re.sub(r"[^A-Za-z0-9._-]+", "-", text).lstrip(".-")[:64]
    while bent.lower().endswith((".git", ".lock")):
        bent = bent.rsplit(".", 1)[0]
    return bent or "repository"


def is_path(text: str) -> bool:
    """Report whether a person who typed `text` means a directory of their own rather than a
    remote."""
    return text in (".", "..", "~") or text.startswith(("/", "./", "../", "~/"))


def read_commit(text: str) -> str:
    """Return a full commit id (40 hex digits); raises `Invalid`."""
    if _COMMIT.fullmatch(text) is None:
        raise Invalid(f"{text[:60]!r} is not a full commit id (40 hex digits).", field="tips")
    return text


def _refusal(text: str, why: str) -> Invalid:
    return Invalid(
        f"Repository {text[:120]!r} was refused: {why}. "
        "Use owner/repo, an https address, or a path of yours.",
        field="repo_url",
    )
