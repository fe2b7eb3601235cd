"""The file that names a control plane and the token for it, as `NAME=value` lines.

Where one is given, it alone counts: neither address nor token of the environment is mixed with it,
so no token reaches a server that it was not written beside.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from atoll.domain.errors import Forbidden, Invalid, NotFound

NAMES: Final = ("ATOLL_URL", "ATOLL_TOKEN", "ATOLL_INSECURE_HTTP")
"""The variables that are read; others belong to other programs."""

MAX_BYTES: Final = 64 * 1024

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTES = ("'", '"')


def with_env_file(environ: Mapping[str, str], path: Path) -> dict[str, str]:
    """Return an environment with the control plane of a file in place of its own. Raises
    `NotFound`, `Invalid`, and `Forbidden` for a token that others can read."""
    variables = {name: value for name, value in _read(path).items() if name in NAMES and value}
    if not variables.keys() & {"ATOLL_URL", "ATOLL_TOKEN"}:
        raise Invalid(f"{path} names neither ATOLL_URL nor ATOLL_TOKEN", field="env-file")
    return {**{name: value for name, value in environ.items() if name not in NAMES}, **variables}


def _read(path: Path) -> dict[str, str]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            about = os.fstat(file.fileno())
            data = file.read(MAX_BYTES + 1) if stat.S_ISREG(about.st_mode) else b""
        text = data.decode()
    except FileNotFoundError:
        raise NotFound(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise Invalid(f"{path} cannot be read: {error}", field="env-file") from error
    if not stat.S_ISREG(about.st_mode) or len(data) > MAX_BYTES:
        raise Invalid(f"{path} is no plain file of at most 64 KiB", field="env-file")
    lines = enumerate(text.splitlines(), 1)
    variables = dict(_parse_line(path, n, line) for n, line in lines if _is_assignment(line))
    if variables.get("ATOLL_TOKEN") and stat.S_IMODE(about.st_mode) & 0o077:
        raise Forbidden(f"the token in {path} can be read by others: chmod 600 it")
    return variables


def _is_assignment(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _parse_line(path: Path, number: int, line: str) -> tuple[str, str]:
    match = _LINE.fullmatch(line.strip())
    if match is None:
        # Not shown: it may be a secret.
        raise Invalid(f"line {number} of {path} is not NAME=value", field="env-file")
    name, value = match.groups()
    if len(value) > 1 and value[0] in _QUOTES and value[-1] == value[0]:
        value = value[1:-1]
    return name, value
