"""Settings of the vault."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """Settings of the vault.

    `master_key_command`: a program and its arguments that print the master keys; None takes
    $ATOLL_MASTER_KEY, else `master.key` in the home, made at the first start.
    """

    master_key_command: tuple[str, ...] | None = None
