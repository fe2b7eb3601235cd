"""The interior of every sandbox, whatever builds its wall: tables, and few rules.

The zygote reads them for bubblewrap, the Docker extension for the Engine, so that an agent finds
the same places behind both.
"""

from atoll.domain.size import MIB

DOORS = (8082, 3128)
"""The ports of the broker and the egress proxy."""

BROKER_DOOR = f"http://127.0.0.1:{DOORS[0]}"
"""The broker's address as seen from inside, by number: the name `localhost` could also resolve to
somebody else's ::1."""

BROKER = f"{BROKER_DOOR}/broker"
PROXY = f"http://127.0.0.1:{DOORS[1]}"

HOME = "/home/agent"

DEFAULT_MEMORY_BYTES = 4 * 2**30
DEFAULT_PIDS = 512
DEFAULT_FILES = 16_384
DEFAULT_NETLINK = 64
"""The limits where a profile names none.

`DEFAULT_FILES` is for each process (RLIMIT_NOFILE, hard). `DEFAULT_NETLINK` counts route sockets
alive at once, at 212,992 bytes that no control group counts.
"""

LEFT_CPU_MILLIS = 500
"""The processor time that no sandbox gets by default, in thousandths of a core."""


def default_cpu_millis(cores: int) -> int:
    """Return the default processor time of a sandbox, on a machine of so many cores.

    All but half a core, so that one sandbox cannot take the machine from the others.
    """
    return max(LEFT_CPU_MILLIS, cores * 1000 - LEFT_CPU_MILLIS)


FILTERS = 64
"""The seccomp filters that programs inside may have alive at once. Each is compiled into a pool of
the whole machine (net.core.bpf_jit_limit), and takes at most some 200 kB of it."""

DATAGRAMS = 128
"""The datagram sockets of IPv4 and IPv6 that programs inside may have alive at once. Each may keep
64 KiB to send later, 208 KiB to be read and 128 KiB of options, which no control group counts."""

OBJECTS = 8192
"""The timers, events and polls (timerfd, eventfd, epoll) that programs inside may have open at
once: an object of up to 256 bytes lies behind each, which no control group counts."""


def init_options(
    *, netlink: int, nproc: int | None = None, files: int | None = None
) -> tuple[str, ...]:
    """Return the options by which init opens the doors and limits programs; without a number the
    wall limits processes, or open files."""
    limits = (("--nproc", nproc), ("--files", files))
    return (
        *(word for door in DOORS for word in ("--door", str(door))),
        *("--netlink", str(netlink), "--datagrams", str(DATAGRAMS)),
        *("--objects", str(OBJECTS), "--filters", str(FILTERS)),
        *(word for name, most in limits if most is not None for word in (name, str(most))),
    )


LATE_PLACES = ("/.atoll/repos", "/opt/atoll/agents")
"""The folders of repositories and of agents' layers, which reach a pooled sandbox late."""

LATE_PLACE_BYTES = 64 * 1024
"""The size of one: there are mount points in it, and nothing else."""

SOCKET_BYTES = 64 * MIB
"""The bytes that wait in sockets on the loopback.

They come from a pool of the whole machine (tcp_mem). Cgroup v1 counts them separately, and by
default not at all; v2 counts them as memory.
"""

DEFAULT_LOW_DISK_MB = 2048
"""The default free disk space below which no sandbox starts."""

DEFAULT_RUNTIME_MEMORY_MB = 512
"""The memory of a sandbox's runtime: an idle runtime takes some 12 MiB, a thousand terminals
350."""

MIN_RUNTIME_MEMORY_MB = 64
DEFAULT_RUNTIME_TASKS = 96
"""The processes and threads of a runtime: it forks nothing, and uses threads to resolve names and
move files."""

MIN_RUNTIME_TASKS = 32

DEFAULT_CONTROL_MEMORY_MB = 1024
"""The memory of a control plane: it begins with 190 MiB."""

MIN_CONTROL_MEMORY_MB = 256

SCRATCH = (
    ("/tmp", 0o1777, 512 * MIB),  # noqa: S108  names inside the sandbox
    ("/var/tmp", 0o1777, 256 * MIB),  # noqa: S108
    ("/run", 0o755, 64 * MIB),
    ("/var/cache/apt", 0o755, 256 * MIB),
    ("/var/lib/apt/lists", 0o755, 128 * MIB),
    ("/home/agent", 0o755, 1024 * MIB),
    ("/dev/shm", 0o1777, 256 * MIB),  # noqa: S108
)
"""The writable places in memory: (where, mode, bytes)."""

BARE_BYTES = 64 * MIB
"""The bytes of the empty file system that replaces a workspace nobody may see."""

MASKED = (
    "/proc/acpi",
    "/proc/asound",
    "/proc/interrupts",
    "/proc/kcore",
    "/proc/keys",
    "/proc/latency_stats",
    "/proc/sched_debug",
    "/proc/scsi",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sysrq-trigger",
    "/proc/kmsg",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/kallsyms",
    "/proc/cmdline",
    "/proc/config.gz",
)
"""The parts of /proc that reveal the machine or its other users; absent ones are skipped."""

PREFIXES = (
    ("npm", "NPM_CONFIG_PREFIX", ".npm-global"),
    ("pip", "PYTHONUSERBASE", ".local"),
    ("cargo", "CARGO_HOME", ".cargo"),
)
"""The places for programs without a writable root: (installer, its variable, directory below the
home)."""

GIT_NAME, GIT_EMAIL = "agent", "agent@localhost"
"""The committer until somebody sets another identity."""
