"""Screens of sandboxes that sleep, as they are stored."""

from dataclasses import dataclass

from atoll.domain.ids import SandboxId
from atoll.ports.vault import Sealed


@dataclass(frozen=True, slots=True)
class SealedScreens:
    """What the terminals of a sandbox showed when it fell asleep; only the vault opens it."""

    sandbox_id: SandboxId
    sealed: Sealed
