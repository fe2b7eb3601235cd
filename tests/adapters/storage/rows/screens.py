"""Checks of the rows of screens."""

from atoll.ports import Store
from atoll.ports.store.screens import SealedScreens
from atoll.ports.vault import Sealed
from atoll.testing.samples import sandbox


async def check_screens_are_kept_as_they_were_sealed(store: Store) -> None:
    """Screens are stored, replaced and removed, a megabyte of any bytes, too."""
    one = sandbox("one")
    short = SealedScreens(one.id, Sealed("k1", b"\0key", b"\xff"))
    long = SealedScreens(one.id, Sealed("k1", b"\0key", bytes(range(256)) * 4096))
    async with store.begin() as rows:
        assert await rows.screens.get(one.id) is None
        await rows.screens.put(short)
        await rows.screens.put(long)
    async with store.begin() as rows:
        assert await rows.screens.get(one.id) == long
        await rows.screens.remove(one.id)
        await rows.screens.remove(one.id)
        assert await rows.screens.get(one.id) is None
