"""Checks of the rows of hooks."""

from datetime import timedelta

from atoll.domain.hooks.hook import Hook, HookId
from atoll.domain.ids import PERSONAL_ORG, PrincipalId
from atoll.ports import Store
from atoll.ports.vault import Sealed
from atoll.testing.samples import NOW, OWNER
from atoll.wire.words.hooks import HookSource

SEALED = Sealed("k", b"wrapped", b"sealed")


def hook(name: str) -> Hook:
    """Return a hook of Gitea."""
    return Hook(HookId(name), PERSONAL_ORG, OWNER, HookSource.GITEA, name, NOW)


async def check_hook_is_kept_with_its_secret_and_removed(store: Store) -> None:
    """A hook, whose it is, and its end."""
    async with store.begin() as rows:
        await rows.hooks.put(hook("one"), SEALED)
        await rows.hooks.put(hook("two"), SEALED)
    async with store.read() as rows:
        assert await rows.hooks.of(PERSONAL_ORG, OWNER) == [hook("one"), hook("two")]
        assert await rows.hooks.of(PERSONAL_ORG, PrincipalId("other")) == []
        assert await rows.hooks.get(HookId("one")) == (hook("one"), SEALED)
        assert await rows.hooks.all() == [(hook("one"), SEALED), (hook("two"), SEALED)]
    again = Sealed("k2", b"w", b"s")
    async with store.begin() as rows:
        await rows.hooks.put(hook("two"), again)
        assert await rows.hooks.get(HookId("two")) == (hook("two"), again)
        await rows.hooks.remove(HookId("one"))
        assert await rows.hooks.get(HookId("one")) is None
        assert await rows.hooks.of(PERSONAL_ORG, OWNER) == [hook("two")]


async def check_report_is_taken_once_by_either_mark(store: Store) -> None:
    """A report is known again by any of its marks, by its own hook, for a time."""
    one, until = HookId("one"), NOW + timedelta(days=1)
    async with store.begin() as rows:
        assert await rows.hooks.take(one, ("body:a", "id:1"), until)
        assert not await rows.hooks.take(one, ("body:a", "id:2"), until)
        assert not await rows.hooks.take(one, ("body:b", "id:1"), until)
        assert await rows.hooks.take(one, ("body:c", "body:c"), until)
        assert await rows.hooks.take(HookId("two"), ("body:a", "id:1"), until)
        await rows.hooks.forget(NOW)
        assert not await rows.hooks.take(one, ("body:c", "id:9"), until)
        await rows.hooks.forget(until)
        assert await rows.hooks.take(one, ("body:a", "id:1"), until)
