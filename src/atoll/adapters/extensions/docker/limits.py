"""The limits of a container that a daemon can set on its machine."""

from collections.abc import Iterator

from atoll.adapters.extensions.docker.engine import Info
from atoll.domain.wall.interior import default_cpu_millis

UNBOUNDED = "the daemon cannot bound it"


def find_unbounded(info: Info) -> Iterator[str]:
    """Yield each limit that the daemon cannot set, by its word in `degraded`."""
    bounded = {
        "memory": info.memory_limit,
        "swap": info.swap_limit,
        "cpu": info.cpu_cfs_quota,
        "pids": info.pids_limit,
    }
    yield from (name for name, has in bounded.items() if not has)


def find_cpu_millis(cpu: float | None, info: Info) -> int | None:
    """Return the processor limit of a container; None where the daemon cannot limit it, because it
    would refuse the request. The sandbox is then `degraded`."""
    if cpu is not None:
        return int(cpu * 1000)
    return default_cpu_millis(info.cores) if info.cpu_cfs_quota and info.cores else None
