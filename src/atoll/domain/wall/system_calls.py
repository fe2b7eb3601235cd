"""System calls that a sandbox may make, as the tables a person reads.

The rule is "what is known and not listed may pass". Filters are built from these tables by
`zygote.wall.seccomp` (bubblewrap) and `adapters.extensions.docker.seccomp_profile`. Numbers:
arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h (aarch64).
"""

NETLINK = 16
"""AF_NETLINK, of which only NETLINK_ROUTE passes: programs list interfaces there. Socket diagnosis
and generic netlink look up families, and load kernel modules for any caller."""

SOCKETS: dict[int, dict[int, tuple[int, ...]]] = {
    1: {1: (0, 1), 2: (0, 1), 5: (0, 1)},
    2: {1: (0, 6), 2: (0, 1, 17)},
    10: {1: (0, 6), 2: (0, 17, 58)},
    NETLINK: {2: (0,), 3: (0,)},
}
"""The arguments of socket(2) and socketpair(2): protocols by family and type.

AF_UNIX with streams, datagrams and packets; AF_INET and AF_INET6 with TCP, UDP and ICMP echo.
AF_VSOCK would reach the machine's host past `lo`. DCCP, SCTP, L2TP and their like, by type or
protocol, load modules; programs that try MPTCP fall back to TCP.
"""

DATAGRAM = 2
INTERNET = (2, 10)
"""SOCK_DGRAM, and the families AF_INET and AF_INET6: init bounds their sockets, each of which may
hold 64 KiB that it was told to send later (MSG_MORE). A process without init gets none."""

SOCKET_FLAGS = 0x80800
"""The flags SOCK_NONBLOCK and SOCK_CLOEXEC, which stand in the same word as the type."""

SOCKET_OPTIONS: dict[int, tuple[int, ...]] = {
    1: (26, 37, 50, 51, 52, 60, 65),
    6: (14, 31, 32, 38, 39),
    41: (5, 6, 20, 32, 42, 46, 48, 57),
}
"""The refused options of setsockopt: level -> options.

SOL_SOCKET: SO_ATTACH_FILTER, SO_ATTACH_BPF and SO_ATTACH_REUSEPORT_CBPF, _EBPF. Filters of sockets
are compiled into a pool of the whole machine (net.core.bpf_jit_limit), without which no seccomp
filter loads and so no sandbox starts.

SO_TIMESTAMPING in both forms, and SO_ZEROCOPY: a socket of TCP keeps something of each send that
asks for a time stamp or a notice until somebody reads it, and no group counts that.

IPPROTO_TCP: TCP_MD5SIG, TCP_ULP, TCP_MD5SIG_EXT, TCP_AO_ADD_KEY and _DEL_KEY; IPPROTO_IPV6:
IPV6_2292RTHDR, IPV6_2292PKTOPTIONS, IPV6_RTHDR. Each socket keeps up to 128 KiB of keys or headers,
which count as nobody's memory. IPV6_FLOWLABEL_MGR keeps 64 KiB for each label, and labels are a
pool of the whole machine; IPV6_JOIN_GROUP, MCAST_JOIN_GROUP, MCAST_JOIN_SOURCE_GROUP and
MCAST_MSFILTER have no bound on groups, and search a list of them with a lock of the machine held.
"""

TERMINAL_REQUESTS = (0x5412, 0x541C, 0x541D, 0x5423)
"""The refused requests of ioctl: TIOCSTI and TIOCLINUX type into a terminal, TIOCCONS takes the
console, TIOCSETD loads line disciplines."""

BITS_REFUSED: dict[str, tuple[int, int]] = {
    "clone": (0, 0x7E020000),
    "mmap": (3, 0x40000),
    "memfd_create": (1, 0x4),
    "close_range": (2, 0x2),
    "pipe2": (1, 0x80),
    "shmget": (2, 0x800),
    "poll": (1, 0xFFFFF800),
    "ppoll": (1, 0xFFFFF800),
    "select": (0, 0xFFFFF800),
    "pselect6": (0, 0xFFFFF800),
    "setxattr": (3, 0xFFFFFFE0),
    "lsetxattr": (3, 0xFFFFFFE0),
    "fsetxattr": (3, 0xFFFFFFE0),
}
"""The calls refused with any of these bits: call -> (argument, bits).

CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; MAP_HUGETLB, MFD_HUGETLB and
SHM_HUGETLB, since huge pages are a pool of the whole machine that counts as nobody's memory;
CLOSE_RANGE_UNSHARE, by which a thread gets a table of files of its own and hides what it has open;
O_NOTIFICATION_PIPE, whose pages count as nobody's.

The rest is the kernel's memory that counts as nobody's. A call that waits for 2,048 descriptors or
more takes 72 bytes for each, also for one descriptor named again and again. An extended attribute
of 32 bytes or more may be an access list, of which each folder made below gets a copy.
"""

