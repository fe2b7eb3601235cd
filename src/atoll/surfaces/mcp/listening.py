"""Listening (revision 2026-07-28): the answer of one request is a stream of what changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY

from atoll.domain.errors import AtollError
from atoll.services.application import Application
from atoll.surfaces.mcp.offering import McpClient, Offering
from atoll.surfaces.mcp.open_streams import OpenStreams
from atoll.surfaces.mcp.request import Context, caller_now_of, caller_of, stays_home
from atoll.surfaces.mcp.resources import protocol_error


@dataclass(frozen=True, slots=True)
class ListeningServer:
    """The handler of `subscriptions/listen`."""

    atoll: Application
    offering: Offering
    streams: OpenStreams

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Follow what a request names, after saying which of that. Ends with the connection, or
        with the server, which answers then."""
        caller, wanted = caller_of(context), params.notifications
        uris, lists = list(wanted.resource_subscriptions or ()), bool(wanted.tools_list_changed)
        try:
            with self.streams.counted(caller):
                if uris:
                    self.atoll.tools.watches.check(caller, uris)
                after = await self.atoll.events.last_position()
                known = await self.offering.mark(caller, home=stays_home(context))
                await _acknowledge(context, uris, lists=lists)
                acts = [self._tell_uris(context, uris, after)] if uris else []
                acts += [self._tell_lists(context, known)] if lists else []
                await self.streams.run(*acts)
        except AtollError as error:
            raise protocol_error(error) from error
        return types.SubscriptionsListenResult(_meta=_meta(context))

    async def _tell_uris(self, context: Context, uris: Sequence[str], after: int) -> None:
        changes = self.atoll.tools.watches.follow_uris(caller_of(context), uris, after=after)
        async for change in changes:
            for uri in change.uris:
                updated = types.ResourceUpdatedNotificationParams(uri=uri, _meta=_meta(context))
                await _send(context, types.ResourceUpdatedNotification(params=updated))

    async def _tell_lists(self, context: Context, known: str) -> None:
        client = McpClient(caller_of(context), caller_now_of(context), stays_home(context))
        async for _ in self.offering.changes(client, known):
            changed = types.NotificationParams(_meta=_meta(context))
            await _send(context, types.ToolListChangedNotification(params=changed))


async def _acknowledge(context: Context, uris: list[str], *, lists: bool) -> None:
    """Say what is followed: what else was asked for is not."""
    honored = types.SubscriptionFilter(
        tools_list_changed=lists or None, resource_subscriptions=uris or None
    )
    told = types.SubscriptionsAcknowledgedNotificationParams(
        notifications=honored, _meta=_meta(context)
    )
    await _send(context, types.SubscriptionsAcknowledgedNotification(params=told))


async def _send(context: Context, notification: types.ServerNotification) -> None:
    await context.session.send_notification(notification, related_request_id=context.request_id)


def _meta(context: Context) -> Any:
    return {SUBSCRIPTION_ID_META_KEY: context.request_id}
