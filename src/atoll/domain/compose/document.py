"""The compose document that Atoll runs, written anew of what was read of a sandbox's file.

Every network in it is `internal`, every service bounded and labelled. It is JSON, which compose
reads as YAML; a dollar sign is doubled, since compose replaces single ones.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, TypeAlias

from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.compose.stack import AGENT, Service, Stack
from atoll.domain.errors import Invalid
from atoll.domain.interior.etc import AGENT_FILES
from atoll.domain.size import MIB
from atoll.domain.wall.interior import (
    BARE_BYTES,
    DEFAULT_MEMORY_BYTES,
    DEFAULT_PIDS,
    HOME,
    SCRATCH,
    init_options,
)
from atoll.domain.wall.resources import Resources
from atoll.wire.words.walls import WORKSPACE

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

PLACE: Final = "/.atoll"
RUN: Final = f"{PLACE}/run"
INIT: Final = f"{PLACE}/init"
LINK: Final = f"{PLACE}/link"
SOCKET: Final = f"{RUN}/link.sock"
KEY: Final = f"{RUN}/key"
"""A named pipe: the link reads its key from it, and it is removed then."""

SERVICE_LABEL: Final = "atoll.service"
ROOTS: Final = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "SETGID", "SETUID")
"""Capabilities of a service that begins as root, to hand its files over and become another user."""

NO_ADDRESS: Final = "com.docker.network.bridge.inhibit_ipv4"
"""Of an internal network too the host would have an address, and so what listens there."""

NOWHERE: Final = ("127.0.0.1",)
"""The resolver for names that are no service's: the service's own loopback. The host's would be
asked from outside the network, where it is on loopback (CVE-2024-29018)."""

OOM_SCORE: Final = 500
TRIES: Final = 5
STOP_SECONDS: Final = 10
MIN_MEMORY_MB: Final = 16
TEMPORARY_BYTES: Final = 64 * MIB
ETC: Final = ("passwd", "group", "nsswitch.conf", "gitconfig", *AGENT_FILES)
_READ_KEY: Final = f'exec "$@" <{KEY}'


@dataclass(frozen=True, slots=True)
class FarFiles:
    """Places on the host, all of them Atoll's: a sandbox's own folder, the programs, and read-only
    folders with their places inside. `uid` owns them there."""

    box: str
    programs: str
    uid: int
    views: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class StackTerms:
    """The rules of one start. `image` is the agent's where the file names none, `labels` are on all
    that is made but volumes, `kept_labels` on volumes."""

    image: str
    hostname: str
    labels: tuple[tuple[str, str], ...]
    kept_labels: tuple[tuple[str, str], ...]
    limits: Resources
    grace_seconds: int
    netlink: int
    files: int
    writable: bool = True
    bare: bool = False


@dataclass(frozen=True, slots=True)
class ServiceShare:
    """The limits of one service."""

    memory_mb: int
    pids: int
    cpu: float | None


def document(stack: Stack, terms: StackTerms, files: FarFiles) -> str:
    """Return our document. Raises `Invalid` for limits that do not fit, or an agent without an
    image."""
    shares = share_limits(stack, terms.limits)
    services: dict[str, Json] = {
        each.name: _service(each, terms, shares[each.name]) for each in stack.others
    }
    agent = stack.agent
    services[AGENT] = _agent(agent, terms, files, shares[AGENT])
    options: dict[str, Json] = {
        "driver": "bridge",
        "internal": True,
        "labels": dict(terms.labels),
        "driver_opts": {NO_ADDRESS: "true"},
    }
    written: dict[str, Json] = {"services": services}
    written["networks"] = dict.fromkeys(stack.networks, options)
    if stack.volumes:
        written["volumes"] = {name: {"labels": dict(terms.kept_labels)} for name in stack.volumes}
    return json.dumps(_escape_dollars(written), indent=1, sort_keys=True)


def check_stack(stack: Stack, limits: Resources, image: str) -> None:
    """Check that the services fit into a sandbox's limits, and that its agent has an image: `image`
    where the file names none. Raises `Invalid` as `document` does."""
    share_limits(stack, limits)
    _image_of(stack.agent, image)


def share_limits(stack: Stack, limits: Resources) -> Mapping[str, ServiceShare]:
    """Return the limits of each service, which together are the sandbox's. What a service does not
    name is shared equally. Raises `Invalid` where nothing is left."""
    memory = limits.memory_mb or DEFAULT_MEMORY_BYTES // MIB
    claimed = [each for each in stack.services if each.memory_mb is not None]
    rest = memory - sum(each.memory_mb or 0 for each in claimed)
    sharing = len(stack.services) - len(claimed)
    if rest < MIN_MEMORY_MB * sharing:
        raise Invalid(
            f"the services of the compose file name more memory than the {memory} MB of their "
            "sandbox: name less, or raise memory_mb of the profile",
            field="resources.memory_mb",
        )
    pids = max(1, (limits.pids or DEFAULT_PIDS) // len(stack.services))
    cpu = _cpu_shares(stack, limits.cpu)
    return {
        each.name: ServiceShare(each.memory_mb or rest // max(1, sharing), pids, cpu[each.name])
        for each in stack.services
    }


def _cpu_shares(stack: Stack, whole: float | None) -> Mapping[str, float | None]:
    """Return processor time; without a limit of the sandbox's, what each service names."""
    if whole is None:
        return {each.name: each.cpu for each in stack.services}
    rest = whole - sum(each.cpu or 0 for each in stack.services)
    sharing = sum(each.cpu is None for each in stack.services)
    if rest < 0.01 * sharing:
        raise Invalid(
            f"the services of the compose file name more processors than the {whole:g} of their "
            "sandbox: name less, or raise cpu of the profile",
            field="resources.cpu",
        )
    each_gets = round(rest / max(1, sharing), 2)
    return {each.name: each_gets if each.cpu is None else each.cpu for each in stack.services}


