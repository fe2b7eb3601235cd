#!/usr/bin/env python3
"""Runs `$ATOLL_TEST_BROWSER` where no netlink socket can be opened.

Chromium breaks off requests, those to loopback too, when an interface comes or goes
(`ERR_NETWORK_CHANGED`), and other tests make networks meanwhile. A Chromium that cannot look
believes to be connected.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # of classic BPF, on words of 32 bits
ALLOW, REFUSE = 0x7FFF0000, 0x00050000
SOCKET = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
"""A machine's audit number, and the number of its call `socket`."""
AF_NETLINK = 16
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
NUMBER, MACHINE, FIRST_ARGUMENT = 0, 4, 16  # places in `struct seccomp_data`


class Program(ctypes.Structure):
    """A `struct sock_fprog`."""

    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def refuse_netlink() -> None:
    """Refuse such sockets to this process and all it starts, on machines known here."""
    if platform.machine() not in SOCKET:
        return
    machine, socket = SOCKET[platform.machine()]
    lines = (
        (LOAD, 0, 0, MACHINE),
        (EQUAL, 0, 5, machine),
        (LOAD, 0, 0, NUMBER),
        (EQUAL, 0, 3, socket),
        (LOAD, 0, 0, FIRST_ARGUMENT),
        (EQUAL, 0, 1, AF_NETLINK),
        (RETURN, 0, 0, REFUSE | errno.EACCES),
        (RETURN, 0, 0, ALLOW),
    )
    code = b"".join(struct.pack("HBBI", *line) for line in lines)
    program = Program(len(lines), code)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(PR_SET_SECCOMP, FILTER, ctypes.byref(program), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    refuse_netlink()
    browser = os.environ["ATOLL_TEST_BROWSER"]
    os.execv(browser, [browser, *sys.argv[1:]])
