"""The seccomp filter of a runtime, made from `domain.wall.runtime_calls`.

The rule is the reverse of the sandbox's (`seccomp`): everything not listed is refused. A call newer
than the tables returns ENOSYS, so that libraries fall back to an older one.
"""

import errno

from atoll.domain.errors import Failed
from atoll.domain.wall.runtime_calls import (
    ABSENT,
    ALLOWED,
    CLONE_THREAD,
    FAMILIES,
    JUDGED,
    PAIR_FAMILY,
    PAIR_TYPE,
    PRCTL_OPTIONS,
    REQUESTS,
    RING,
    TYPE_MASK,
)
from atoll.domain.wall.system_calls import NEWEST_KNOWN, SOCKETS
from atoll.zygote.wall.bpf import (
    ARCHITECTURE_OFFSET,
    NUMBER_OFFSET,
    FilterProgram,
    argument_offset,
)
from atoll.zygote.wall.seccomp import (
    ALLOW,
    ARCHITECTURES,
    REFUSE,
    judge_socket_options,
    judge_sockets,
)

SECCOMP = (317, 277)
"""seccomp(2): (x86_64 number, aarch64 number)."""


def seccomp_number(machine: str) -> int:
    """Return the number of seccomp(2) for a `uname -m` that `runtime_filter` knows."""
    return SECCOMP[ARCHITECTURES[machine].column]


def runtime_filter(machine: str) -> bytes:
    """Return the filter for `uname -m`. Raises `Failed` for a machine without a table."""
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        raise Failed(f"no system call table for {machine}: runtimes do not start on it")
    column = architecture.column
    program = FilterProgram()
    program.load(ARCHITECTURE_OFFSET)
    program.if_equal(architecture.audit, "native")
    program.go("denied")
    program.label("native")
    program.load(NUMBER_OFFSET)
    program.if_at_least(NEWEST_KNOWN + 1, "unknown")
    for numbers in ABSENT.values():
        program.if_equal(numbers[column], "unknown")
    for name, judged in JUDGED.items():
        program.if_equal(judged[column], name)
    _find_allowed(program, {allowed[column] for allowed in ALLOWED.values()})
    _judge(program)
    for label, action in (
        ("allowed", ALLOW),
        ("denied", REFUSE | errno.EPERM),
        ("unknown", REFUSE | errno.ENOSYS),
    ):
        program.label(label)
        program.give(action)
    return program.assemble()


def _find_allowed(program: FilterProgram, allowed: set[int | None]) -> None:
    """Search by runs of numbers, the highest first. The kernel tests every number once when a
    runtime starts, and runs are fewer than numbers."""
    for number in range(NEWEST_KNOWN, -1, -1):
        passes = number in allowed
        if number == 0 or (number - 1 in allowed) != passes:
            program.if_at_least(number, "allowed" if passes else "denied")


def ring_filter(machine: str) -> bytes:
    """Return a filter that refuses io_uring and nothing else, for a `uname -m` that
    `runtime_filter` knows."""
    program = FilterProgram()
    program.load(NUMBER_OFFSET)
    for numbers in RING.values():
        program.if_equal(numbers[ARCHITECTURES[machine].column], "unknown")
    program.give(ALLOW)
    program.label("unknown")
    program.give(REFUSE | errno.ENOSYS)
    return program.assemble()


def _judge(program: FilterProgram) -> None:
    program.label("clone")
    program.load(argument_offset(0))
    program.mask(CLONE_THREAD)
    program.if_equal(CLONE_THREAD, "allowed")
    program.go("denied")
    for name, argument, values in (
        ("ioctl", 1, REQUESTS),
        ("prctl", 0, PRCTL_OPTIONS),
        ("prlimit64", 0, (0,)),
    ):
        program.label(name)
        program.load(argument_offset(argument))
        for value in values:
            program.if_equal(value, "allowed")
        program.go("denied")
    judge_socket_options(program)
    program.label("socket")
    judge_sockets(program, {family: SOCKETS[family] for family in FAMILIES})
    program.label("socketpair")
    program.load(argument_offset(0))
    program.if_equal(PAIR_FAMILY, "pair")
    program.go("denied")
    program.label("pair")
    program.load(argument_offset(1))
    program.mask(TYPE_MASK)
    program.if_equal(PAIR_TYPE, "allowed")
    program.go("denied")
