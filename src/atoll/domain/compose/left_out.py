"""Keys that a compose file may have without effect: they are left out, and a note says so.

Nothing here widens what a service may do. What would is in `reading.WHY`, and refused.
"""

from typing import Final

NOTES: Final = {
    "annotations": "containers have only Atoll's",
    "attach": "the output of services is not shown",
    "build": "nothing is built: its image is used as it is",
    "cap_drop": "services have few capabilities anyway",
    "container_name": "containers are named by Atoll",
    "cpu_count": "processors are divided by `cpus`",
    "cpu_percent": "processors are divided by `cpus`",
    "cpu_shares": "processors are divided by `cpus`",
    "cpuset": "processors are divided by `cpus`",
    "deploy": "of it only the limits of memory and processors count",
    "develop": "nothing is watched",
    "domainname": "a service is reached by its name in the file",
    "expose": "services of a sandbox reach every port of each other",
    "hostname": "a service is reached by its name in the file",
    "labels": "containers have only Atoll's",
    "logging": "logs are bounded by Atoll",
    "mem_reservation": "memory is divided by `mem_limit`",
    "mem_swappiness": "services have no swap",
    "memswap_limit": "services have no swap",
    "platform": "images are those of the host's kind",
    "ports": "nothing is published on the host: the service is reached by its name, inside",
    "pull_policy": "images are fetched where they are missing",
    "scale": "each service has one container",
    "shm_size": "shared memory has the Engine's usual size",
    "stdin_open": "services have no terminal",
    "stop_signal": "services are stopped as their image says",
    "tty": "services have no terminal",
    "ulimits": "limits are those of the sandbox",
}
"""Keys of a service that are left out, and why that is enough."""


def note(path: str, key: str) -> str:
    """Return the sentence for a key that was left out. `path` is its place in the file."""
    return f"{path} has no effect: {NOTES[key]}"
