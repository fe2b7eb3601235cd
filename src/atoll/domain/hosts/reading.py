"""Facts of a host as people give them, read strictly: name, address, key, labels, room, price."""

import base64
import binascii
import hashlib
import re
from dataclasses import dataclass
from decimal import Decimal

from atoll.domain.errors import Invalid
from atoll.domain.hosts.host import LOCAL, Capacity, HourlyCost
from atoll.wire.words.hosts import MAX_CORES, MAX_COUNT, MAX_LABELS, MAX_MEMORY_MB, MAX_OVERCOMMIT

KEY_TYPES = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ssh-rsa")
"""The types of host keys that are pinned, the preferred one first."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_HOST = re.compile(r"[A-Za-z0-9:](?:[A-Za-z0-9.:-]{0,252})")
_ADDRESS = re.compile(r"ssh://(?:([^@/]+)@)?(\[[0-9a-fA-F:]+\]|[^:/@\[\]]+)(?::([0-9]{1,5}))?/?")
_KEY = re.compile(r"([a-z0-9@.-]{3,64}) ([A-Za-z0-9+/]{16,4096}={0,2})")
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_WORD = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,126}[A-Za-z0-9])?")
_PRICE = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_CURRENCY = re.compile(r"[A-Z]{3}")
_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class SshAddress:
    """A place that SSH reaches: a user on a machine."""

    user: str
    machine: str
    port: int = 22


def read_address(text: str) -> SshAddress:
    """Return the place of `ssh://user@host[:port]`. Raises `Invalid`."""
    found = _ADDRESS.fullmatch(text)
    user, machine, port = found.groups() if found else ("", "", None)
    machine, number = (machine or "").strip("[]"), int(port or 22)
    named = _USER.fullmatch(user or "") and _HOST.fullmatch(machine)
    if not named or not 0 < number < 65536:
        raise Invalid(
            f"{text[:200]!r} is not `ssh://user@host` or `ssh://user@host:port`", field="address"
        )
    return SshAddress(user, machine, number)


def read_host_name(text: str) -> str:
    """Return a host's name. Raises `Invalid`."""
    if not _NAME.fullmatch(text):
        raise Invalid(
            f"{text[:80]!r} cannot name a host: lower-case letters, digits and `-`", field="name"
        )
    return text


def default_host_name(address: SshAddress) -> str:
    """Return the name of a host that was given none: the first label of its machine's name, or all
    of an address of numbers. Raises `Invalid` where that is no name, or `local`."""
    whole = address.machine.lower()
    plain = re.fullmatch(r"[0-9.:a-f]*[.:][0-9.:a-f]*", whole)
    name = re.sub(r"[.:]+", "-", whole).strip("-") if plain else whole.partition(".")[0]
    if name in (LOCAL, "localhost") or not _NAME.fullmatch(name):
        raise Invalid(f"the host at {address.machine} needs a name: give it one", field="name")
    return name


def read_host_key(text: str) -> str:
    """Return the type and the key of a line as known_hosts or a `.pub` file has it. Raises
    `Invalid`."""
    words = text.split()
    for number, word in enumerate(words[:-1]):
        key = f"{word} {words[number + 1]}"
        if word in KEY_TYPES and _KEY.fullmatch(key):
            fingerprint(key)
            return key
    raise Invalid(
        f"a host key is a type and a key, as `ssh-keyscan` prints them: {', '.join(KEY_TYPES)}",
        field="host_key",
    )


def best_key(keys: tuple[str, ...]) -> str | None:
    """Return the key to pin of those that a machine shows; None when it shows none."""
    known = [key for key in keys if key.partition(" ")[0] in KEY_TYPES]
    return min(known, key=lambda key: KEY_TYPES.index(key.partition(" ")[0]), default=None)


def fingerprint(host_key: str) -> str:
    """Return `SHA256:…` of a public key, as `ssh-keygen -l` prints it. Raises `Invalid`."""
    try:
        blob = base64.b64decode(host_key.partition(" ")[2], validate=True)
    except binascii.Error as err:
        raise Invalid("the host key is damaged", field="host_key") from err
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")


def read_fingerprint(text: str) -> str:
    """Return a fingerprint. Raises `Invalid`."""
    if not _FINGERPRINT.fullmatch(text):
        raise Invalid(
            "a fingerprint is `SHA256:` and 43 characters, as `ssh-keygen -l` prints it",
            field="fingerprint",
        )
    return text


def read_word(text: str, *, field: str) -> str:
    """Return a plain word, such as a region. Raises `Invalid`."""
    if not _WORD.fullmatch(text):
        raise Invalid(f"{text[:80]!r} is no plain word", field=field)
    return text


def read_labels(labels: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """Return labels by name. Raises `Invalid`."""
    if len(labels) > MAX_LABELS:
        raise Invalid(f"a host has at most {MAX_LABELS} labels", field="labels")
    for text in (*labels, *labels.values()):
        read_word(text, field="labels")
    return tuple(sorted(labels.items()))


def read_capacity(capacity: Capacity) -> Capacity:
    """Return a capacity within bounds. Raises `Invalid`."""
    limits = (
        ("sandboxes", capacity.sandboxes, MAX_COUNT),
        ("cpu", capacity.cpu, MAX_CORES),
        ("memory_mb", capacity.memory_mb, MAX_MEMORY_MB),
    )
    for name, value, most in limits:
        if value is not None and not 0 <= value <= most:
            raise Invalid(f"{name} is from 0 to {most}", field=f"capacity.{name}")
    return capacity


def read_overcommit(value: float) -> float:
    """Return a factor from 1 to 100. Raises `Invalid`."""
    if not 1.0 <= value <= MAX_OVERCOMMIT:
        raise Invalid(f"overcommit is from 1 to {MAX_OVERCOMMIT:g}", field="overcommit")
    return float(value)


def read_cost(text: str) -> HourlyCost:
    """Return the price of an hour: `0.12`, or `0.12 EUR`. Raises `Invalid`."""
    amount, _, currency = text.partition(" ")
    if not _PRICE.fullmatch(amount) or not _CURRENCY.fullmatch(currency or "USD"):
        raise Invalid(
            "a price is a number such as 0.12, or with its currency: 0.12 EUR",
            field="cost_per_hour",
        )
    return HourlyCost(int(Decimal(amount) * _MICROS), currency or "USD")
