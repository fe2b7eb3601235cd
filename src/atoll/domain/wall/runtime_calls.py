"""System calls that a runtime may make: all that it needs; every other one is refused.

A runtime serves one sandbox for the rest of its life. It starts no program and no process, opens no
unix socket, signals nobody and mounts nothing. `zygote.wall.runtime_filter` builds its filter from
these tables. Numbers: as in `domain.wall.system_calls`.
"""

ALLOWED: dict[str, tuple[int | None, int | None]] = {
    # Files and descriptors.
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "preadv": (295, 69),
    "pwritev": (296, 70),
    "preadv2": (327, 286),
    "pwritev2": (328, 287),
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "fcntl": (72, 25),
    "flock": (73, 32),
    "lseek": (8, 62),
    "stat": (4, None),
    "lstat": (6, None),
    "fstat": (5, 80),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "ftruncate": (77, 46),
    "fallocate": (285, 47),
    "fadvise64": (221, 223),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "sendfile": (40, 71),
    "copy_file_range": (326, 285),
    "splice": (275, 76),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "memfd_create": (319, 279),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "fchmod": (91, 52),
    "umask": (95, 166),
    # Waiting.
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "epoll_create": (213, None),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
    "epoll_pwait2": (441, 441),
    "eventfd": (284, None),
    "eventfd2": (290, 19),
    "timerfd_create": (283, 85),
    "timerfd_settime": (286, 86),
    "timerfd_gettime": (287, 87),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "restart_syscall": (219, 128),
    # Sockets.
    "connect": (42, 203),
    "accept": (43, 202),
    "accept4": (288, 242),
    "bind": (49, 200),
    "listen": (50, 201),
    "getsockname": (51, 204),
    "getpeername": (52, 205),
    "getsockopt": (55, 209),
    "shutdown": (48, 210),
    "sendto": (44, 206),
    "recvfrom": (45, 207),
    "sendmsg": (46, 211),
    "recvmsg": (47, 212),
    "sendmmsg": (307, 269),
    "recvmmsg": (299, 243),
    # Memory.
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "mprotect": (10, 226),
    "madvise": (28, 233),
    "brk": (12, 214),
    "mlock": (149, 228),
    "mlock2": (325, 284),
    "munlock": (150, 229),
    "msync": (26, 227),
    "mseal": (462, 462),
    # Its own threads and signals.
    "futex": (202, 98),
    "futex_wait": (455, 455),
    "futex_wake": (454, 454),
    "futex_waitv": (449, 449),
    "futex_requeue": (456, 456),
    "set_robust_list": (273, 99),
    "get_robust_list": (274, 100),
    "set_tid_address": (218, 96),
    "rseq": (334, 293),
    "membarrier": (324, 283),
    "sched_yield": (24, 124),
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigsuspend": (130, 133),
    "rt_sigtimedwait": (128, 137),
    "sigaltstack": (131, 132),
    "pause": (34, None),
    "arch_prctl": (158, None),
    "wait4": (61, 260),
    "waitid": (247, 95),
    # Facts.
    "getpid": (39, 172),
    "gettid": (186, 178),
    "getppid": (110, 173),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "getpgid": (121, 155),
    "getpgrp": (111, None),
    "getsid": (124, 156),
    "getrlimit": (97, 163),
    "getrusage": (98, 165),
    "times": (100, 153),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "getrandom": (318, 278),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
}
"""Calls that are allowed with any arguments: name -> (x86_64 number, aarch64 number)."""

JUDGED: dict[str, tuple[int, int]] = {
    "clone": (56, 220),
    "ioctl": (16, 29),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "setsockopt": (54, 208),
    "socket": (41, 198),
    "socketpair": (53, 199),
}
"""Calls that an argument decides on: name -> (x86_64 number, aarch64 number)."""

ABSENT: dict[str, tuple[int, int]] = {"clone3": (435, 435)}
"""Calls that fail with ENOSYS: libraries then use clone, whose flags a filter can read."""

RING = {"io_uring_setup": (425, 425)}
"""Calls that fail with ENOSYS before the event loop is made, and are refused later like all that
are not listed. With them libuv would watch sockets by a ring, which allows any call past a
filter."""

CLONE_THREAD = 0x10000
"""The flag of clone(2) that must be set: another thread, never another process."""

REQUESTS = (
    0x5401,
    0x5402,
    0x5403,
    0x5404,
    0x540F,
    0x5411,
    0x5413,
    0x5414,
    0x541B,
    0x5421,
    0x5450,
    0x5451,
    0x40045436,
)
"""The requests of ioctl: TCGETS, TCSETS, TCSETSW, TCSETSF, TIOCGPGRP, TIOCOUTQ, TIOCGWINSZ,
TIOCSWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TIOCSIG."""

PRCTL_OPTIONS = (15, 16, 0x53564D41)
"""The options of prctl: PR_SET_NAME, PR_GET_NAME; PR_SET_VMA, by which libraries name their
memory."""

FAMILIES = (2, 10, 16)
"""The families of socket.

AF_INET and AF_INET6 dial and resolve names; resolvers ask AF_NETLINK for this machine's addresses.
AF_UNIX is absent: runtimes, daemons and the control plane listen there. A resolver that cannot
reach a name service there (nscd, sssd, Avahi) uses DNS.
"""

PAIR_FAMILY, PAIR_TYPE, TYPE_MASK = 1, 1, 0xF
"""The arguments of socketpair: AF_UNIX, SOCK_STREAM, which stays connected to its other end. A pair
of datagram sockets could be connected to somebody else's socket."""