THREAD_AND_FILES = (0x10000, 0x400)
"""The bits CLONE_THREAD and CLONE_FILES of clone, one of which is refused without the other.

A process that shares its table of files with others may take locks and end: they stay, as nobody's
in /proc/locks, by which init counts. Only tools for debugging make such processes, and may. A
thread with a table of its own hides what it has open, and nobody makes one.
"""

INVALID: dict[str, tuple[int, tuple[int, ...]]] = {
    "fcntl": (1, (37, 38, 1024)),
    "prctl": (0, (0x53564D41,)),
}
"""The calls that fail with EINVAL, as on a kernel without them: call -> (argument, values).

F_OFD_SETLK and F_OFD_SETLKW, whose locks /proc/locks shows as nobody's; F_SETLEASE, which doubles
what an open file may hold; PR_SET_VMA, whose names of
memory no control group counts.
"""

INIT = 1
ON_TASKS = {
    "prlimit64": 0,
    "sched_setaffinity": 0,
    "sched_setattr": 0,
    "sched_setparam": 0,
    "sched_setscheduler": 0,
    "setpriority": 1,
}
"""The calls refused on `INIT`: call -> the argument that names a task (the first, but for
setpriority).

They would take from init, which has the same uid, its open files or its turn, and so keep it from
counting. Its first thread counts.
"""

PRIO_USER = 2
"""The first argument of setpriority(2) that names every process of a uid: refused, too."""

PERSONALITIES = (0, 0xFFFFFFFF)
"""The default personality, and the query for the present one; others switch off address
randomisation."""

COUNTED: dict[str, tuple[int, int, int, int]] = {
    "socket": (41, 198, 0, NETLINK),
    "prctl": (157, 167, 0, 22),
    "seccomp": (317, 277, 0, 1),
}
"""The calls that take memory no control group counts: name -> (x86_64 number, aarch64 number,
argument, value).

Sockets of AF_NETLINK; PR_SET_SECCOMP and SECCOMP_SET_MODE_FILTER, whose filters are compiled into a
pool of the whole machine. Init allows a few of them.
"""

NEWEST_KNOWN = 469
"""The newest known call, file_setattr(2) of Linux 6.17; both tables share numbers from 424 on."""

DENIED: dict[str, tuple[int | None, int | None]] = {
    # Other processes' memory and descriptors.
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    "open_by_handle_at": (304, 265),
    # Namespaces and mounts.
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
    # Kernel machinery that an agent never needs.
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
    # The machine as a whole.
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
    # Policies of memory: those of a shared file stay with it, and count as nobody's memory.
    "mbind": (237, 235),
    "set_mempolicy_home_node": (450, 450),
    # The x86 processor.
    "modify_ldt": (154, None),
    "iopl": (172, None),
    "ioperm": (173, None),
}
"""The calls that fail with EPERM: name -> (x86_64 number, aarch64 number)."""

DEBUGGING = ("ptrace", "process_vm_readv", "process_vm_writev")
"""The calls allowed where a profile sets `safety: {debug: true}`, for debuggers.

The kernel applies the filter after a tracer's changes (4.8 on), so no other call becomes possible
with them. Init cannot be traced (PR_SET_DUMPABLE 0).
"""

JUDGED: dict[str, tuple[int, int | None]] = {
    "socket": (41, 198),
    "socketpair": (53, 199),
    "ioctl": (16, 29),
    "clone": (56, 220),
    "personality": (135, 92),
    "setsockopt": (54, 208),
    "mmap": (9, 222),
    "memfd_create": (319, 279),
    "close_range": (436, 436),
    "pipe2": (293, 59),
    "shmget": (29, 194),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "fcntl": (72, 25),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "setpriority": (141, 140),
}
"""The calls that an argument decides on: name -> (x86_64 number, aarch64 number)."""

SET_ID_BITS = 0o6000
"""The bits S_ISUID and S_ISGID: such a file runs as its owner. Without root that is the person, and
on a plain file system every local user could run it."""

CREATING_FLAGS = 0o20000100
"""The flags O_CREAT and __O_TMPFILE: with neither, open(2) has no mode, and its register holds
anything."""

SETS_MODE: dict[str, tuple[int | None, int | None, int]] = {
    "chmod": (90, None, 1),
    "fchmod": (91, 52, 1),
    "fchmodat": (268, 53, 2),
    "fchmodat2": (452, 452, 2),
    "creat": (85, None, 1),
    "mknod": (133, None, 1),
    "mknodat": (259, 33, 2),
}
"""The calls refused with `SET_ID_BITS` in the mode: name -> (x86_64 number, aarch64 number, index
of the mode). mkdir(2) drops the bits itself."""

OPENS: dict[str, tuple[int | None, int | None, int]] = {
    "open": (2, None, 1),
    "openat": (257, 56, 2),
}
"""The calls refused the same way where the flags create: name -> (numbers, index of the flags); the
mode comes next.

openat2(2) has its mode in memory, which a filter cannot read. A file it makes is empty, and the
kernel removes the bits at the first write.
"""

