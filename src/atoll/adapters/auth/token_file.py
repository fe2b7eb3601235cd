"""The command line's bearer token: made once, kept in `$ATOLL_HOME/token`, mode 0600."""

import secrets
from pathlib import Path

from atoll.adapters.auth.private_file import read_private, write_private
from atoll.domain.errors import Failed
from atoll.domain.people.login import SECRET_BYTES, spell_secret

_MAX_BYTES = 512
_MIN_LENGTH = 32


def load_or_make_token(path: Path) -> str:
    """Return the token, made (256 bits) when the file is missing or empty.

    Raises `Failed` when the file is open to others, or holds something too short to be a token.
    """
    kept = read_private(path, _MAX_BYTES)
    token = (kept or b"").decode("ascii", "replace").strip()
    if not token:
        token = spell_secret(secrets.token_bytes(SECRET_BYTES))
        write_private(path, f"{token}\n".encode())
    if len(token) < _MIN_LENGTH or not token.isascii():
        raise Failed(f"{path.name} does not hold a token; remove it and a new one is made")
    return token
