"""Settings of provisioning."""

from dataclasses import dataclass

from atoll.wire.words.walls import IsolationLevel


@dataclass(frozen=True, slots=True)
class ProvisioningSettings:
    """Settings of provisioning.

    `require_isolation`: no sandbox runs behind a wall that is below this level or weak.
    """

    require_isolation: IsolationLevel | None = None
