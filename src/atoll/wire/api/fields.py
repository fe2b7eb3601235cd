"""Fields and parameters that many declarations share."""

from typing import Annotated, Any

from msgspec import Meta

from atoll.wire.api.annotations import Header
from atoll.wire.api.operation import Parameters
from atoll.wire.words.events import MAX_POSITION
from atoll.wire.words.library import MAX_REPOS

MAX_PAGE = 1000
"""The most items of a page."""

MAX_WAIT_SECONDS = 600
"""The longest wait for a result."""

ItemId = Annotated[str, Meta(min_length=1, max_length=200)]
"""An id in a path."""

CommitId = Annotated[str, Meta(pattern=r"^[0-9a-f]{40}\Z")]
"""The whole id of a commit."""

RepoIndex = Annotated[int, Meta(ge=0, le=MAX_REPOS - 1)]
"""The number of a repository in a sandbox."""

RepoNumber = Annotated[int, Meta(description="Which of its repositories.", ge=0, le=MAX_REPOS - 1)]
"""The same as a parameter."""

Word = Annotated[str, Meta(min_length=1, max_length=200)]
"""A short text."""

Address = Annotated[str, Meta(min_length=1, max_length=2000)]
"""A URL or reference."""

Position = Annotated[int, Meta(ge=0, le=MAX_POSITION)]
"""A position of the event log."""

PageLimit = Annotated[int, Meta(ge=1, le=MAX_PAGE)]
"""The number of items of a page by position."""


SandboxRef = Annotated[
    str, Meta(description="A sandbox's id or its name.", min_length=1, max_length=200)
]
"""A sandbox in a path."""


class Paging(Parameters):
    """The requested page of a list: `limit` items after `cursor`."""

    cursor: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1000)] | None,
        Meta(description="`next` of the page before."),
    ] = None
    limit: Annotated[int, Meta(description="The most items of the page.", ge=1, le=MAX_PAGE)] = (
        MAX_PAGE
    )


FIRST_PAGE = Paging()


class Waiting(Parameters):
    """The longest wait for the result."""

    wait: Annotated[
        Annotated[str, Meta(max_length=10)] | None,
        Meta(description="`ready` or `true`: wait before the answer."),
    ] = None
    timeout: Annotated[
        Annotated[float, Meta(gt=0, le=MAX_WAIT_SECONDS)] | None,
        Meta(description="The longest wait in seconds, by default 60; with `wait` alone."),
    ] = None
    prefer: Annotated[
        Annotated[str, Meta(max_length=200)] | None,
        Header("prefer"),
        Meta(description="`wait=30` waits (RFC 7240)."),
    ] = None


NO_WAIT = Waiting()


class Seconds(int):
    """A duration in whole seconds. Clients send the number, or text such as `4h`."""


class SecondsOrZero(Seconds):
    """A duration in whole seconds, or 0 for none at all."""


Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]
"""A moment with its offset from UTC (RFC 3339), which the route reads."""

JsonObject = dict[str, Any]
"""An object whose members no declaration names."""
