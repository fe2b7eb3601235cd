"""Resources and their changes, in the words of the protocol: both eras read the same watches."""

from dataclasses import dataclass
from typing import Final

import mcp_types as types
import msgspec
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from atoll.domain.errors import AtollError, Forbidden, Invalid, LimitReached, NotFound
from atoll.domain.event import Json
from atoll.domain.tools.answer import MAX_ANSWER_BYTES, ForeignText, text_page
from atoll.domain.tools.uri import ANY, FAMILIES
from atoll.services.application import Application
from atoll.services.tools.mcp_sessions import SessionClaims
from atoll.services.tools.resources import Resource
from atoll.surfaces.mcp.request import Context, caller_of, check_no_cursor, session_of

RESOURCE_NOT_FOUND: Final = -32002
"""The code of the revisions with a handshake for a resource that is not there."""


@dataclass(frozen=True, slots=True)
class ResourceServer:
    """The handlers of resources."""

    atoll: Application

    async def list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return what changed lately, in one page. Raises `MCPError`."""
        check_no_cursor(params)
        try:
            found = await self.atoll.tools.resources.all(caller_of(context))
        except AtollError as error:
            raise protocol_error(error) from error
        shown = [types.Resource(uri=one.uri, name=_name(one.uri)) for one in found]
        return types.ListResourcesResult(resources=shown, cache_scope="private")

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return the families of URIs, in one page. Raises `MCPError`."""
        del context
        check_no_cursor(params)
        scheme = self.atoll.tools.watches.scheme
        shown = [
            types.ResourceTemplate(
                uri_template=f"{scheme}://{family}/{{+tail}}",
                name=family,
                description=f"{text}; `{scheme}://{family}/{ANY}` lists and watches them all",
                mime_type="text/plain",
            )
            for family, text in FAMILIES.items()
        ]
        return types.ListResourceTemplatesResult(resource_templates=shown, cache_scope="private")

    async def read(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return the last event of a URI, or those of a pattern."""
        try:
            found = await self.atoll.tools.resources.read(caller_of(context), params.uri)
        except NotFound as error:
            handshake = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
            code = RESOURCE_NOT_FOUND if handshake else types.INVALID_PARAMS
            raise MCPError(code, error.message, {"code": error.code, "uri": params.uri}) from error
        except AtollError as error:
            raise protocol_error(error) from error
        return types.ReadResourceResult(contents=_page(found), cache_scope="private")

    async def subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        """Watch a URI for the session of the request."""
        try:
            await self.atoll.tools.watches.begin(caller_of(context), _session(context), params.uri)
        except AtollError as error:
            raise protocol_error(error) from error
        return types.EmptyResult()

    async def unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        """Watch a URI no longer."""
        try:
            await self.atoll.tools.watches.end(caller_of(context), _session(context), params.uri)
        except AtollError as error:
            raise protocol_error(error) from error
        return types.EmptyResult()


def _session(context: Context) -> SessionClaims:
    session = session_of(context)
    if session is None:
        raise Invalid("this needs a session: send its id in the header `Mcp-Session-Id`")
    return session


def _page(found: list[Resource]) -> list[types.TextResourceContents | types.BlobResourceContents]:
    """Return the first of these, as many as an answer holds."""
    shown: list[types.TextResourceContents | types.BlobResourceContents] = []
    room = MAX_ANSWER_BYTES
    for one in found:
        contents = _contents(one)
        room -= len(contents.text.encode()) + len(contents.uri)
        if room < 0 and shown:
            break
        shown.append(contents)
    return shown


def _contents(found: Resource) -> types.TextResourceContents:
    event = found.event
    value: dict[str, Json] = {
        "position": event.position,
        "event_type": event.event_type,
        "at": event.at.isoformat(),
        "actor": f"{event.actor_kind}:{event.actor_id}",
    }
    told = text_page(msgspec.json.encode(event.payload).decode(), 0).text
    payload = ForeignText(found.uri, told).shown()
    text = f"{msgspec.json.encode(value).decode()}\n{payload}"
    return types.TextResourceContents(uri=found.uri, text=text, mime_type="text/plain")


def _name(uri: str) -> str:
    return uri.partition("://")[2]


def protocol_error(error: AtollError) -> MCPError:
    """Return the protocol's error for one of ours: it keeps our code beside its own."""
    caused = isinstance(error, Invalid | Forbidden | LimitReached)
    code = types.INVALID_PARAMS if caused else types.INTERNAL_ERROR
    return MCPError(code, error.message, {"code": error.code})
