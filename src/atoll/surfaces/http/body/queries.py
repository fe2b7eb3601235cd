"""The parameters that routes take in their query.

A route takes what its declaration says. Paths whose callers add parameters of their own stand in
`ANY_QUERY`, with the reason.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from starlette.datastructures import QueryParams
from starlette.websockets import WebSocket

from atoll.domain.errors import Invalid
from atoll.domain.query import check_query

ANY_QUERY: Final[Mapping[str, str]] = {
    "/": "links to the page carry parameters of whoever shares them",
    "/{name:path}": "files of the page, and its addresses",
    "/healthz": "probes of monitoring systems add parameters against caches",
    "/readyz": "probes of monitoring systems add parameters against caches",
    "/.well-known/oauth-protected-resource": "RFC 9728 §3.1 puts the resource's own query here",
    "/.well-known/oauth-protected-resource/mcp": "RFC 9728 §3.1 puts the resource's own query here",
    "/v1/ingest/{source}/{hook}": "the senders of webhooks add parameters of their own",
    "/auth/oidc/{realm}/callback": "providers add parameters, which RFC 6749 §4.1.2 has ignored",
    "/auth/drive/callback": "providers add parameters, which RFC 6749 §4.1.2 has ignored",
}
"""The paths that take any query, and why."""

MAX_VALUE: Final = 128
"""The characters of a value in the query of a WebSocket that is passed on."""


@dataclass(frozen=True, slots=True)
class QueryNames:
    """The parameters of a route: those that are given once, and those of lists."""

    single: frozenset[str]
    many: frozenset[str]

    def check(self, query: bytes) -> None:
        """Raise `Invalid` for a query with anything else."""
        if query:
            check_query(QueryParams(query).multi_items(), single=self.single, many=self.many)


def socket_query(socket: WebSocket, names: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return these parameters of a WebSocket's query, as far as they are given. Raises `Invalid`
    for a value that is too long to mean anything."""
    given = tuple(
        (name, socket.query_params[name]) for name in names if name in socket.query_params
    )
    for name, text in given:
        if len(text) > MAX_VALUE:
            raise Invalid(f"`{name}` has at most {MAX_VALUE} characters", field=name)
    return given


def socket_flag(socket: WebSocket, name: str) -> bool:
    """Return a flag of a WebSocket's query; absent is false. Raises `Invalid`."""
    text = socket.query_params.get(name, "false").lower()
    if text not in {"true", "false", "1", "0"}:
        raise Invalid(f"`{name}` must be true or false", field=name)
    return text in {"true", "1"}
