"""A further filter, for commands of `sudo`: changing an owner does nothing and succeeds.

There is one user inside, and package managers stop when they may not give files to another
one. It only ever answers in place of calls that could not have done anything; the wall's own
filter (`seccomp`) holds as well.
"""

import errno

from atoll.zygote.wall.bpf import ARCHITECTURE_OFFSET, NUMBER_OFFSET, FilterProgram
from atoll.zygote.wall.seccomp import ALLOW, ARCHITECTURES, REFUSE

CHANGING_OWNERS: dict[str, tuple[int | None, int | None]] = {
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "setgroups": (116, 159),
}
"""Answered with success and not done: name -> (x86_64 number, aarch64 number)."""


def owner_filter(machine: str) -> bytes:
    """Return the filter for a `uname -m` that `seccomp.filter_for` knows."""
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