def _common_fields(service: Service, terms: StackTerms, share: ServiceShare) -> dict[str, Json]:
    """Return the fields that every service has: its limits, labels and networks."""
    found: dict[str, Json] = {
        "labels": {**dict(terms.labels), SERVICE_LABEL: service.name},
        "cap_drop": ["ALL"],
        "dns": list(NOWHERE),
        "mem_limit": f"{share.memory_mb}m",
        "memswap_limit": f"{share.memory_mb}m",
        "pids_limit": share.pids,
        "oom_score_adj": OOM_SCORE,
        "ulimits": {"core": 0, "nofile": {"soft": min(1024, terms.files), "hard": terms.files}},
        "logging": {"driver": "json-file", "options": {"max-size": "1m", "max-file": "1"}},
        "networks": {
            name: {"aliases": list(aliases)} if aliases else None
            for name, aliases in service.networks
        },
    }
    if share.cpu is not None:
        found["cpus"] = share.cpu
    if service.depends_on:
        found["depends_on"] = {name: {"condition": how} for name, how in service.depends_on}
    return found


def _service(service: Service, terms: StackTerms, share: ServiceShare) -> dict[str, Json]:
    written: dict[str, Json] = {
        **_common_fields(service, terms, share),
        "image": service.image,
        "cap_add": list(ROOTS),
        "security_opt": ["no-new-privileges:true"],
        "restart": f"on-failure:{TRIES}" if service.restarts else "no",
        "init": service.init,
        "read_only": service.read_only,
        "stop_grace_period": f"{service.stop_seconds or STOP_SECONDS}s",
        "volumes": [
            _mount("volume", mount.volume, mount.target, read_only=mount.read_only)
            for mount in service.mounts
            if mount.volume
        ],
        "tmpfs": [
            f"{mount.target}:rw,exec,nosuid,nodev,mode=1777,size={TEMPORARY_BYTES}"
            for mount in service.mounts
            if not mount.volume
        ],
    }
    named: dict[str, Json] = {
        "command": _list(service.command),
        "entrypoint": _list(service.entrypoint),
        "environment": dict(service.environment) or None,
        "working_dir": service.working_dir,
        "user": service.user,
        "healthcheck": _health(service),
    }
    return written | {key: value for key, value in named.items() if value is not None}


def _list(words: tuple[str, ...] | None) -> Json:
    return None if words is None else list(words)


