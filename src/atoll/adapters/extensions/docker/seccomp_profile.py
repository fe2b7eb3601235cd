"""Docker's seccomp profile (JSON), made of `domain.system_calls`. It starts nothing.

Docker's profiles allow by name and refuse the rest, so all that is known and not denied is
listed; a call newer than the table is refused, too. Integer arguments are compared on their
low 32 bits, as the kernel reads them: an allowed value is one cube (mask, bits), "all but
these" is a handful of cubes, because a profile knows no "and" for one argument.
Format: moby's profiles/seccomp, SCMP_CMP_MASKED_EQ of seccomp_rule_add(3).
"""

import errno
from collections.abc import Iterable, Iterator

import msgspec

from atoll.domain.errors import Failed
from atoll.domain.system_calls import (
    CREATING_FLAGS,
    JUDGED,
    KNOWN,
    NEW_NAMESPACE_FLAGS,
    OPENS,
    PERSONALITIES,
    SET_ID_BITS,
    SETS_MODE,
    SOCKET_FAMILIES,
    SOCKET_PROTOCOLS,
    TERMINAL_REQUESTS,
    denied,
)

BITS = 32
ALL_BITS = 2**BITS - 1
ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
_ALLOW, _REFUSE = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"

Cube = tuple[int, int]
"""(mask, bits): every value that equals `bits` where `mask` is 1."""


class _Argument(msgspec.Struct, rename="camel"):
    """`value` is the mask, `value_two` what must be left under it."""

    index: int
    value: int
    value_two: int
    op: str = "SCMP_CMP_MASKED_EQ"


class _Rule(msgspec.Struct, rename="camel", omit_defaults=True):
    names: list[str]
    action: str
    errno_ret: int | None = None
    args: list[_Argument] = []


class _Profile(msgspec.Struct, rename="camel"):
    default_action: str
    architectures: list[str]
    syscalls: list[_Rule]


def all_but(values: Iterable[int], *, bits: int = BITS) -> list[Cube]:
    """Disjoint cubes that hold every number of `bits` bits but `values`."""
    cubes: list[Cube] = []

    def split(prefix: int, length: int, inside: list[int]) -> None:
        if not inside:
            mask = ((1 << length) - 1) << (bits - length)
            cubes.append((mask, prefix << (bits - length)))
        elif length < bits:
            at = bits - length - 1
            for bit in (0, 1):
                below = [value for value in inside if (value >> at) & 1 == bit]
                split(prefix << 1 | bit, length + 1, below)

    split(0, 0, sorted(set(values)))
    return cubes


def _judged() -> dict[str, tuple[int, list[Cube]]]:
    """The argument that is looked at, and the cubes in which it may lie."""
    return {
        "ioctl": (1, all_but(TERMINAL_REQUESTS)),
        "clone": (0, [(NEW_NAMESPACE_FLAGS, 0)]),
        "personality": (0, [(ALL_BITS, persona) for persona in PERSONALITIES]),
    }


def _sockets() -> Iterator[list[_Argument]]:
    """Each family with each of its protocols; arguments of one rule must all hold."""
    for family in SOCKET_FAMILIES:
        first = _Argument(0, ALL_BITS, family)
        protocols = SOCKET_PROTOCOLS.get(family)
        if protocols is None:
            yield [first]
            continue
        for protocol in protocols:
            yield [first, _Argument(2, ALL_BITS, protocol)]


def _modes() -> Iterator[_Rule]:
    """Calls that set a mode, where it has no bit of `SET_ID_BITS`, or where nothing is made."""
    for name, (_x86, _arm, index) in SETS_MODE.items():
        yield _Rule([name], _ALLOW, args=[_Argument(index, SET_ID_BITS, 0)])
    for name, (_x86, _arm, index) in OPENS.items():
        yield _Rule([name], _ALLOW, args=[_Argument(index, CREATING_FLAGS, 0)])
        yield _Rule([name], _ALLOW, args=[_Argument(index + 1, SET_ID_BITS, 0)])


def profile_for(machine: str, *, debug: bool = False) -> str:
    """The profile for `uname -m` as the Engine takes it; with `debug` debuggers work. Raises
    `Failed` elsewhere."""
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        raise Failed(
            f"no system call table for {machine}: sandboxes run on "
            f"{' and '.join(ARCHITECTURES)} only"
        )
    judged = {*JUDGED, *SETS_MODE, *OPENS, "clone3"}
    free = sorted(KNOWN - denied(debug=debug).keys() - judged)
    rules = [_Rule(free, _ALLOW), *_modes()]
    for name in ("socket", "socketpair"):
        rules += [_Rule([name], _ALLOW, args=args) for args in _sockets()]
    for name, (index, cubes) in _judged().items():
        rules += [
            _Rule([name], _ALLOW, args=[_Argument(index, mask, bits)]) for mask, bits in cubes
        ]
    # Its flags lie in memory a filter cannot read; ENOSYS makes libraries use clone.
    rules.append(_Rule(["clone3"], _REFUSE, errno.ENOSYS))
    return msgspec.json.encode(_Profile(_REFUSE, [architecture], rules)).decode()
