"""The connection to one remote: git's requests, and the meaning of its refusals.

The address was checked and is fixed (`adapters.repos.netguard`); the shelf decides where the
repository is kept.
"""

import contextlib
import re
from dataclasses import dataclass
from pathlib import Path

from atoll.adapters.repos.git import Git, GitCall, GitReply
from atoll.domain.errors import Failed, NotFound, Unavailable
from atoll.domain.repository.repository import Remote
from atoll.ports.repositories import Report

BRANCHES_AND_TAGS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")
LISTING_SECONDS = 60.0

_ABSENT = re.compile(r"authentication|username|not found|redirect|error: (30\d|40[134])")
"""The beginnings of git's messages when a remote is private, gone or elsewhere."""


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The bounds of one fetch: seconds in all, and bytes of its largest pack."""

    seconds: float
    max_bytes: int


@dataclass(frozen=True, slots=True)
class DialledRemote:
    """A remote and the address to dial for it (curl's `host:port:address`)."""

    git: Git
    remote: Remote
    where: str

    async def bring(self, repo: Path, caps: FetchLimits, report: Report) -> None:
        """Fetch what `repo` lacks and let its HEAD follow.

        Raises `NotFound` (also for private ones: the same words), `LimitReached`, `Unavailable`,
        `Failed` for broken objects.
        """
        url, listing = await self._list_refs(caps)
        head = _head_of(listing)
        if head is not None:
            await self.git.ask(GitCall(("symbolic-ref", "HEAD", head), repo))
        fetching = GitCall(
            ("fetch", "--progress", "--prune", "--no-tags", "--no-write-fetch-head",
             "--no-auto-gc", "--", url, *BRANCHES_AND_TAGS),
            repo,
            config=(f"http.curloptResolve={self.where}",),
            protocols=_protocols(self.remote),
            seconds=caps.seconds,
            max_file_bytes=caps.max_bytes,
            progress=report,
        )  # fmt: skip
        _raise_remote_error(await self.git.run(fetching), self.remote)

    async def _list_refs(self, caps: FetchLimits) -> tuple[str, bytes]:
        # Some hosts answer only under `.git` (and redirect, which is not followed), some only
        # without it.
        for url in (f"{self.remote.repo_url}.git", self.remote.repo_url):
            call = GitCall(
                ("ls-remote", "--symref", "--", url, "HEAD"),
                config=(f"http.curloptResolve={self.where}",),
                protocols=_protocols(self.remote),
                seconds=min(LISTING_SECONDS, caps.seconds),
            )
            reply = await self.git.run(call)
            if reply.status == 0:
                return url, reply.out
            with contextlib.suppress(NotFound):
                _raise_remote_error(reply, self.remote)
        raise _not_found_error(self.remote)


def _protocols(remote: Remote) -> tuple[str, ...]:
    return (remote.repo_url.split(":", 1)[0],)


def _raise_remote_error(reply: GitReply, remote: Remote) -> None:
    """Turn git's message about the other side into an error that a person can act on."""
    if reply.status == 0:
        return
    words = reply.why.lower()
    if _ABSENT.search(words):
        raise _not_found_error(remote)
    kind = Failed if "index-pack" in words or "fsck" in words else Unavailable
    raise kind(f"{remote.repo_url} could not be fetched: {reply.why or 'no reason given'}")


def _not_found_error(remote: Remote) -> NotFound:
    return NotFound(
        f"{remote.repo_url} is not there, has moved, or is private: clone it yourself and give "
        "the path of your checkout instead."
    )


def _head_of(listing: bytes) -> str | None:
    """Return the branch in `ref: refs/heads/main\\tHEAD`; None for a detached or empty remote."""
    for line in listing.decode("utf-8", "replace").splitlines():
        if line.startswith("ref: refs/heads/") and line.endswith("\tHEAD"):
            return line.removeprefix("ref: ").removesuffix("\tHEAD")
    return None
