"""The seccomp filters made from `domain.wall.system_calls`, for `bwrap --seccomp`.

A known call that is not listed passes. Numbers newer than the known ones return ENOSYS, so a new
kernel opens nothing by itself. Integer arguments are compared on their low 32 bits, because that is
all the kernel reads of an int: a 64-bit comparison let `socket(0x100000028, …)` through.
"""

import errno
from collections.abc import Mapping
from dataclasses import dataclass

from atoll.domain.errors import Failed
from atoll.domain.wall.system_calls import (
    ABSENT,
    BITS_REFUSED,
    COUNTED,
    CREATING_FLAGS,
    DATAGRAM,
    INIT,
    INTERNET,
    INVALID,
    JUDGED,
    NEWEST_KNOWN,
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
from atoll.zygote.wall.bpf import (
    ARCHITECTURE_OFFSET,
    NUMBER_OFFSET,
    FilterProgram,
    argument_offset,
)

ALLOW = 0x7FFF0000
REFUSE = 0x00050000
"""Answered with an error; its number is added."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """Machine architecture: its AUDIT_ARCH word and its column in the tables."""

    audit: int
    column: int


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, 0),
    "aarch64": Architecture(0xC00000B7, 1),
}


def filter_for(
    machine: str, *, debug: bool = False, set_ids: bool = False, counted: bool = True
) -> bytes:
    """Return the filter for `uname -m`, ready for `bwrap --seccomp`. With `debug` debuggers work;
    with `set_ids` package managers may set S_ISUID and S_ISGID. `counted` passes the calls that an
    init bounds (native/init/supervise.c); a process without init gets none of them. Raises `Failed`
    on other architectures."""
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        raise Failed(
            f"no system call table for {machine}: sandboxes run on "
            f"{' and '.join(ARCHITECTURES)} only"
        )
    program = FilterProgram()
    _refuse_foreign_calls(program, architecture)
    _find_denied(program, architecture, debug=debug)
    if not counted:
        _find_counted(program, architecture)
    for name, judged in JUDGED.items():
        number = judged[architecture.column]
        if number is not None:
            program.if_equal(number, name)
    if not set_ids:
        _find_modes(program, architecture)
    program.give(ALLOW)
    if not set_ids:
        _judge_modes(program)
    _judge_counted(program)
    _judge_arguments(program, debug=debug, counted=counted)
    program.label("denied")
    program.give(REFUSE | errno.EPERM)
    program.label("unknown")
    program.give(REFUSE | errno.ENOSYS)
    program.label("invalid")
    program.give(REFUSE | errno.EINVAL)
    return program.assemble()


def _refuse_foreign_calls(program: FilterProgram, architecture: Architecture) -> None:
    program.load(ARCHITECTURE_OFFSET)
    program.if_equal(architecture.audit, "native")
    program.go("denied")  # 32-bit entry points have numbers of their own
    program.label("native")
    program.load(NUMBER_OFFSET)
    program.if_at_least(NEWEST_KNOWN + 1, "unknown")  # x32 numbers lie here too
    for numbers in ABSENT.values():
        program.if_equal(numbers[architecture.column], "unknown")


def _find_denied(program: FilterProgram, architecture: Architecture, *, debug: bool) -> None:
    for numbers in denied_calls(debug=debug).values():
        number = numbers[architecture.column]
        if number is not None:
            program.if_equal(number, "denied")


def _find_counted(program: FilterProgram, architecture: Architecture) -> None:
    for name, entry in COUNTED.items():
        program.if_equal(entry[architecture.column], f"counted {name}")


def _judge_counted(program: FilterProgram) -> None:
    for name, (_x86, _arm, argument, value) in COUNTED.items():
        program.label(f"counted {name}")
        program.load(argument_offset(argument))
        program.if_equal(value, "denied")
        program.go(name if name in JUDGED else "allowed")


def _find_modes(program: FilterProgram, architecture: Architecture) -> None:
    for table, kind in ((SETS_MODE, "mode"), (OPENS, "flags")):
        for entry in table.values():
            number = entry[architecture.column]
            if number is not None:
                program.if_equal(number, f"{kind} {entry[2]}")


def _judge_modes(program: FilterProgram) -> None:
    for index in sorted({index for _x86, _arm, index in OPENS.values()}):
        program.label(f"flags {index}")
        program.load(argument_offset(index))
        program.mask(CREATING_FLAGS)
        program.if_equal(0, "allowed")
        program.go(f"mode {index + 1}")
    for index in (1, 2, 3):
        program.label(f"mode {index}")
        program.load(argument_offset(index))
        program.mask(SET_ID_BITS)
        program.if_equal(0, "allowed")
        program.go("denied")


def _judge_arguments(program: FilterProgram, *, debug: bool, counted: bool) -> None:
    program.label("socket")
    program.label("socketpair")
    judge_sockets(program, SOCKETS if counted else _without_datagrams())
    judge_socket_options(program)
    program.label("ioctl")
    deny_each(program, 1, TERMINAL_REQUESTS)
    for name, (argument, bits) in BITS_REFUSED.items():
        program.label(name)
        program.load(argument_offset(argument))
        program.mask(bits)
        program.if_equal(0, "lone files" if name == "clone" else "allowed")
        program.go("denied")
    _judge_lone_files(program, debug=debug)
    for name, (argument, values) in INVALID.items():
        program.label(name)
        deny_each(program, argument, values, "invalid")
    _judge_tasks(program)
    program.label("personality")
    program.load(argument_offset(0))
    for persona in PERSONALITIES:
        program.if_equal(persona, "allowed")
    program.go("denied")
    program.label("allowed")
    program.give(ALLOW)


def _judge_tasks(program: FilterProgram) -> None:
    for name in ON_TASKS.keys() - {"setpriority"}:
        program.label(name)
    program.load(argument_offset(0))
    program.go("task")
    program.label("setpriority")
    program.load(argument_offset(0))
    program.if_equal(PRIO_USER, "denied")
    program.load(argument_offset(1))
    program.label("task")
    program.if_equal(INIT, "denied")
    program.go("allowed")


def _judge_lone_files(program: FilterProgram, *, debug: bool) -> None:
    thread, files = THREAD_AND_FILES
    program.label("lone files")
    program.load(argument_offset(0))
    program.mask(thread | files)
    for passed in (0, thread | files, *([files] if debug else [])):
        program.if_equal(passed, "allowed")
    program.go("denied")


def _without_datagrams() -> dict[int, dict[int, tuple[int, ...]]]:
    return {
        family: {
            kind: protocols
            for kind, protocols in types.items()
            if family not in INTERNET or kind != DATAGRAM
        }
        for family, types in SOCKETS.items()
    }


def judge_socket_options(program: FilterProgram) -> None:
    """Judge setsockopt(2): `SOCKET_OPTIONS` are refused, all others pass."""
    program.label("setsockopt")
    program.load(argument_offset(1))
    for level in SOCKET_OPTIONS:
        program.if_equal(level, f"option of level {level}")
    program.go("allowed")
    for level, options in SOCKET_OPTIONS.items():
        program.label(f"option of level {level}")
        deny_each(program, 2, options)


def deny_each(
    program: FilterProgram, argument: int, values: tuple[int, ...], label: str = "denied"
) -> None:
    """Go to `label` for one of these values of an argument, to `allowed` else."""
    program.load(argument_offset(argument))
    for value in values:
        program.if_equal(value, label)
    program.go("allowed")


def judge_sockets(
    program: FilterProgram, sockets: Mapping[int, Mapping[int, tuple[int, ...]]]
) -> None:
    """Go to `allowed` for a family, type and protocol that `sockets` lists (as
    `domain.wall.system_calls.SOCKETS`), to `denied` else."""
    program.load(argument_offset(0))
    for family in sockets:
        program.if_equal(family, f"family {family}")
    program.go("denied")
    for family, types in sockets.items():
        program.label(f"family {family}")
        program.load(argument_offset(1))
        program.mask(~SOCKET_FLAGS & 0xFFFFFFFF)
        for kind in types:
            program.if_equal(kind, f"type {family} {kind}")
        program.go("denied")
        for kind, protocols in types.items():
            program.label(f"type {family} {kind}")
            program.load(argument_offset(2))
            for protocol in protocols:
                program.if_equal(protocol, "allowed")
            program.go("denied")


CHANGING_OWNERS: dict[str, tuple[int | None, int | None]] = {
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setgroups": (116, 159),
}
"""Answered with success and not done: name -> (x86_64 number, aarch64 number)."""


def owner_filter(machine: str) -> bytes:
    """Return a further filter for commands of `sudo`, for a `uname -m` that `filter_for` knows.

    Changing an owner does nothing and succeeds. There is one user inside, and package managers stop
    when they may not give files to another one. The calls could have no effect anyway.
    """
    architecture = ARCHITECTURES[machine]
    program = FilterProgram()
    program.load(ARCHITECTURE_OFFSET)
    program.if_equal(architecture.audit, "native")
    program.give(REFUSE | errno.EPERM)
    program.label("native")
    program.load(NUMBER_OFFSET)
    for numbers in CHANGING_OWNERS.values():
        number = numbers[architecture.column]
        if number is not None:
            program.if_equal(number, "nothing")
    program.give(ALLOW)
    program.label("nothing")
    program.give(REFUSE)
    return program.assemble()
