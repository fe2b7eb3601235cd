"""Variables that Kubernetes and Docker set for a service they link to: none of ours.

A Service named `atoll` puts `ATOLL_PORT=tcp://10.0.0.1:80`, `ATOLL_SERVICE_HOST` and more into each
pod of its namespace, and a container linked as `atoll` has the like. They read as our settings.
"""

import re
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Final

import structlog

_LINK: Final = re.compile(r"(?:tcp|udp|sctp)://(?P<address>[0-9.]+|\[?[0-9a-fA-F:.]+\]?):(\d{1,5})")
_PORT: Final = "_PORT"
_log = structlog.get_logger(__name__)
_OTHERS: Final = r"_SERVICE_HOST|_SERVICE_PORT(?:_\w+)?|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?"


def find_service_links(environ: Mapping[str, str], prefix: str) -> frozenset[str]:
    """Return the variables with this prefix that describe a linked service, by the one that holds
    its address: `<SERVICE>_PORT=tcp://10.0.0.1:80`. A port that is wrong otherwise is no link."""
    found = set()
    for name, value in environ.items():
        if name.startswith(prefix) and name.endswith(_PORT) and _is_link(value):
            others = re.compile(f"{re.escape(name.removesuffix(_PORT))}(?:{_OTHERS})")
            found |= {name, *filter(others.fullmatch, environ)}
    return frozenset(found)


def log_ignored(variables: Sequence[str]) -> None:
    """Log which variables were taken for those of a linked service, where there are any."""
    if variables:
        _log.warning(
            "service_links_ignored",
            variables=", ".join(variables),
            hint="a service of this name is linked here: `enableServiceLinks: false` leaves it out",
        )


def _is_link(value: str) -> bool:
    link = _LINK.fullmatch(value)
    if link is None:
        return False
    try:
        ip_address(link["address"].strip("[]"))
    except ValueError:
        return False
    return 0 < int(link[2]) < 2**16
