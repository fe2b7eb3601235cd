"""Choice of a control plane's vault and the source of its master keys."""

from collections.abc import Mapping

import structlog

from atoll.adapters.vaults.envelope import EnvelopeVault
from atoll.adapters.vaults.master_keys import KeyFile, from_command, read_keys
from atoll.wiring.control.settings import ControlSettings
from atoll.zygote.host.kernel import lock_in_memory

_log = structlog.get_logger(__name__)

VARIABLE = "ATOLL_MASTER_KEY"


def open_vault(settings: ControlSettings, environ: Mapping[str, str]) -> EnvelopeVault:
    """Return the vault: keys of the command, else of the environment, else of the home's own file.
    Blocking. Raises `Failed` with what is wrong with the keys."""
    if settings.vault.master_key_command:
        argv = settings.vault.master_key_command
        return EnvelopeVault(lambda: from_command(argv), hold=lock_key)
    text = environ.get(VARIABLE, "")
    if text:
        return EnvelopeVault(lambda: read_keys(text.replace(";", "\n"), VARIABLE), hold=lock_key)
    file = KeyFile(settings.home / "master.key")
    return EnvelopeVault(file.load, file.save, reload=file.reload, hold=lock_key)


def lock_key(value: bytes | str) -> None:
    """Keep a key out of swap and cores for the life of this process, and log where that fails."""
    if not lock_in_memory(value):
        _log.warning("a key could not be locked in memory: RLIMIT_MEMLOCK may be 0")
