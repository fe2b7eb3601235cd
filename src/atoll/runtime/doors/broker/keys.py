"""The broker's keys: a TOML text passed as a descriptor, read once and kept in memory.

The text is `$ATOLL_HOME/keys.toml` (0600): a table per provider with `key` and, for a private
gateway, `base_url`.
"""

import os
import tomllib
from collections.abc import Mapping

from atoll.domain.broker.provider import PROVIDERS, Upstream, safe_base_url
from atoll.domain.errors import Invalid

MAX_KEYS_BYTES = 64 * 1024


def read_keys(descriptor: int) -> dict[str, Upstream]:
    """Return upstreams by provider name. Closes `descriptor`. Raises `Invalid`, which names the
    wrong table and never its value."""
    try:
        size = os.fstat(descriptor).st_size
        if size > MAX_KEYS_BYTES:
            raise Invalid(f"the broker's keys are over {MAX_KEYS_BYTES} bytes")
        text = os.pread(descriptor, size, 0).decode()
    except UnicodeDecodeError as err:
        raise Invalid("the broker's keys are not UTF-8 text") from err
    finally:
        os.close(descriptor)
    return parse_keys(text)


def parse_keys(text: str) -> dict[str, Upstream]:
    """Return upstreams by provider name from the TOML text."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        # Its message may quote the line, and the line may hold a key.
        raise Invalid("the broker's keys are not valid TOML") from None
    return {name: _upstream(name, table) for name, table in tables.items()}


def _upstream(name: str, table: object) -> Upstream:
    provider = PROVIDERS.get(name)
    if provider is None:
        raise Invalid(f"keys: no provider is called {name!r}; known: {', '.join(PROVIDERS)}")
    if not isinstance(table, Mapping):
        raise Invalid(f"keys: [{name}] must be a table with `key`")
    key = table.get("key")
    if not isinstance(key, str) or not key or not key.isascii() or not key.isprintable():
        raise Invalid(f"keys: [{name}] needs `key`, printable ASCII")
    base_url = table.get("base_url", provider.upstream)
    if not isinstance(base_url, str) or not safe_base_url(base_url):
        raise Invalid(f"keys: [{name}] base_url must be https://…, or http:// to loopback")
    return Upstream(provider, base_url, key)
