"""The boot file of a pod's runtime: everything that its backend hands over, by one descriptor.

A descriptor is in no environment, no argv and no directory: `memfd_create(2)`, or a pipe that is
closed after writing. The file is read once.
"""

import os
from typing import Literal

import msgspec

from atoll.domain.errors import Invalid
from atoll.wire.http.unreadable import UNREADABLE
from atoll.wire.zygote.messages import Agent

MAX_BYTES = 4 * 1024 * 1024
MIN_TOKEN_CHARACTERS = 32


class PodMount(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A directory or file of this machine at `target`, read-only unless it is `writable`."""

    source: str
    target: str
    writable: bool = False


class PodBoot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The hand-over of a backend. `wall` says what stands around the programs: the machine that the
    runtime runs on (`machine`), or one of the runtime's own making without network (`bwrap`).
    `doors` serves broker and egress proxy; on a machine that is no sandbox of its own, another
    sandbox may own these ports. Programs have the runtime's uid only where `same_uid` agrees.
    With `own_logins` they have their person's logins, and no address of the broker."""

    token: str
    env: tuple[tuple[str, str], ...] = ()
    agents: tuple[Agent, ...] | None = None
    upstreams: tuple[tuple[str, str], ...] = ()
    doors: bool = True
    wall: Literal["machine", "bwrap"] = "machine"
    same_uid: bool = False
    home: str | None = None
    mounts: tuple[PodMount, ...] = ()
    idle_end_seconds: int | None = None
    own_logins: bool = False


def read_boot(descriptor: int) -> PodBoot:
    """Return what a descriptor holds, and close it. Raises `Invalid`; no value is in its words."""
    try:
        with os.fdopen(descriptor, "rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise Invalid(f"the boot file cannot be read: {error.strerror}", field="boot") from error
    if len(text) > MAX_BYTES:
        raise Invalid(f"the boot file is larger than {MAX_BYTES} bytes", field="boot")
    try:
        boot = msgspec.json.decode(text, type=PodBoot)
    except UNREADABLE as error:
        raise Invalid(f"the boot file is wrong: {error}", field="boot") from None
    return check_boot(boot)


def check_boot(boot: PodBoot) -> PodBoot:
    """Return a boot whose fields fit together. Raises `Invalid`."""
    if len(boot.token) < MIN_TOKEN_CHARACTERS:
        raise Invalid(f"the token has fewer than {MIN_TOKEN_CHARACTERS} characters", field="token")
    if boot.mounts and boot.wall != "bwrap":
        raise Invalid("mounts need the wall `bwrap`: elsewhere the machine makes them")
    return boot


def refuse_equal_uid(boot: PodBoot, uid: int | None) -> None:
    """Raises `Invalid` when programs inside would be the runtime's own user: nothing but
    `PR_SET_DUMPABLE` would keep its token and its policy from them."""
    if not boot.same_uid and (uid is None or uid == os.geteuid()):
        raise Invalid(
            "programs would run as the runtime's own uid: give another one by --uid, or agree by "
            "`same_uid` in the boot file",
            field="uid",
        )
