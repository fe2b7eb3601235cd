"""Hooks: people make them, and other systems report to them by signed requests.

A report is believed by its signature alone. What it says is text of strangers, and whose event it
becomes is the hook's matter. A hook ends to count when its owner may not make hooks any more.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from atoll.domain.errors import Forbidden, Invalid, LimitReached, NotFound, Unauthenticated
from atoll.domain.event import Json
from atoll.domain.hooks.hook import KEY_BYTES, REMEMBERED, Hook, HookId, bound_to, stream_of
from atoll.domain.hooks.reports import Reported, read_report
from atoll.domain.hooks.signature import ReportMarks, delivery_of, is_signed
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.ports import Transaction, Vault
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.people.logins import Logins
from atoll.services.people.tokens import Owners, is_bound
from atoll.wire.words.events import ActorKind
from atoll.wire.words.hooks import MAX_HOOKS, HookSource

WRONG = "the signature is not that of this hook: is its secret the one that was shown?"


@dataclass(frozen=True, slots=True)
class MadeHook:
    """A new hook and its secret, which is shown this once."""

    hook: Hook
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ReportOutcome:
    """The outcome of a report: the kind of the event that it became, None where it tells of none
    of ours; `repeated` where it was taken before."""

    kind: str | None
    repeated: bool = False


class Hooks:
    """The hooks of the caller. A foreign one is `NotFound`, like one that is missing."""

    def __init__(self, ground: Ground, vault: Vault, owners: Owners, logins: Logins) -> None:
        self._ground = ground
        self._vault = vault
        self._owners = owners
        self._logins = logins

    async def create(self, caller: Principal, source: HookSource, name: str) -> MadeHook:
        """Return a new hook and its secret. Raises `Invalid`, `Forbidden`, `LimitReached`."""
        _check(caller)
        now, key = self._ground.clock.now(), self._ground.ids.signing_key()[:KEY_BYTES].hex()
        hook = Hook(
            HookId(self._ground.ids.new("hook")), caller.org_id, caller.id, source, name, now
        )
        async with self._ground.store.begin() as rows:
            if len(await rows.hooks.of(caller.org_id, caller.id)) >= MAX_HOOKS:
                raise LimitReached(f"you have {MAX_HOOKS} hooks already: remove one first")
            await rows.hooks.put(hook, self._vault.seal(key, bound_to(hook)))
            await self._note(rows, caller, hook, "hook.created")
        self._announce(hook)
        return MadeHook(hook, key)

    async def list(self, caller: Principal) -> list[Hook]:
        """Return the caller's hooks, oldest first."""
        async with self._ground.store.read() as rows:
            return await rows.hooks.of(caller.org_id, caller.id)

    async def remove(self, caller: Principal, hook_id: str) -> None:
        """Remove a hook. Raises `NotFound`."""
        _check(caller)
        async with self._ground.store.begin() as rows:
            hook = await self._find_own_hook(rows, caller, hook_id)
            await rows.hooks.remove(hook.id)
            await self._note(rows, caller, hook, "hook.removed")
        self._announce(hook)

    async def test(self, caller: Principal, hook_id: str) -> Hook:
        """Append the event `hook.tested`, as a report would append its own. Raises `NotFound`."""
        _check(caller)
        async with self._ground.store.begin() as rows:
            hook = await self._find_own_hook(rows, caller, hook_id)
            await self._note(rows, caller, hook, "hook.tested")
        self._announce(hook)
        return hook

    async def take(
        self, address: tuple[str, str], headers: Mapping[str, str], body: bytes, *, client: str
    ) -> ReportOutcome:
        """Take a report for the source and hook of an address. `client` is where it came from.
        Raises `Unauthenticated` for a wrong signature or hook, `LimitReached` after too many,
        `Invalid` for a signed body that cannot be read."""
        source, hook_id = address
        async with self._ground.store.read() as rows:
            row = await rows.hooks.get(HookId(hook_id))
        if row is None or row[0].source != source:
            raise self._logins.wrong(client, WRONG)
        hook, sealed = row
        key = self._vault.open(sealed, bound_to(hook))
        if not is_signed(hook.source, headers, body, key.encode()):
            raise self._logins.wrong(client, WRONG)
        owner = await self._owners(hook.org_id, hook.owner)
        if owner is None or not owner.may(Capability.WEBHOOK_MANAGE):
            raise Unauthenticated(WRONG)
        delivery = delivery_of(hook.source, headers, body)
        try:
            report = read_report(hook.source, delivery.event, body)
        except ValueError as error:
            raise Invalid(str(error)[:500], field="body") from error
        return await self._append(hook, delivery, report)

    async def _append(
        self, hook: Hook, delivery: ReportMarks, report: Reported | None
    ) -> ReportOutcome:
        now = self._ground.clock.now()
        async with self._ground.store.begin() as rows:
            await rows.hooks.forget(now)
            if not await rows.hooks.take(hook.id, delivery.marks, now + REMEMBERED):
                return ReportOutcome(None, repeated=True)
            if report is None:
                return ReportOutcome(None)
            payload: dict[str, Json] = {**report.payload, "hook_id": hook.id}
            reporter = Principal(hook.org_id, hook.owner, ActorKind.AUTOMATION)
            note = Note(stream_of(hook), report.kind, payload)
            event_id = self._ground.ids.event()
            await rows.events.append((draft_of(note, reporter, at=now, event_id=event_id),))
        self._announce(hook)
        return ReportOutcome(report.kind)

    async def _find_own_hook(self, rows: Transaction, caller: Principal, hook_id: str) -> Hook:
        """Return a hook of the caller's. Raises `NotFound`."""
        row = await rows.hooks.get(HookId(hook_id))
        if row is None or (row[0].org_id, row[0].owner) != (caller.org_id, caller.id):
            raise NotFound(f"there is no hook {hook_id[:80]!r}: list them to see which there are")
        return row[0]

    async def _note(self, rows: Transaction, caller: Principal, hook: Hook, kind: str) -> None:
        payload: dict[str, Json] = {
            "hook_id": hook.id,
            "source": hook.source.value,
            "name": hook.name,
        }
        note, now = Note(stream_of(hook), kind, payload), self._ground.clock.now()
        event = draft_of(note, caller, at=now, event_id=self._ground.ids.event())
        await rows.events.append((event,))

    def _announce(self, hook: Hook) -> None:
        self._ground.bus.announce((stream_of(hook),))


def _check(caller: Principal) -> None:
    if is_bound(caller):
        raise Forbidden("you may not make, test or remove hooks")
