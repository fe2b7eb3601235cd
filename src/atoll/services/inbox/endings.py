"""Endings: sandboxes whose time is nearly over, with the work that lies only in them.

What lies in a sandbox is looked up inside, so it is remembered for a moment: the inbox is listed
often.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime, timedelta

from atoll.domain.duration import spell_duration
from atoll.domain.errors import AtollError, Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.inbox.ending import EXTEND, LET_END, item_of_end
from atoll.domain.inbox.item import InboxItem
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.lifetime import end_waits, extension_of
from atoll.domain.sandboxes.sandbox import KEPT, LIVE, RUNNING, Sandbox
from atoll.ports import SandboxQuery
from atoll.ports.kept import HeldPush
from atoll.services.ground import Ground
from atoll.services.library.pushes import HeldPushes
from atoll.services.library.unpulled import UnpulledPlace, UnpulledWork
from atoll.services.sandboxes.sandboxes import Sandboxes

MAX_SANDBOXES = 1000
AT_ONCE = 4
LOOK_SECONDS = 5.0
FRESH_FOR = timedelta(seconds=30)
AT_REST_FOR = timedelta(minutes=5)
"""Times for which what was found in a sandbox is not looked up again: in one that runs, and in one
that does not, which has to be started for it."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The lines about the work in a sandbox, as found at a time."""

    until: datetime
    lines: tuple[str, ...]


class Endings:
    """Use cases on the ends that were announced."""

    def __init__(
        self, ground: Ground, sandboxes: Sandboxes, unpulled: UnpulledWork, *, pushes: HeldPushes
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._unpulled = unpulled
        self._pushes = pushes
        self._found: dict[SandboxId, _Found] = {}
        self._room = asyncio.Semaphore(AT_ONCE)

    async def items(self, caller: Principal) -> list[InboxItem]:
        """Return an item for each of the caller's sandboxes whose end was announced and is not
        accepted."""
        query = SandboxQuery(caller.org_id, caller.id, (*LIVE, *KEPT), None, MAX_SANDBOXES)
        async with self._ground.store.read() as rows:
            there = await rows.sandboxes.page(query)
        ending = [sandbox for sandbox in there if sandbox.owner == caller.id and end_waits(sandbox)]
        self._forget()
        async with asyncio.TaskGroup() as tasks:
            looks = [tasks.create_task(self._work(caller, sandbox)) for sandbox in ending]
        return [
            item_of_end(sandbox, look.result()) for sandbox, look in zip(ending, looks, strict=True)
        ]

    async def answer(self, caller: Principal, item: InboxItem, option: str | None) -> None:
        """Extend the sandbox of an item, or let it end. Raises `Invalid` for another option."""
        sandbox_id = item.sandbox_id or ""
        if option == LET_END:
            await self._sandboxes.accept_end(caller, sandbox_id)
            return
        sandbox = await self._sandboxes.get(caller, sandbox_id)
        more = extension_of(sandbox)
        if option != EXTEND or not more:
            known = ", ".join(option.id for option in item.options)
            raise Invalid(f"{item.id} takes one of: {known}", field="option")
        await self._sandboxes.extend_ttl(caller, sandbox.id, more)

    async def _work(self, caller: Principal, sandbox: Sandbox) -> tuple[str, ...]:
        async with self._room:
            listing = self._found.get(sandbox.id)
            if listing is None:
                lines = await self._describe_missing_work(caller, sandbox)
                fresh = FRESH_FOR if sandbox.state in RUNNING else AT_REST_FOR
                listing = _Found(self._ground.clock.now() + fresh, lines)
                self._found[sandbox.id] = listing
            return listing.lines

    async def _describe_missing_work(self, caller: Principal, sandbox: Sandbox) -> tuple[str, ...]:
        """Return lines about work in a sandbox that is missing outside."""
        lines: list[str] = []
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                held = await self._pushes.of(caller, sandbox.id)
                lines += [_describe_push(worktree.pushed) for worktree in held if worktree.pushed]
                lines += [_summary(place) for place in await self._unpulled.of(caller, sandbox.id)]
        except AtollError as error:
            lines.append(f"the work in it cannot be listed: {error.message}")
        except TimeoutError:
            limit = spell_duration(int(LOOK_SECONDS))
            lines.append(f"the work in it cannot be listed: it did not answer within {limit}")
        return tuple(lines) or ("nothing in it is missing outside",)

    def _forget(self) -> None:
        now = self._ground.clock.now()
        for sandbox_id in [
            sandbox_id for sandbox_id, listing in self._found.items() if listing.until <= now
        ]:
            del self._found[sandbox_id]


def _describe_push(push: HeldPush) -> str:
    return f"pushed inside and held: {push.branch} at {push.commit[:12]}"


def _summary(place: UnpulledPlace) -> str:
    files = len(place.changed) + len(place.untracked) + place.more
    parts = []
    if place.commits:
        parts.append(f"{_count(place.commits, 'commit')} up to {(place.tip or '')[:12]}")
    if place.stashes:
        parts.append(_count(place.stashes, "stash", "stashes"))
    if files:
        parts.append(_count(files, "file"))
    subject = f": {place.subject}" if place.subject else ""
    return f"only in {place.path}: {', '.join(parts)}{subject}"


def _count(number: int, noun: str, several: str = "") -> str:
    return f"{number} {noun if number == 1 else several or noun + 's'}"
