"""The confinement of one command as OpenShell's supervisor does it: user, Landlock, seccomp.

Run inside a machine of the peer, by its own interpreter: UID, POLICY as JSON, then the command.
"""

import ctypes
import json
import os
import struct
import sys
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
NO_NEW_PRIVS, SET_SECCOMP, MODE_FILTER = 38, 22, 2
READ = 1 | 4 | 8
"""Landlock: execute, read a file, read a directory."""

ALL = (1 << 15) - 1
FILES = 1 | 2 | 4 | 1 << 14
REFUSED = frozenset(
    (101, 155, 161, 165, 166, 272, 308, 310, 311, 321, 323, 425, 428, 429, 430, 431, 432, 433)
)
REFUSED |= {434, 438, 424}
"""x86-64: ptrace, pivot_root, chroot, mount, umount2, unshare, setns, process_vm_*, bpf,
userfaultfd, io_uring_setup, the mount API, and the pidfd calls."""

CLONE, SECCOMP, CLONE3, NEWUSER = 56, 317, 435, 0x10000000
EPERM, ENOSYS, ALLOW = 0x00050001, 0x00050026, 0x7FFF0000


def landlock(policy: dict[str, list[str]]) -> None:
    """Allow these places and no others; one that is not there is skipped, as `best_effort` says."""
    attr = struct.pack("=Q", ALL)
    rules = LIBC.syscall(444, attr, len(attr), 0)
    if rules < 0:
        sys.exit("the peer needs a kernel with Landlock")
    for access, places in ((READ, policy["read_only"]), (ALL, policy["read_write"])):
        for place in places:
            try:
                opened = os.open(place, os.O_PATH)
            except OSError:
                continue
            allowed = access if Path(place).is_dir() else access & FILES
            rule = struct.pack("=Qi", allowed, opened)
            if LIBC.syscall(445, rules, 1, rule, 0):
                sys.exit(f"Landlock does not take {place}")
            os.close(opened)
    LIBC.prctl(NO_NEW_PRIVS, 1, 0, 0, 0)
    if LIBC.syscall(446, rules, 0):
        sys.exit("Landlock does not begin")


def seccomp() -> None:
    """Refuse namespaces, mounts and filters."""
    code = [(0x20, 0, 0, 0)]
    code += [
        instruction
        for number in REFUSED
        for instruction in ((0x15, 0, 1, number), (0x06, 0, 0, EPERM))
    ]
    code += [(0x15, 0, 1, CLONE3), (0x06, 0, 0, ENOSYS)]
    code += [(0x15, 0, 3, CLONE), (0x20, 0, 0, 16), (0x45, 0, 1, NEWUSER), (0x06, 0, 0, EPERM)]
    code += [(0x20, 0, 0, 0), (0x15, 0, 3, SECCOMP), (0x20, 0, 0, 16), (0x15, 0, 1, 1)]
    code += [(0x06, 0, 0, EPERM), (0x06, 0, 0, ALLOW)]
    program = b"".join(struct.pack("=HBBI", *each) for each in code)
    held = ctypes.create_string_buffer(program)
    prog = struct.pack("@HP", len(code), ctypes.addressof(held))
    if LIBC.prctl(SET_SECCOMP, MODE_FILTER, prog, 0, 0):
        sys.exit("seccomp does not begin")


def main() -> None:
    """Confine, then become the command."""
    uid, policy, *words = sys.argv[1:]
    os.setgroups([])
    os.setresgid(int(uid), int(uid), int(uid))
    os.setresuid(int(uid), int(uid), int(uid))
    os.chdir("/sandbox")
    landlock(json.loads(policy))
    seccomp()
    env = {"PATH": os.defpath, "HOME": "/sandbox", "USER": "sandbox"}
    os.execvpe(words[0], words, env)


main()
