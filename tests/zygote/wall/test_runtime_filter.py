"""A runtime's filter of system calls, read as the kernel reads it, for both machines."""

import errno
import struct

import pytest

from atoll.domain.errors import Failed
from atoll.domain.wall import runtime_calls
from atoll.domain.wall.system_calls import NEWEST_KNOWN
from atoll.zygote.wall.runtime_filter import ring_filter, runtime_filter
from atoll.zygote.wall.seccomp import ALLOW, ARCHITECTURES, REFUSE

EPERM, ENOSYS = REFUSE | errno.EPERM, REFUSE | errno.ENOSYS
LOAD, MASK, EQUAL, AT_LEAST, ALWAYS, RETURN = 0x20, 0x54, 0x15, 0x35, 0x05, 0x06
ANOTHER = 0x40000003
"""AUDIT_ARCH_I386, by which `int 0x80` comes in."""


def verdict(program: bytes, audit: int, number: int, *arguments: int) -> int:
    """Return what a filter answers to a call (classic BPF, linux/filter.h)."""
    words = [value & (2**64 - 1) for value in (*arguments, *[0] * (6 - len(arguments)))]
    data = struct.pack("<IIQ6Q", number, audit, 0, *words)
    code = list(struct.iter_unpack("<HBBI", program))
    at = accumulator = 0
    while True:
        what, true, false, value = code[at]
        at += 1
        if what == LOAD:
            (accumulator,) = struct.unpack_from("<I", data, value)
        elif what == MASK:
            accumulator &= value
        elif what == ALWAYS:
            at += value
        elif what == RETURN:
            return int(value)
        else:
            assert what in (EQUAL, AT_LEAST)
            holds = accumulator == value if what == EQUAL else accumulator >= value
            at += true if holds else false


@pytest.fixture(params=sorted(ARCHITECTURES))
def machine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_only_what_is_listed_passes_whatever_its_number(machine: str) -> None:
    program, architecture = runtime_filter(machine), ARCHITECTURES[machine]
    column = architecture.column
    listed = {pair[column] for pair in runtime_calls.ALLOWED.values()}
    judged = {pair[column] for pair in runtime_calls.JUDGED.values()}
    absent = {pair[column] for pair in runtime_calls.ABSENT.values()}
    for number in range(NEWEST_KNOWN + 64):
        if number in judged:
            continue
        expected = ALLOW if number in listed else EPERM
        if number in absent or number > NEWEST_KNOWN:
            expected = ENOSYS
        assert verdict(program, architecture.audit, number) == expected, number
        assert verdict(program, ANOTHER, number) == EPERM
    assert verdict(program, architecture.audit, 0x40000000) == ENOSYS  # x32


THREAD = 0x3D0F00
"""What glibc asks of clone for a thread."""


@pytest.mark.parametrize(
    ("name", "arguments", "passes"),
    [
        ("clone", (THREAD,), True),
        ("clone", (0x1200011,), False),
        ("clone", (0x4111,), False),
        ("ioctl", (3, 0x5421), True),
        ("ioctl", (3, 0x5412), False),
        ("ioctl", (3, 0x5421 | 1 << 32), True),
        ("prctl", (15,), True),
        ("prctl", (4, 1), False),
        ("prctl", (22, 2), False),
        ("prlimit64", (0, 7), True),
        ("prlimit64", (1, 7), False),
        ("setsockopt", (3, 1, 9), True),
        ("setsockopt", (3, 1, 26), False),
        ("setsockopt", (3, 6, 26), True),
        ("socket", (2, 0x80801, 6), True),
        ("socket", (10, 0x80802, 17), True),
        ("socket", (16, 0x80003, 0), True),
        ("socket", (1, 0x80801, 0), False),
        ("socket", (2, 3, 6), False),
        ("socket", (16, 3, 16), False),
        ("socket", (40, 1, 0), False),
        ("socketpair", (1, 0x80801), True),
        ("socketpair", (1, 2), False),
        ("socketpair", (2, 1), False),
    ],
)
def test_call_is_judged_by_its_arguments(
    machine: str, name: str, arguments: tuple[int, ...], passes: bool
) -> None:
    architecture = ARCHITECTURES[machine]
    number = runtime_calls.JUDGED[name][architecture.column]
    found = verdict(runtime_filter(machine), architecture.audit, number, *arguments)
    assert found == (ALLOW if passes else EPERM)


def test_loop_is_made_without_a_ring_and_with_everything_else(machine: str) -> None:
    audit = ARCHITECTURES[machine].audit
    answers = [verdict(ring_filter(machine), audit, number) for number in range(NEWEST_KNOWN)]
    assert [at for at, answer in enumerate(answers) if answer != ALLOW] == [425]
    assert answers[425] == ENOSYS


def test_machine_without_a_table_is_refused() -> None:
    with pytest.raises(Failed, match="riscv64"):
        runtime_filter("riscv64")
