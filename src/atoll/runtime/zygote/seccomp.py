"""Which system calls a sandbox may make: the table a person reads, and the filter made of it.

The rule is "what is known and not listed may pass"; numbers newer than the ones known here
answer ENOSYS, so a new kernel opens nothing by itself. Integer arguments are compared on
their low 32 bits, because that is all the kernel reads of an int: a 64-bit comparison let
`socket(0x100000028, …)` through. Numbers: arch/x86/entry/syscalls/syscall_64.tbl and
include/uapi/asm-generic/unistd.h (aarch64).
"""

import errno
from dataclasses import dataclass

from atoll.domain.errors import Failed
from atoll.runtime.zygote.bpf import (
    ARCHITECTURE_OFFSET,
    NUMBER_OFFSET,
    Program,
    argument_offset,
)

ALLOW = 0x7FFF0000
_ERRNO = 0x00050000

SOCKET_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. AF_VSOCK would reach the machine's host past `lo`."""

TERMINAL_REQUESTS = (0x5412, 0x541C, 0x541D, 0x5423)
"""ioctl: TIOCSTI and TIOCLINUX type into a terminal, TIOCCONS takes the console, TIOCSETD
loads line disciplines."""

NEW_NAMESPACE_FLAGS = 0x7E020000
"""clone(2): CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET."""

PERSONALITIES = (0, 0xFFFFFFFF)
"""The default, and the question which one it is; others switch off address randomisation."""

NEWEST_KNOWN = 469
"""file_setattr(2), Linux 6.17; both tables share numbers from 424 on."""

DENIED: dict[str, tuple[int | None, int | None]] = {
    # other processes' memory and descriptors
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "open_by_handle_at": (304, 265),
    # namespaces and mounts
    "unshare": (272, 97),
    "setns": (308, 268),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "open_tree_attr": (467, 467),
    # kernel machinery an agent never needs
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "fanotify_init": (300, 262),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "syslog": (103, 116),
    # the machine as a whole
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "create_module": (174, None),
    "query_module": (178, None),
    "get_kernel_syms": (177, None),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "reboot": (169, 142),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "vhangup": (153, 58),
    "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
    "_sysctl": (156, None),
    "uselib": (134, None),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # the x86 processor
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
}
"""Answered with EPERM: name -> (x86_64 number, aarch64 number)."""

JUDGED: dict[str, tuple[int, int]] = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
    "clone": (56, 220),
    "personality": (135, 92),
}
"""Allowed or not by an argument: name -> (x86_64 number, aarch64 number)."""

CLONE3 = 435
"""Its flags lie in memory a filter cannot read; ENOSYS makes libraries use clone."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """One machine: its AUDIT_ARCH word and its column in the tables."""

    audit: int
    column: int


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, 0),
    "aarch64": Architecture(0xC00000B7, 1),
}


def filter_for(machine: str) -> bytes:
    """The filter for `uname -m`, ready for `bwrap --seccomp`. Raises `Failed` elsewhere."""
    architecture = ARCHITECTURES.get(machine)
    if architecture is None:
        raise Failed(
            f"no system call table for {machine}: sandboxes run on "
            f"{' and '.join(ARCHITECTURES)} only"
        )
    program = Program()
    _refuse_foreign_calls(program, architecture)
    for numbers in DENIED.values():
        number = numbers[architecture.column]
        if number is not None:
            program.if_equal(number, "denied")
    for name, judged in JUDGED.items():
        program.if_equal(judged[architecture.column], name)
    program.give(ALLOW)
    _judge_arguments(program)
    program.label("denied")
    program.give(_ERRNO | errno.EPERM)
    program.label("unknown")
    program.give(_ERRNO | errno.ENOSYS)
    return program.assemble()


def _refuse_foreign_calls(program: Program, architecture: Architecture) -> None:
    program.load(ARCHITECTURE_OFFSET)
    program.if_equal(architecture.audit, "native")
    program.go("denied")  # 32-bit entry points have numbers of their own
    program.label("native")
    program.load(NUMBER_OFFSET)
    program.if_at_least(NEWEST_KNOWN + 1, "unknown")  # x32 numbers lie here too
    program.if_equal(CLONE3, "unknown")


def _judge_arguments(program: Program) -> None:
    program.label("socket")
    program.label("socketpair")
    program.load(argument_offset(0))
    for family in SOCKET_FAMILIES:
        program.if_equal(family, "allowed")
    program.go("denied")
    program.label("ioctl")
    program.load(argument_offset(1))
    for request in TERMINAL_REQUESTS:
        program.if_equal(request, "denied")
    program.go("allowed")
    program.label("clone")
    program.load(argument_offset(0))
    program.mask(NEW_NAMESPACE_FLAGS)
    program.if_equal(0, "allowed")
    program.go("denied")
    program.label("personality")
    program.load(argument_offset(0))
    for persona in PERSONALITIES:
        program.if_equal(persona, "allowed")
    program.go("denied")
    program.label("allowed")
    program.give(ALLOW)
