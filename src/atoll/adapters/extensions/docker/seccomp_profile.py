"""Docker's seccomp profile (JSON), made of `domain.wall.system_calls`. It starts nothing.

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
from atoll.domain.wall.system_calls import (
    ABSENT,
    BITS_REFUSED,
    CREATING_FLAGS,
    INIT,
    INVALID,
    JUDGED,
    KNOWN,
    ON_TASKS,
    OPENS,
    PERSONALITIES,
    PRIO_USER,
    SET_ID_BITS,
    SETS_MODE,
    SOCKET_FLAGS,
    SOCKET_OPTIONS,
    SOCKETS,
    TERMINAL_REQUESTS,
    THREAD_AND_FILES,
    denied_calls,
)

BITS = 32
ALL_BITS = 2**BITS - 1
ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
_ALLOW, _REFUSE = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"

Cube = tuple[int, int]
"""(mask, bits): every value that equals `bits` where `mask` is 1."""


class _Argument(msgspec.Struct, rename="camel"):
    """Condition on an argument: `value` is the mask, `value_two` the required result under it."""

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
    """Return disjoint cubes that hold every number of `bits` bits but `values`."""
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


def _checked_calls(*, debug: bool) -> Iterator[tuple[str, list[_Argument]]]:
    """Yield calls that are checked, each with arguments that must all hold for it to be allowed."""
    for family, types in SOCKETS.items():
        for kind, protocols in types.items():
            for protocol in protocols:
                arguments = [
                    _Argument(0, ALL_BITS, family),
                    _Argument(1, ALL_BITS & ~SOCKET_FLAGS, kind),
                    _Argument(2, ALL_BITS, protocol),
                ]
                yield "socket", arguments
                yield "socketpair", arguments
    yield from (("ioctl", [_Argument(1, *cube)]) for cube in all_but(TERMINAL_REQUESTS))
    for name, (index, bits) in BITS_REFUSED.items():
        cubes = _thread_flag_cubes(bits, debug=debug) if name == "clone" else [(bits, 0)]
        yield from ((name, [_Argument(index, *cube)]) for cube in cubes)
    for name, (index, values) in INVALID.items():
        yield from ((name, [_Argument(index, *cube)]) for cube in all_but(values))
    for persona in PERSONALITIES:
        yield "personality", [_Argument(0, ALL_BITS, persona)]
    yield from _calls_on_others()
    yield from _socket_options()


def _calls_on_others() -> Iterator[tuple[str, list[_Argument]]]:
    # Two bits tell PRIO_PROCESS, PRIO_PGRP and PRIO_USER apart; the kernel refuses the others.
    kinds = [_Argument(0, *cube) for cube in all_but((PRIO_USER,), bits=2)]
    for name, index in ON_TASKS.items():
        for cube in all_but((INIT,)):
            others = _Argument(index, *cube)
            if name == "setpriority":
                yield from ((name, [kind, others]) for kind in kinds)
            else:
                yield name, [others]


def _socket_options() -> Iterator[tuple[str, list[_Argument]]]:
    for cube in all_but(SOCKET_OPTIONS):
        yield "setsockopt", [_Argument(1, *cube)]
    for level, options in SOCKET_OPTIONS.items():
        for cube in all_but(options):
            yield "setsockopt", [_Argument(1, ALL_BITS, level), _Argument(2, *cube)]


def _thread_flag_cubes(refused: int, *, debug: bool) -> list[Cube]:
    """Return cubes of clone's flags: a thread that shares its files, or neither."""
    thread, files = THREAD_AND_FILES
    passed = (0, thread | files, *([files] if debug else []))
    return [(refused | thread | files, one) for one in passed]


def _modes() -> Iterator[_Rule]:
    """Yield rules for calls that set a mode: allowed where it has no bit of `SET_ID_BITS`, or where
    nothing is made."""
    for name, (_x86, _arm, index) in SETS_MODE.items():
        yield _Rule([name], _ALLOW, args=[_Argument(index, SET_ID_BITS, 0)])
    for name, (_x86, _arm, index) in OPENS.items():
        yield _Rule([name], _ALLOW, args=[_Argument(index, CREATING_FLAGS, 0)])
        yield _Rule([name], _ALLOW, args=[_Argument(index + 1, SET_ID_BITS, 0)])


def profile_for(machine: str, *, debug: bool = False) -> str:
    """Return the profile for `uname -m` as the Engine takes it; with `debug` debuggers work. Raises
    `Failed` elsewhere."""
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        raise Failed(
            f"no system call table for {machine}: sandboxes run on "
            f"{' and '.join(ARCHITECTURES)} only"
        )
    judged = {*JUDGED, *SETS_MODE, *OPENS, *ABSENT}
    free = sorted(KNOWN - denied_calls(debug=debug).keys() - judged)
    rules = [_Rule(free, _ALLOW), *_modes()]
    rules += [
        _Rule([name], _ALLOW, args=arguments) for name, arguments in _checked_calls(debug=debug)
    ]
    rules.append(_Rule(sorted(ABSENT), _REFUSE, errno.ENOSYS))
    rules += [
        _Rule([name], _REFUSE, errno.EINVAL, [_Argument(index, ALL_BITS, value)])
        for name, (index, values) in INVALID.items()
        for value in values
    ]
    return msgspec.json.encode(_Profile(_REFUSE, [architecture], rules)).decode()
