"""The names of streams of events: the nouns that they begin with.

A name is checked wherever one is given: a reader of a stream that no event has would wait for ever.
"""

from atoll.domain.errors import Invalid

SINGLE_STREAMS = frozenset(
    {"agents", "auth", "hosts", "log", "routes", "tools", "vault"},
)
"""The streams of which there is one."""

STREAM_NOUNS = frozenset(
    {
        *("dashboard", "hook", "org", "profile", "repository", "sandbox", "secret", "service"),
        *("webhook", "worker"),
    }
)
"""The nouns of which each has a stream, `sandbox:<id>`."""


def check_stream(name: str, *, patterns: bool = False, field: str = "stream") -> None:
    """Raise `Invalid` for a name that no stream has. With `patterns`, all of a noun are named as
    `sandbox:*`."""
    noun, _, subject = name.partition(":")
    if name in SINGLE_STREAMS or (noun in STREAM_NOUNS and subject and subject != "*"):
        return
    if patterns and noun in STREAM_NOUNS and subject == "*":
        return
    nouns = ", ".join(f"{one}:<id>" for one in sorted(STREAM_NOUNS))
    raise Invalid(
        f"there is no stream {name[:60]!r}: there are {', '.join(sorted(SINGLE_STREAMS))}, {nouns}",
        field=field,
    )
