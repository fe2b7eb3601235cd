"""Fields of a request by which a provider fetches an address or calls somebody. Pure.

A model request can name pictures and documents by URL, tools on other servers, and where to report
an end. The vendor then reaches whatever was named, also for a sandbox without a network. Where the
owner allows none of that, a request with such a field is refused before its body goes out.
"""

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote_plus

MAX_DEPTH = 64
_CALLS = frozenset(
    {
        "webhook", "webhooks", "webhook_url", "callback", "callback_url", "server_url",
        "mcp_servers", "connector_id", "connectors", "url_context", "urlcontext", "google_search",
        "googlesearch", "google_search_retrieval", "googlesearchretrieval", "source_url",
        "cloud_storage_url",
    }
)  # fmt: skip
_TOOL_TYPES = re.compile(r"mcp|connector|web_search.*|web_fetch.*|browser_.*|visit_website")
_ADDRESS = re.compile(r"\s*(?:https?|wss?|ftp|gs|s3):", re.IGNORECASE)
_NOT_ASKED = frozenset({"input_schema", "json_schema", "schema", "args", "response"})
"""Fields whose contents are not checked: they describe a tool, or are part of its calls."""

_FORM_NAME = re.compile(rb"""name\s*=\s*(?:"([^"\r\n]*)"|([^;"\s]+))""", re.IGNORECASE)
_OPAQUE = ("audio/", "video/", "image/", "application/octet-stream")

Pairs = tuple[tuple[str, object], ...]


class Unreadable(ValueError):
    """The body cannot be checked, since a provider may read it differently."""


def fetching_parameter(query: str) -> str | None:
    """Return the first query parameter that makes the provider fetch or call; None without one."""
    for part in re.split("[&;]", query):
        name, _, value = part.partition("=")
        if _fetches(unquote_plus(name), unquote_plus(value)):
            return unquote_plus(name)
    return None


def fetching_field(body: bytes, kind: str, *, any_address: bool = False) -> str | None:
    """Return the first body field that makes the provider fetch or call; None without one.

    `kind` is the body's content type; `any_address` takes an address in any field for one. Raises
    `Unreadable`.
    """
    plain = body.lstrip()
    kind = kind.partition(";")[0].strip().lower()
    if not plain:
        return None
    if kind.startswith(_OPAQUE) and plain[:1] not in (b"{", b"["):
        return None
    if kind == "multipart/form-data":
        return _in_form(body)
    try:
        tree = json.loads(body.decode(), object_pairs_hook=tuple)
    except (ValueError, RecursionError) as error:
        raise Unreadable("it is no JSON in UTF-8") from error
    return next(_fetching_fields(tree, any_address=any_address), None)


def _in_form(body: bytes) -> str | None:
    names = [(first or second).decode("latin-1") for first, second in _FORM_NAME.findall(body)]
    return next((name for name in names if _is_call(name) or _is_place(name)), None)


def _fetching_fields(tree: object, *, any_address: bool, depth: int = 0) -> Iterator[str]:
    """Yield the names of fields that fetch, walking the tree. An object is a tuple of pairs, so a
    repeated name is seen twice."""
    if depth > MAX_DEPTH:
        raise Unreadable("it is nested too deep")
    if isinstance(tree, list):
        for one in tree:
            yield from _fetching_fields(one, any_address=any_address, depth=depth + 1)
            if any_address and isinstance(one, str) and _ADDRESS.match(one):
                yield "a list"
    elif isinstance(tree, tuple):
        yield from _in_object(tree, any_address=any_address, depth=depth)


def _in_object(pairs: Pairs, *, any_address: bool, depth: int) -> Iterator[str]:
    used = ("type", "tool_use") in pairs
    for name, value in pairs:
        if _fetches(name, value) or (any_address and _is_address(value)):
            yield name
        told = name in _NOT_ASKED or (used and name == "input")
        if any_address or not (told and isinstance(value, tuple)):
            yield from _fetching_fields(value, any_address=any_address, depth=depth + 1)


def _fetches(name: str, value: object) -> bool:
    if value in (None, "", False) or value == () or value == []:
        return False
    if name == "type":
        return isinstance(value, str) and _TOOL_TYPES.fullmatch(value) is not None
    return _is_call(name) or (_is_place(name) and _is_address(value))


def _is_call(name: str) -> bool:
    return name.lower() in _CALLS


def _is_place(name: str) -> bool:
    return name.lower().endswith(("url", "uri"))


def _is_address(value: object) -> bool:
    return isinstance(value, str) and _ADDRESS.match(value) is not None
