"""The tools `events.*`: the log of the caller's organization, or of their sandbox.

What happened is told by kinds and names of ours. The payload of an event may hold words of others,
so it comes apart.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec
from msgspec import Meta

from atoll.domain.event import Event, Gap, Json
from atoll.domain.people.capability import Capability
from atoll.domain.tools.answer import MAX_ANSWER_BYTES, Answer, ForeignText, text_page
from atoll.domain.tools.tool import READS
from atoll.surfaces.mcp.definition import Arguments, Call, Namespace
from atoll.surfaces.mcp.fields import WaitSeconds

events = Namespace("events")

PAGE = 50

After = Annotated[int, Meta(description="The position after which to begin.", ge=0, le=2**53)]
Stream = Annotated[
    str, Meta(description="Only this stream, such as `sandbox:<id>`.", max_length=200)
]


class RecentArguments(Arguments, frozen=True):
    """The arguments of `events.recent`."""

    stream: Stream = ""
    after: Annotated[
        int, Meta(description="Where to begin, as a position; 0 is the newest.", ge=0, le=2**53)
    ] = 0


class WatchArguments(Arguments, frozen=True):
    """The arguments of `events.watch`."""

    after: After
    stream: Stream = ""
    seconds: WaitSeconds = 20


@events.tool("recent", Capability.EVENT_READ, READS, inside=Capability.EVENT_READ)
async def recent(call: Call, arguments: RecentArguments) -> Answer:
    """Return what happened last. `next` is the position to watch or to go on from. `gap` names
    events that are no longer kept; where its `to` is less than its `after`, the log ends at `to`
    and was set back."""
    stream, after = arguments.stream or None, arguments.after
    await call.atoll.events.check_stream(call.caller, stream)
    gap = await call.atoll.events.gap(call.caller, stream=stream, after=after) if after else None
    begin = gap.to if gap is not None and gap.set_back else after
    found = await call.atoll.tools.wakings.recent(
        call.caller, stream=stream, after=begin, limit=PAGE
    )
    end = found.position or await call.atoll.events.last_position()
    answer = _answer(found.events, begin or end, end, gap=gap)
    if not arguments.stream:
        await call.atoll.tools.wakings.read(call.caller, answer.next)
    return answer.told


@events.tool("watch", Capability.EVENT_READ, READS, inside=Capability.EVENT_READ)
async def watch(call: Call, arguments: WatchArguments) -> Answer:
    """Wait for something to happen after a position, and return it. An empty answer means that
    nothing did: watch again from `next`. `gap` names events that are no longer kept; where its `to`
    is less than its `after`, the log ends at `to` and was set back."""
    stream, after, found = arguments.stream or None, arguments.after, list[Event]()
    await call.atoll.events.check_stream(call.caller, stream)
    gap = await call.atoll.events.gap(call.caller, stream=stream, after=after)
    if gap is not None and gap.set_back:
        return _answer(found, gap.to, gap.to, gap=gap).told
    following = call.atoll.events.follow(call.caller, after=after, stream=stream)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(arguments.seconds):
            async for one in following:
                if isinstance(one, Event):
                    found.append(one)
                    break
    if found:
        found += await call.atoll.events.list(
            call.caller, stream=stream, after=found[0].position, limit=PAGE - 1
        )
    quiet = after if found or gap is None else gap.to
    return _answer(found, after, quiet, gap=gap).told


@dataclass(frozen=True, slots=True)
class _Told:
    """An answer with events, and the position from which to go on."""

    told: Answer
    next: int


def _answer(found: Sequence[Event], after: int, end: int, *, gap: Gap | None) -> _Told:
    """Return the events as far as an answer holds them. It goes on from the last of them, or from
    `end` where that is later and all are in it."""
    shown: list[Json] = []
    foreign: list[ForeignText] = []
    room = MAX_ANSWER_BYTES // 2
    for one in found:
        # Whole in the API; here it is cut, so that no event is longer than an answer.
        told = text_page(msgspec.json.encode(one.payload).decode(), 0).text
        payload = ForeignText(f"event {one.position}", told)
        value = _event_json(one)
        room -= len(payload.shown().encode()) + len(msgspec.json.encode(value))
        if room < 0 and shown:
            break
        shown.append(value)
        foreign.append(payload)
        after = one.position
    else:
        after = max(after, end)
    answer: dict[str, Json] = {"events": shown, "next": after}
    if gap is not None:
        answer["gap"] = {"after": gap.after, "to": gap.to}
    return _Told(Answer(answer, tuple(foreign)), after)


def _event_json(event: Event) -> dict[str, Json]:
    return {
        "position": event.position,
        "event_type": event.event_type,
        "stream": event.stream,
        "at": event.at.isoformat(),
        "actor": f"{event.actor_kind}:{event.actor_id}",
    }
