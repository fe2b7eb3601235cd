"""SSH keys: people add those by which they log in to their sandboxes."""

from dataclasses import dataclass, replace
from datetime import timedelta

from atoll.domain.errors import Conflict, Forbidden, LimitReached, NotFound
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.ssh.key import SshKey, SshKeyId, read_public_key
from atoll.ports import Transaction
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.people.tokens import Owners, is_bound
from atoll.wire.words.people import MAX_SSH_KEYS

STREAM = "auth"

USE_NOTED_EVERY = timedelta(minutes=1)
"""The least time between two noted uses of a key."""


@dataclass(frozen=True, slots=True)
class KeyHolder:
    """A key, and the person whose it is, as they are now."""

    key: SshKey
    person: Principal


class SshKeys:
    """The SSH keys of the caller. A foreign one is `NotFound`, like one that is missing. `owners`
    returns a person as they are now."""

    def __init__(self, ground: Ground, owners: Owners) -> None:
        self._ground = ground
        self._owners = owners

    async def add(self, caller: Principal, line: str, name: str = "") -> SshKey:
        """Add the key of a line as OpenSSH writes it; without a name it has that of its comment.
        Raises `Invalid`, `Forbidden`, `Conflict` for one that the caller has already, and
        `LimitReached`."""
        _check(caller)
        await self._check_whole(caller)
        public = read_public_key(line)
        key = SshKey(
            id=SshKeyId(self._ground.ids.new("key")),
            org_id=caller.org_id,
            owner=caller.id,
            name=name.strip() or public.comment or public.kind,
            key=replace(public, comment=""),
            fingerprint=public.fingerprint,
            added_at=self._ground.clock.now(),
        )
        async with self._ground.store.begin() as rows:
            own = await rows.ssh_keys.of(caller.org_id, caller.id)
            known = next((each for each in own if each.fingerprint == key.fingerprint), None)
            if known is not None:
                raise Conflict(f"You have this key already: it is {known.name}.", field="key")
            if len(own) >= MAX_SSH_KEYS:
                raise LimitReached(f"You have {MAX_SSH_KEYS} SSH keys already: remove one first.")
            await rows.ssh_keys.put(key)
            await self._note(rows, caller, key, "ssh.key_added")
        self._ground.bus.announce((STREAM,))
        return key

    async def remove(self, caller: Principal, key_id: str) -> None:
        """Remove a key. Raises `NotFound`."""
        _check(caller)
        async with self._ground.store.begin() as rows:
            key = await rows.ssh_keys.get(SshKeyId(key_id))
            if key is None or (key.org_id, key.owner) != (caller.org_id, caller.id):
                raise NotFound(f"You have no SSH key {key_id[:80]!r}: list them to see which.")
            await rows.ssh_keys.remove(key.id)
            await self._note(rows, caller, key, "ssh.key_removed")
        self._ground.bus.announce((STREAM,))

    async def of_key(self, fingerprint: str) -> list[KeyHolder]:
        """Return everybody who holds the key with this fingerprint, in all organizations. Whether
        one of them may enter a sandbox is not said."""
        async with self._ground.store.read() as rows:
            keys = await rows.ssh_keys.with_fingerprint(fingerprint)
        holders = [await self._holder(key) for key in keys]
        return [holder for holder in holders if holder is not None]

    async def holder(self, key_id: str) -> KeyHolder | None:
        """Return the key with this id and its owner; None once it was removed or the owner left.
        The store is asked each time, so what another replica removed is seen."""
        async with self._ground.store.read() as rows:
            key = await rows.ssh_keys.get(SshKeyId(key_id))
        return None if key is None else await self._holder(key)

    async def note_use(self, key: SshKey) -> None:
        """Note that somebody logged in by a key, at most once a minute. One that was removed in the
        meantime stays removed."""
        now = self._ground.clock.now()
        if key.used_at is None or now - key.used_at >= USE_NOTED_EVERY:
            async with self._ground.store.begin() as rows:
                await rows.ssh_keys.change(replace(key, used_at=now))

    async def list(self, caller: Principal) -> list[SshKey]:
        """Return the caller's keys, oldest first."""
        _check(caller)
        async with self._ground.store.read() as rows:
            own = await rows.ssh_keys.of(caller.org_id, caller.id)
        return sorted(own, key=lambda key: (key.added_at, key.id))

    async def _holder(self, key: SshKey) -> KeyHolder | None:
        person = await self._owners(key.org_id, key.owner)
        return None if person is None else KeyHolder(key, person)

    async def _check_whole(self, caller: Principal) -> None:
        """Raise `Forbidden` for a token that may do less than its owner, since a key gives all."""
        if caller.token is None:
            return
        owner = await self._owners(caller.org_id, caller.id)
        if owner is None or not owner.capabilities <= caller.capabilities:
            raise Forbidden("this token may do less than an SSH key gives: add the key as yourself")

    async def _note(self, rows: Transaction, caller: Principal, key: SshKey, kind: str) -> None:
        note = Note(
            STREAM, kind, {"key_id": key.id, "name": key.name, "fingerprint": key.fingerprint}
        )
        at, event_id = self._ground.clock.now(), self._ground.ids.event()
        await rows.events.append((draft_of(note, caller, at=at, event_id=event_id),))


def _check(caller: Principal) -> None:
    """A key lets in for as long as it is there, so only who may make tokens has one."""
    if is_bound(caller) or not caller.may(Capability.TOKEN_MANAGE):
        raise Forbidden("you may not add, see or remove SSH keys")
