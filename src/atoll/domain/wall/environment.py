"""Environment variables people may set inside a sandbox."""

import re
from collections.abc import Iterable

from atoll.domain.errors import Invalid

MAX_VARIABLES = 200
MAX_BYTES = 65536

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")


def read_env(
    pairs: Iterable[tuple[str, str]], *, field: str = "env"
) -> tuple[tuple[str, str], ...]:
    """Return the pairs, sorted, when each can be a variable.

    Raises `Invalid` naming the first that cannot: a bad name, NUL in a value, too many, or more
    than 64 KiB together.
    """
    chosen = dict(pairs)
    if len(chosen) > MAX_VARIABLES:
        raise Invalid(f"At most {MAX_VARIABLES} environment variables can be set.", field=field)
    for name, value in chosen.items():
        if not _NAME.match(name):
            raise Invalid(
                f"{name[:80]!r} cannot name an environment variable: letters, digits and `_`, "
                "not beginning with a digit.",
                field=field,
            )
        if "\0" in value:
            raise Invalid(f"The value of {name} holds a NUL.", field=f"{field}.{name}")
    size = sum(len(n) + len(v.encode("utf-8", "surrogatepass")) for n, v in chosen.items())
    if size > MAX_BYTES:
        raise Invalid(f"The environment is larger than {MAX_BYTES} bytes.", field=field)
    return tuple(sorted(chosen.items()))