def _health(service: Service) -> Json:
    health = service.health
    if health is None:
        return None
    if not health.test:
        return {"disable": True}
    times = (
        ("interval", health.interval),
        ("timeout", health.timeout),
        ("start_period", health.start_period),
    )
    found: dict[str, Json] = {name: f"{value}s" for name, value in times if value is not None}
    if health.retries is not None:
        found["retries"] = health.retries
    return {"test": list(health.test), **found}


def _agent(
    service: Service, terms: StackTerms, files: FarFiles, share: ServiceShare
) -> dict[str, Json]:
    return {
        **_common_fields(service, terms, share),
        "image": _image_of(service, terms.image),
        "hostname": terms.hostname,
        "user": f"{files.uid}:{files.uid}",
        "entrypoint": ["/bin/sh", "-c", _READ_KEY, "sh", *_argv(terms)],
        "command": [],
        "working_dir": "/",
        "read_only": True,
        "restart": "no",
        "init": False,
        "security_opt": ["no-new-privileges:true"],
        "healthcheck": {"disable": True},
        "stop_grace_period": f"{STOP_SECONDS}s",
        "volumes": list(_container_mounts(service, terms, files)),
        "tmpfs": [
            f"{place}:rw,exec,nosuid,nodev,mode={mode:o},size={size},uid={files.uid},gid={files.uid}"
            for place, mode, size in _tmpfs_mounts(service, bare=terms.bare)
        ],
    }


def _image_of(agent: Service, image: str) -> str:
    found = agent.image or image
    if not found:
        raise Invalid(
            "no image for the agent: name one in the profile, or in a service `agent` of the "
            "compose file",
            field="image",
        )
    return found


def _argv(terms: StackTerms) -> Iterator[str]:
    yield from (LINK, "serve", "--socket", SOCKET, "--grace", str(terms.grace_seconds), "--")
    yield from (INIT, "--control-fd", "3")
    yield from init_options(netlink=terms.netlink, files=terms.files)


def _container_mounts(service: Service, terms: StackTerms, files: FarFiles) -> Iterator[Json]:
    """Yield the container's mounts. Paths on the host are Atoll's own, none is of the file."""
    yield _mount("bind", f"{files.programs}/init", INIT)
    yield _mount("bind", f"{files.programs}/link", LINK)
    yield _mount("bind", f"{files.box}/run", RUN, read_only=False)
    yield _mount("bind", f"{files.box}/state", f"{PLACE}/state", read_only=False)
    for name, inside in HOME_STATE:
        yield _mount("bind", f"{files.box}/state/{name}", f"{HOME}/{inside}", read_only=False)
    if not terms.bare:
        source = f"{files.box}/workspace"
        yield _mount("bind", source, WORKSPACE, read_only=not terms.writable)
    for name in ETC:
        yield _mount("bind", f"{files.box}/etc/{name}", f"/etc/{name}")
    for source, target in files.views:
        yield _mount("bind", source, target)
    for mount in service.mounts:
        if mount.volume:
            yield _mount("volume", mount.volume, mount.target, read_only=mount.read_only)


def _tmpfs_mounts(service: Service, *, bare: bool) -> Iterator[tuple[str, int, int]]:
    """Yield each tmpfs mount: its path, mode and size in bytes."""
    sizes = {place: (mode, size) for place, mode, size in SCRATCH}
    for _, inside in HOME_STATE:
        for parent in list(PurePosixPath(inside).parents)[:-1]:
            sizes[f"{HOME}/{parent}"] = sizes[HOME]
    if bare:
        sizes[WORKSPACE] = (0o755, BARE_BYTES)
    for mount in service.mounts:
        sizes.pop(mount.target, None)
        if not mount.volume:
            sizes[mount.target] = (0o1777, TEMPORARY_BYTES)
    yield from ((place, mode, size) for place, (mode, size) in sizes.items())


def _mount(kind: str, source: str, target: str, *, read_only: bool = True) -> Json:
    return {"type": kind, "source": source, "target": target, "read_only": read_only}


def _escape_dollars(value: Json) -> Json:
    """Return the document with dollar signs doubled."""
    if isinstance(value, str):
        return value.replace("$", "$$")
    if isinstance(value, list):
        return [_escape_dollars(each) for each in value]
    if isinstance(value, dict):
        return {key: _escape_dollars(each) for key, each in value.items()}
    return value
