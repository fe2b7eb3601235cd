"""Streams as requests name them: each is of a thing that is there, or was, for who names it.

A webhook or subscription of a stream of nothing would wait for ever. Streams that are called by
names, as of a profile, a repository or a service, may be named before their first event.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.event import SANDBOX_STREAMS
from atoll.domain.hooks.hook import HookId
from atoll.domain.ids import DashboardId, SandboxId, WorkerKey
from atoll.domain.webhooks.webhook import WebhookId
from atoll.ports import EventQuery, Transaction
from atoll.wire.words.sandboxes import Scope

_BY_ID: Final = frozenset(
    {"dashboard", "hook", "org", "sandbox", "secret", "webhook", "worker"},
)
"""The nouns whose streams bear an id that is given here: nobody knows one before its thing."""


async def check_named_streams(
    rows: Transaction, query: EventQuery, names: Iterable[str], *, field: str = "streams"
) -> None:
    """Check the names of streams, patterns among them, for a reader. Raises `Invalid`, in the same
    words for what is missing and for what the reader may not see."""
    for name in dict.fromkeys(names):
        noun, _, subject = name.partition(":")
        if noun not in _BY_ID or subject == "*":
            continue
        lookup = replace(query, stream=name, after=0, limit=1, latest=True)
        if not await rows.events.page(lookup) and not await _is_there(rows, query, noun, subject):
            raise Invalid(
                f"there is no {noun} {subject[:60]!r}, so its stream has no events: list them to "
                "see which there are",
                field=field,
            )


async def may_read(rows: Transaction, query: EventQuery, stream: str) -> bool:
    """Report whether a reader may read a stream, of which no event is kept."""
    if not stream.startswith(SANDBOX_STREAMS):
        return True
    sandbox = await rows.sandboxes.get(SandboxId(stream.removeprefix(SANDBOX_STREAMS)))
    if sandbox is None or sandbox.org_id != query.org_id:
        return False
    return sandbox.owner == query.owner or (query.team and sandbox.scope is Scope.SHARED)


async def _is_there(rows: Transaction, query: EventQuery, noun: str, subject: str) -> bool:
    """Report whether a thing is there, of which the reader would receive events."""
    mine = (query.org_id, query.owner)
    match noun:
        case "sandbox":
            return await may_read(rows, query, f"{SANDBOX_STREAMS}{subject}")
        case "org":
            return subject == query.org_id
        case "secret":
            visible = await rows.secrets.visible(*mine)
            return subject in {secret.id for secret in visible}
        case "dashboard":
            dashboard = await rows.dashboards.get(DashboardId(subject))
            return dashboard is not None and (dashboard.org_id, dashboard.owner) == mine
        case "hook":
            hook = await rows.hooks.get(HookId(subject))
            return hook is not None and (hook[0].org_id, hook[0].owner) == mine
        case "webhook":
            webhook = await rows.webhooks.get(WebhookId(subject))
            return webhook is not None and (webhook.webhook.org_id, webhook.webhook.owner) == mine
        case _:
            worker = await rows.workers.get(WorkerKey(subject))
            return worker is not None and (worker.org_id, worker.owner) == mine
