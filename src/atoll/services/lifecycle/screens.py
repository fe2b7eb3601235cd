"""Screens of the terminals of sleeping sandboxes, sealed in the store.

They are taken just before the runtime ends, and given to the next one. Nothing of a terminal's
output lies on disk otherwise: it is there only while the sandbox sleeps, and only the vault opens
it.
"""

import asyncio
import base64
import zlib
from functools import partial
from typing import Final

import msgspec
import structlog

from atoll.domain.errors import Failed, NotFound
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports import RuntimeClient, Vault
from atoll.ports.store.screens import SealedScreens
from atoll.services.ground import Ground
from atoll.wire.contract.screens import MAX_SCREENS_BYTES, KeptScreen, KeptScreens, take_screens
from atoll.wire.contract.terminals import MAX_LISTED

_MOST_BYTES: Final = 2 * MAX_SCREENS_BYTES
"""Bound on the screens as they are spelled: in base64 they take four thirds of their output."""

_decoder = msgspec.json.Decoder(KeptScreens)

_log = structlog.get_logger(__name__)


class Screens:
    """Screens of sandboxes that sleep."""

    def __init__(self, ground: Ground, vault: Vault) -> None:
        self._store = ground.store
        self._vault = vault

    async def keep(self, sandbox: Sandbox, client: RuntimeClient) -> None:
        """Keep what the terminals of a sandbox show now, if it sleeps; of a wake that failed stays
        what there was. Raises what the runtime and the store raise."""
        if not sandbox.asleep:
            return
        try:
            taken = await client.call(take_screens())
        except NotFound:  # a runtime of an earlier version
            return
        packed = await asyncio.to_thread(_pack, taken) if taken.screens else None
        if packed is None:
            return
        seal = partial(self._vault.seal, packed, _binding(sandbox))
        sealed = SealedScreens(sandbox.id, await asyncio.to_thread(seal))
        async with self._store.begin() as rows:
            now = await rows.sandboxes.get(sandbox.id)
            if now is not None and now.asleep_since is not None:
                await rows.screens.put(sealed)

    async def of(self, sandbox: Sandbox) -> tuple[KeptScreen, ...]:
        """Return the screens of a sandbox that slept, oldest terminal first. None where they do not
        open: their key was retired, or their bytes are not what was stored."""
        if sandbox.asleep_since is None:
            return ()
        async with self._store.read() as rows:
            stored = await rows.screens.get(sandbox.id)
        if stored is None:
            return ()
        unseal = partial(self._vault.open, stored.sealed, _binding(sandbox))
        try:
            return await asyncio.to_thread(lambda: _unpack(unseal()))
        except (Failed, ValueError, zlib.error, msgspec.MsgspecError) as error:
            _log.warning("screens_not_opened", sandbox=sandbox.id, reason=str(error))
            return ()


def _pack(taken: KeptScreens) -> str | None:
    """Return screens as one text; None for more than is kept, which the runtime alone bounds."""
    spelled = msgspec.json.encode(taken)
    if len(spelled) > _MOST_BYTES or len(taken.screens) > MAX_LISTED:
        return None
    return base64.b64encode(zlib.compress(spelled, 1)).decode()


def _unpack(packed: str) -> tuple[KeptScreen, ...]:
    unpacked = zlib.decompressobj().decompress(base64.b64decode(packed), _MOST_BYTES)
    return _decoder.decode(unpacked).screens


def _binding(sandbox: Sandbox) -> tuple[str, str]:
    return ("screens", sandbox.id)
