"""Names of sandboxes: the allowed ones, and the default."""

import re
from collections.abc import Container

from atoll.domain.errors import Invalid

MAX_NAME = 63
"""The longest name, as long as a host name's label: it is the sandbox's host name too."""

MAX_WORD = 7
"""The longest word of a name that people can say."""

_QUALITIES = (
    "amber", "bold", "calm", "dapper", "elated", "fair", "gentle", "happy", "icy", "jolly", "keen",
    "lively", "mellow", "noble", "olive", "proud", "quiet", "rapid", "silver", "tidy", "upbeat",
    "vivid", "warm", "young", "zesty", "brave", "clever", "dusty", "early", "fresh", "grand",
    "honest",
)  # fmt: skip
_ANIMALS = (
    "ant", "bear", "crane", "deer", "eagle", "fox", "goose", "hare", "ibis", "jackal", "koala",
    "lynx", "moth", "newt", "otter", "panda", "quail", "raven", "seal", "tiger", "urchin", "viper",
    "wolf", "yak", "zebra", "badger", "cobra", "dove", "finch", "gecko", "heron", "marmot",
)  # fmt: skip

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?\Z")
_ID_LIKE = re.compile(r"sb_[a-z2-7]{16}\Z")
_FOREIGN = re.compile(r"[^a-z0-9._-]+")


def read_name(text: str) -> str:
    """Return `text` if it may name a sandbox; raises `Invalid` with the rule."""
    if not _NAME.match(text) or _ID_LIKE.match(text):
        raise Invalid(
            f"{text[:80]!r} cannot name a sandbox: use 1 to 63 lower-case letters, digits, "
            "`.`, `_` and `-`, beginning and ending with a letter or digit.",
            field="name",
        )
    return text


def default_name(*, repo: str | None, branch: str | None, profile_id: str, token: str) -> str:
    """Return `<repo>-<branch>`, or `<profile>-<token>` when there is no repository."""
    if repo is not None and branch is not None:
        return to_allowed_name(f"{repo}-{branch}")
    return to_allowed_name(f"{profile_id.removeprefix('profile.')}-{token}")


def speakable_name(base: str, token: str, taken: Container[str]) -> str:
    """Return `<base>-<word>-<word>`, a name that people can say, chosen by `token` and free. No two
    words begin with the same three letters, so that no two names look alike."""
    room = to_allowed_name(base)[: MAX_NAME - 2 * MAX_WORD - 2].rstrip("._-")
    start = sum(ord(char) * 31**place for place, char in enumerate(token))
    many = len(_QUALITIES) * len(_ANIMALS)
    for number in range(many):
        quality, animal = divmod((start + number) % many, len(_ANIMALS))
        name = f"{room}-{_QUALITIES[quality]}-{_ANIMALS[animal]}"
        if name not in taken:
            return name
    return free_name(to_allowed_name(f"{base}-{token}"), taken)


def to_allowed_name(text: str) -> str:
    """Return `text` changed into an allowed name; never empty."""
    plain = _FOREIGN.sub("-", text.lower())[:MAX_NAME].strip("._-")
    return plain or "sandbox"


def free_name(wanted: str, taken: Container[str]) -> str:
    """Return `wanted`, or with the first free number appended."""
    if wanted not in taken:
        return wanted
    number = 2
    while True:
        ending = f"-{number}"
        name = wanted[: MAX_NAME - len(ending)].rstrip("._-") + ending
        if name not in taken:
            return name
        number += 1