ABSENT: dict[str, tuple[int, int]] = {
    "clone3": (435, 435),
    "io_setup": (206, 0),
    "sync": (162, 81),
    "setxattrat": (463, 463),
}
"""The calls that fail with ENOSYS, as on a kernel without them: name -> (x86_64 number, aarch64
number).

clone3's flags lie in memory a filter cannot read, and libraries fall back to clone. io_setup
reserves from `fs.aio-max-nr` of the whole machine, and databases fall back to threads. sync flushes
every file system of the machine and reports no failure; fsync and syncfs stay. setxattrat's size
lies in memory, too, and libraries have the older calls.
"""

KNOWN = frozenset(
    """
    _sysctl accept accept4 access acct add_key adjtimex afs_syscall alarm arch_prctl bind bpf
    brk cachestat capget capset chdir chmod chown chroot clock_adjtime
    clock_getres clock_gettime clock_nanosleep clock_settime
    clone clone3 close close_range connect copy_file_range creat create_module delete_module dup
    dup2 dup3 epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2
    epoll_wait epoll_wait_old eventfd eventfd2 execve execveat exit exit_group faccessat
    faccessat2 fadvise64 fallocate fanotify_init fanotify_mark fchdir fchmod fchmodat fchmodat2
    fchown fchownat fcntl fdatasync fgetxattr file_getattr file_setattr finit_module flistxattr
    flock fork fremovexattr fsconfig fsetxattr fsmount fsopen fspick fstat fstatat fstatfs fsync
    ftruncate futex futex_requeue futex_wait futex_waitv futex_wake futimesat get_kernel_syms
    get_mempolicy get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid
    geteuid getgid getgroups getitimer getpeername getpgid getpgrp getpid getpmsg getppid
    getpriority getrandom getresgid getresuid getrlimit getrusage getsid getsockname getsockopt
    gettid gettimeofday getuid getxattr getxattrat init_module inotify_add_watch inotify_init
    inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_pgetevents io_setup
    io_submit io_uring_enter io_uring_register io_uring_setup ioctl ioperm iopl ioprio_get
    ioprio_set kcmp kexec_file_load kexec_load keyctl kill landlock_add_rule
    landlock_create_ruleset landlock_restrict_self lchown lgetxattr link linkat listen listmount
    listxattr listxattrat llistxattr lookup_dcookie lremovexattr lseek lsetxattr
    lsm_get_self_attr lsm_list_modules lsm_set_self_attr lstat madvise map_shadow_stack mbind
    membarrier memfd_create memfd_secret migrate_pages mincore mkdir mkdirat mknod mknodat mlock
    mlock2 mlockall mmap modify_ldt mount mount_setattr move_mount move_pages mprotect
    mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap mseal msgctl
    msgget msgrcv msgsnd msync munlock munlockall munmap name_to_handle_at nanosleep newfstatat
    nfsservctl open open_by_handle_at open_tree open_tree_attr openat openat2 pause
    perf_event_open personality pidfd_getfd pidfd_open pidfd_send_signal pipe pipe2 pivot_root
    pkey_alloc pkey_free pkey_mprotect poll ppoll prctl pread64 preadv preadv2 prlimit64
    process_madvise process_mrelease process_vm_readv process_vm_writev pselect6 ptrace putpmsg
    pwrite64 pwritev pwritev2 query_module quotactl quotactl_fd read readahead readlink
    readlinkat readv reboot recvfrom recvmmsg recvmsg remap_file_pages removexattr removexattrat
    rename renameat renameat2 request_key restart_syscall rmdir rseq rt_sigaction rt_sigpending
    rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo
    sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getattr sched_getparam
    sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam
    sched_setscheduler sched_yield seccomp security select semctl semget semop semtimedop
    sendfile sendmmsg sendmsg sendto set_mempolicy set_mempolicy_home_node set_robust_list
    set_thread_area set_tid_address setdomainname setfsgid setfsuid setgid setgroups sethostname
    setitimer setns setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid
    setsockopt settimeofday setuid setxattr setxattrat shmat shmctl shmdt shmget shutdown
    sigaltstack signalfd signalfd4 socket socketpair splice stat statfs statmount statx swapoff
    swapon symlink symlinkat sync sync_file_range sync_file_range2 syncfs sysfs sysinfo syslog
    tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
    timer_settime timerfd_create timerfd_gettime
    timerfd_settime times tkill truncate tuxcall umask umount2 uname unlink
    unlinkat unshare uselib userfaultfd ustat utime utimensat utimes vfork
    vhangup vmsplice vserver wait4 waitid write writev
    """.split()  # noqa: SIM905  a table to be read, not a page of quotes
)
"""The names of every call up to `NEWEST_KNOWN` on either machine, for filters made of names."""


def denied_calls(*, debug: bool = False) -> dict[str, tuple[int | None, int | None]]:
    """Return `DENIED`, less `DEBUGGING` for a sandbox whose profile allows debuggers."""
    return {name: pair for name, pair in DENIED.items() if not (debug and name in DEBUGGING)}
