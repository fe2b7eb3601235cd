"""The network of a sandbox: the mode of its egress door, and what that lets through."""

from dataclasses import dataclass

from atoll.wire.words.networks import NetworkMode


@dataclass(frozen=True, slots=True)
class Network:
    """The network of a profile: everything is denied by default.

    `egress` lists what the door lets through: hosts, or presets by name (`pypi`, `npm`).
    `host_ports` and private `ranges` apply in `host-only`, `ports` in `full` beside the usual ones;
    the megabytes bound what leaves and what comes in. A sandbox's owner added `allowed` and
    `denied` while it lived; denied hosts take precedence. At most `netlink` sockets that list
    interfaces and routes are open at once; None takes the default.
    """

    default: str = "deny"
    egress: tuple[str, ...] = ()
    mode: NetworkMode = NetworkMode.LIMITED
    host_ports: tuple[int, ...] = ()
    ranges: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    out_mb_per_hour: int | None = None
    in_mb_per_hour: int | None = None
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    netlink: int | None = None
