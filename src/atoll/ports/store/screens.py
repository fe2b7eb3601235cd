"""Screens of sandboxes that sleep, as they are stored."""

from dataclasses import dataclass

from atoll.domain.ids import SandboxId
from atoll.ports.vault import Sealed


@dataclass(frozen=True, slots=True)
class SealedScreens:
    """Screens of the terminals of a sandbox as it fell asleep; only the vault opens them."""

    sandbox_id: SandboxId
    sealed: Sealed
