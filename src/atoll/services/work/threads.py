"""Review threads: what people say about lines of a sandbox's change.

The log tells that somebody said something, and not what. Where a thread's lines are by now is read
from the sandbox's own diff.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from atoll.domain.errors import AtollError, Conflict, LimitReached
from atoll.domain.event import Json
from atoll.domain.ids import TerminalId
from atoll.domain.people.principal import Principal
from atoll.domain.sandboxes.sandbox import Sandbox, check_not_gone
from atoll.domain.work.anchor import Anchor
from atoll.domain.work.thread import (
    Remark,
    RemarkId,
    Resolution,
    ReviewThread,
    ThreadId,
    ThreadSending,
    author_of,
    check_may_comment,
    check_room_for_thread,
    is_unsent,
    mark_as_sent,
    read_remark,
    reopen,
    reply,
    resolve,
    reword,
    unknown_thread,
    withdraw,
)
from atoll.domain.work.thread_places import place_threads
from atoll.domain.work.thread_prompt import spell_threads
from atoll.ports import Transaction
from atoll.services.agents.agents import Agents
from atoll.services.ground import Ground
from atoll.services.library.changes import Comparison, DiffStyle, WorkingTrees, tree_of
from atoll.services.lifecycle.directory import SandboxLookup
from atoll.services.work.states import WorkLog
from atoll.wire.contract.agents import AskBody
from atoll.wire.words.agents import MAX_PROMPT

WHOLE_FILE: Final = DiffStyle(context=100_000)
"""The form of a diff that shows every line of a file, as far as lines are shown."""

Change = Callable[[ReviewThread], ReviewThread]
"""An act on a thread."""


class ReviewThreads:
    """Use cases on review threads. What the caller may not see is `NotFound`; whoever may not write
    there is `Forbidden`, and a sandbox that is gone takes no more, which is `Conflict`."""

    def __init__(
        self,
        ground: Ground,
        lookup: SandboxLookup,
        *,
        changes: WorkingTrees,
        agents: Agents,
        log: WorkLog,
    ) -> None:
        self._ground = ground
        self._lookup = lookup
        self._changes = changes
        self._agents = agents
        self._log = log

    async def list(self, caller: Principal, ref: str) -> Sequence[ReviewThread]:
        """Return the threads of a sandbox, oldest first."""
        async with self._ground.store.read() as rows:
            sandbox = await self._lookup.find(rows, caller, ref)
            return await rows.review_threads.of_sandbox(sandbox.id)

    async def places(
        self, caller: Principal, ref: str, wanted: Comparison
    ) -> Sequence[tuple[ThreadId, int | None]]:
        """Return where the threads of the compared files are now: the number of the first line on
        their side, 0 for a whole file, None where the lines are gone. Raises the errors of reading
        a diff."""
        threads = [
            thread
            for thread in await self.list(caller, ref)
            if thread.anchor.repo == wanted.repo and thread.anchor.path in wanted.paths
        ]
        if not threads:
            return ()
        diff = await self._changes.diff(caller, ref, wanted, WHOLE_FILE)
        # Megabytes that an agent may have written: the loop serves others meanwhile.
        return await asyncio.to_thread(
            lambda: [place for file in diff.files for place in place_threads(file, threads)]
        )

    async def open(self, caller: Principal, ref: str, anchor: Anchor, text: str) -> ReviewThread:
        """Open a thread with its first remark. Raises `Invalid`, `LimitReached`."""
        check_may_comment(caller)
        remark = self._remark(caller, text)
        async with self._ground.store.begin() as rows:
            sandbox = await self._writable(rows, caller, ref)
            tree_of(sandbox, anchor.repo)
            check_room_for_thread(await rows.review_threads.count(sandbox.id))
            thread = ReviewThread(
                id=ThreadId(self._ground.ids.new("thr")),
                sandbox_id=sandbox.id,
                org_id=sandbox.org_id,
                anchor=anchor,
                opened_at=remark.at,
                remarks=(remark,),
            )
            await rows.review_threads.put(thread)
            await self._report(rows, caller, sandbox, "thread.opened", thread)
        self._log.announce(sandbox)
        return thread

    async def reply(self, caller: Principal, ref: str, thread_id: str, text: str) -> ReviewThread:
        """Add a remark to a thread. Raises `Invalid`, `LimitReached`."""
        remark = self._remark(caller, text)
        return await self._keep(
            *(caller, ref, thread_id, "thread.replied"), lambda thread: reply(thread, remark)
        )

    async def reword(
        self, caller: Principal, ref: str, thread_id: str, remark_id: str, text: str
    ) -> ReviewThread:
        """Change a remark of the caller's. Raises `Invalid`, `LimitReached`."""
        now = self._ground.clock.now()
        return await self._keep(
            *(caller, ref, thread_id, "thread.changed"),
            lambda thread: reword(caller, thread, remark_id, text, now),
        )

    async def withdraw(self, caller: Principal, ref: str, thread_id: str, remark_id: str) -> None:
        """Delete a remark of the caller's, or any as who manages the sandbox. With its last remark
        a thread is gone."""
        check_may_comment(caller)
        async with self._ground.store.begin() as rows:
            sandbox = await self._writable(rows, caller, ref)
            before = await _get(rows, sandbox, thread_id)
            after = withdraw(caller, sandbox, before, remark_id)
            if after is None:
                await rows.review_threads.remove(sandbox.id, before.id)
            else:
                await rows.review_threads.put(after)
            kind = "thread.removed" if after is None else "thread.changed"
            await self._report(rows, caller, sandbox, kind, before)
        self._log.announce(sandbox)

    async def resolve(
        self, caller: Principal, ref: str, thread_id: str, *, resolved: bool
    ) -> ReviewThread:
        """Settle a thread, or open it again."""
        if not resolved:
            return await self._keep(caller, ref, thread_id, "thread.reopened", reopen)
        resolution = Resolution(author_of(caller), self._ground.clock.now())
        return await self._keep(
            *(caller, ref, thread_id, "thread.resolved"), lambda thread: resolve(thread, resolution)
        )

    async def send(
        self, caller: Principal, ref: str, agent_id: str, thread_ids: Sequence[str]
    ) -> Sequence[ReviewThread]:
        """Send threads to an agent as one prompt, and return them marked as sent. Those that it has
        as they are, and settled ones, are left out: `Conflict` with code `nothing_to_send` where
        none is left. Raises `LimitReached` for a prompt that is too long, and the errors of a
        prompt, after which nothing is marked."""
        check_may_comment(caller)
        agent = await self._agents.get(caller, ref, agent_id)
        now = self._ground.clock.now()
        sending = ThreadSending(author_of(caller), TerminalId(agent_id), agent.agent, now)
        # They are marked before they are sent, so that two people send none twice.
        sandbox, before, prompt = await self._claim(caller, ref, thread_ids, sending)
        try:
            await self._agents.ask(caller, ref, agent_id, body=AskBody(prompt))
        except AtollError:
            await self._release(before, sending)
            raise
        payload: dict[str, Json] = {"agent": sending.agent, "terminal_id": sending.terminal}
        async with self._ground.store.begin() as rows:
            for thread in before:
                await self._report(rows, caller, sandbox, "thread.sent", thread, payload=payload)
        self._log.announce(sandbox)
        return [mark_as_sent(thread, sending) for thread in before]

    async def _claim(
        self, caller: Principal, ref: str, thread_ids: Sequence[str], sending: ThreadSending
    ) -> tuple[Sandbox, Sequence[ReviewThread], str]:
        """Mark threads as sent, and return them as they were before, and the prompt."""
        async with self._ground.store.begin() as rows:
            sandbox = await self._writable(rows, caller, ref)
            named = [
                await _get(rows, sandbox, thread_id) for thread_id in dict.fromkeys(thread_ids)
            ]
            unsent = [thread for thread in named if is_unsent(thread)]
            if not unsent:
                raise Conflict(
                    "These threads are settled, or an agent has them as they are.",
                    code="nothing_to_send",
                )
            for thread in unsent:
                await rows.review_threads.put(mark_as_sent(thread, sending))
        prompt = spell_threads(unsent, [repo.path for repo in sandbox.repos])
        if len(prompt) > MAX_PROMPT:
            await self._release(unsent, sending)
            raise LimitReached(f"a prompt has at most {MAX_PROMPT} characters: send fewer threads")
        return sandbox, unsent, prompt

    async def _release(self, threads: Sequence[ReviewThread], sending: ThreadSending) -> None:
        """Take the mark back from threads that were not sent."""
        async with self._ground.store.begin() as rows:
            for before in threads:
                now = await rows.review_threads.get(before.sandbox_id, before.id)
                if now is not None and now.sent == sending:
                    await rows.review_threads.put(replace(now, sent=before.sent))

    async def _keep(
        self, caller: Principal, ref: str, thread_id: str, kind: str, change: Change
    ) -> ReviewThread:
        """Store a thread as an act leaves it, and the event where that is another state."""
        check_may_comment(caller)
        async with self._ground.store.begin() as rows:
            sandbox = await self._writable(rows, caller, ref)
            before = await _get(rows, sandbox, thread_id)
            after = change(before)
            if after == before:
                return after
            await rows.review_threads.put(after)
            await self._report(rows, caller, sandbox, kind, after)
        self._log.announce(sandbox)
        return after

    async def _writable(self, rows: Transaction, caller: Principal, ref: str) -> Sandbox:
        """Return a sandbox that is not gone."""
        sandbox = await self._lookup.find(rows, caller, ref)
        check_not_gone(sandbox, "reviewed")
        return sandbox

    def _remark(self, caller: Principal, text: str) -> Remark:
        remark_id = RemarkId(self._ground.ids.new("rmk"))
        return Remark(remark_id, author_of(caller), read_remark(text), self._ground.clock.now())

    async def _report(
        self,
        rows: Transaction,
        caller: Principal,
        sandbox: Sandbox,
        kind: str,
        thread: ReviewThread,
        *,
        payload: Mapping[str, Json] | None = None,
    ) -> None:
        named = {"thread_id": thread.id, **(payload or {})}
        await self._log.append_within(rows, caller, sandbox, kind, named)


async def _get(rows: Transaction, sandbox: Sandbox, thread_id: str) -> ReviewThread:
    """Return a thread of a sandbox. Raises `NotFound`."""
    thread = await rows.review_threads.get(sandbox.id, ThreadId(thread_id))
    if thread is None:
        raise unknown_thread(thread_id)
    return thread
