"""Sources of master keys: a private file, the environment, or a command's output.

The text is the same everywhere: a key a line, 32 bytes in base64, the newest last. Blank lines and
those that begin with `#` are ignored. No message ever holds a line.
"""

import base64
import binascii
import secrets
import subprocess
from collections.abc import Sequence
from pathlib import Path

from atoll.adapters.auth.private_file import read_private, write_private
from atoll.adapters.vaults.envelope import KEY_BYTES, MasterKey
from atoll.domain.errors import Failed

MAX_BYTES = 64 * 1024
COMMAND_SECONDS = 30.0


def read_keys(text: str, source: str) -> tuple[MasterKey, ...]:
    """Return the keys of a text. Raises `Failed` naming `source` and the line's number."""
    keys: list[MasterKey] = []
    for number, line in enumerate(text.splitlines(), 1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        try:
            key = base64.b64decode(word, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise Failed(f"{source}: line {number} is no master key (32 bytes in base64)")
        keys.append(MasterKey(key))
    if not keys:
        raise Failed(f"{source} holds no master key (32 bytes in base64, one a line)")
    return tuple(keys)


def spell_keys(keys: Sequence[MasterKey]) -> str:
    """Return the text that `read_keys` reads."""
    return "".join(base64.b64encode(key.secret).decode() + "\n" for key in keys)


class KeyFile:
    """The key file `$ATOLL_HOME/master.key`, mode 0600, made at the first use."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> tuple[MasterKey, ...]:
        """Return the keys; one is made when there is no file. Raises `Failed`: the file is open to
        others, no plain file, or no list of keys."""
        keys = self.reload()
        if keys is None:
            keys = (MasterKey(secrets.token_bytes(KEY_BYTES)),)
            self.save(keys)
        return keys

    def reload(self) -> tuple[MasterKey, ...] | None:
        """Return the keys, None when there is no file. Raises `Failed` as `load` does."""
        content = read_private(self._path, MAX_BYTES)
        return (
            None
            if content is None
            else read_keys(content.decode("ascii", "replace"), self._path.name)
        )

    def save(self, keys: Sequence[MasterKey]) -> None:
        """Replace the file, whole and durably. Raises `Failed`."""
        write_private(self._path, spell_keys(keys).encode())


def from_command(argv: Sequence[str]) -> tuple[MasterKey, ...]:
    """Return the keys that a program prints.

    Raises `Failed` when it cannot be run, fails or is slow; its standard error goes to this
    process's.
    """
    try:
        done = subprocess.run(
            list(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=COMMAND_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = error.strerror if isinstance(error, OSError) else f"over {COMMAND_SECONDS:g} s"
        raise Failed(f"master_key_command {argv[0]} did not run to its end: {reason}") from None
    if done.returncode != 0:
        raise Failed(f"master_key_command {argv[0]} failed with status {done.returncode}")
    text = done.stdout[:MAX_BYTES].decode("ascii", "replace")
    return read_keys(text, f"the output of {argv[0]}")
