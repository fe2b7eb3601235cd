"""Settings of the control plane: `config.toml` in its home, then the environment, then flags.

Every setting has a default; an unknown or wrong one stops the start with a sentence.
`ControlSettings` is the list.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from atoll.adapters.extensions.docker.settings import USUAL_RULES, BuildRules
from atoll.domain.agent.registry import find
from atoll.domain.broker.price import PRICES
from atoll.domain.broker.provider import PROVIDERS, safe_base_url
from atoll.domain.errors import Invalid, NotFound
from atoll.domain.event_retention import EventRetention
from atoll.domain.files.host_mount import check_source
from atoll.domain.wall.interior import (
    DEFAULT_LOW_DISK_MB,
    DEFAULT_RUNTIME_MEMORY_MB,
    DEFAULT_RUNTIME_TASKS,
    MIN_RUNTIME_MEMORY_MB,
    MIN_RUNTIME_TASKS,
)
from atoll.domain.wall.isolation import IsolationLevel

DEFAULT_DOCKER_HOST = "unix:///var/run/docker.sock"
MAX_CONFIG_BYTES = 64 * 1024
MAX_PORT = 65535
MAX_AWAY_SECONDS = 3600
_NUMBERS = (
    "port",
    "max_sandboxes",
    "kept_days",
    "event_days",
    "events_per_sandbox",
    "away_seconds",
)
LOG_LEVELS = ("debug", "info", "warning", "error")


Bound = Annotated[int, msgspec.Meta(ge=1)]


class DoorLimitSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of each sandbox's broker; None takes the runtime's own."""

    requests_per_minute: Bound | None = None
    concurrent: Bound | None = None
    bytes_per_hour: Bound | None = None
    spend_micros: dict[str, Bound] = {}
    no_fetch: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """Settings of one control plane.

    `host`, `port`: where to listen; port 0 takes the last one again, else any.
    `public_url`: the address people use when a proxy runs in front.
    `hosts`: further names the server answers to.
    `max_sandboxes`: the limit of each owner.
    `kept_days`: how long worktrees are kept that outlived their sandbox.
    `event_days`, `events_per_sandbox`: how long, and how many, events are kept; 0 keeps all.
    `database_url`: an SQLAlchemy URL; None is SQLite in the home.
    `extensions`: which of the backends that come with Atoll are on.
    `docker_host`: the daemon of `ext.docker`, `unix:///path` of this machine.
    `builds`: what the daemon may use to build images of Dockerfiles.
    `upstreams`: model providers by name, for a base URL other than the usual one.
    `agent_catalogue`: the agents that may be used; None allows all, an empty list none.
    `master_key_command`: a program and its arguments that print the vault's master keys; None
    takes $ATOLL_MASTER_KEY, else `master.key` in the home, made at the first start.
    `door_limits`: bounds of each sandbox's broker: `requests_per_minute`, `concurrent`,
    `bytes_per_hour`, `spend_micros`, millionths of a US dollar by provider, and `no_fetch`,
    providers that may be asked to fetch and call nothing.
    `mount_roots`: folders of the host below which anybody may mount; the file alone says so.
    `share_memory`, `low_disk_mb`, `runtime_memory_mb`, `runtime_tasks`: the zygote's, which reads
    them from the file itself.
    `away_seconds`: how long terminals wait for their drivers while no control plane is there.
    `require_isolation`: the level below which no sandbox runs, nor behind a weak wall.
    `allow_loopback_remotes`: repositories on this machine may be fetched (development).
    """

    home: Path
    host: str = "127.0.0.1"
    port: int = 0
    public_url: str | None = None
    hosts: tuple[str, ...] = ()
    max_sandboxes: int = 50
    away_seconds: int = 120
    kept_days: Bound = 30
    event_days: Annotated[int, msgspec.Meta(ge=0, le=36500)] = 90
    events_per_sandbox: Annotated[int, msgspec.Meta(ge=0)] = 500_000
    log_level: str = "info"
    database_url: str | None = field(default=None, repr=False)
    extensions: tuple[str, ...] = ("namespaces",)
    docker_host: str = DEFAULT_DOCKER_HOST
    builds: BuildRules = USUAL_RULES
    upstreams: dict[str, str] = field(default_factory=dict)
    agent_catalogue: tuple[str, ...] | None = None
    master_key_command: tuple[str, ...] | None = None
    door_limits: DoorLimitSettings = field(default_factory=DoorLimitSettings)
    require_isolation: IsolationLevel | None = None
    allow_loopback_remotes: bool = False
    mount_roots: tuple[str, ...] = ()
    share_memory: bool = False
    low_disk_mb: Annotated[int, msgspec.Meta(ge=0)] = DEFAULT_LOW_DISK_MB
    runtime_memory_mb: Annotated[int, msgspec.Meta(ge=MIN_RUNTIME_MEMORY_MB)] = (
        DEFAULT_RUNTIME_MEMORY_MB
    )
    runtime_tasks: Annotated[int, msgspec.Meta(ge=MIN_RUNTIME_TASKS)] = DEFAULT_RUNTIME_TASKS


def event_retention(settings: ControlSettings) -> EventRetention:
    """Return the retention of events."""
    age = timedelta(days=settings.event_days) if settings.event_days else None
    return EventRetention(age, settings.events_per_sandbox or None)


def read_settings(
    home: Path, environ: Mapping[str, str], flags: Mapping[str, object]
) -> ControlSettings:
    """Return the settings of a home. `flags` holds the options of the command line, None where one
    was not given. Raises `Invalid` with the place and the setting."""
    said: dict[str, object] = {**_from_file(home / "config.toml"), **_from_environ(environ)}
    said.update((name, value) for name, value in flags.items() if value is not None)
    known = {one.name for one in fields(ControlSettings)} - {"home"}
    unknown = sorted(said.keys() - known)
    if unknown:
        raise Invalid(
            f"there is no setting {unknown[0]!r}; there are {', '.join(sorted(known))}",
            field=unknown[0],
        )
    try:
        settings = msgspec.convert({**said, "home": home}, ControlSettings, dec_hook=_path)
    except msgspec.ValidationError as error:
        raise Invalid(f"a setting is wrong: {error}", field="config.toml") from error
    _check(settings)
    return settings


def _from_file(path: Path) -> dict[str, object]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Invalid(f"{path.name} cannot be read: {error.strerror}") from error
    if len(data) > MAX_CONFIG_BYTES:
        raise Invalid(f"{path.name} is larger than {MAX_CONFIG_BYTES} bytes")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Invalid(f"{path.name} is not TOML: {error}") from error


def _from_environ(environ: Mapping[str, str]) -> dict[str, object]:
    texts = {
        name: environ[f"ATOLL_{name.upper()}"]
        for name in (
            "host",
            "public_url",
            "log_level",
            "database_url",
            "docker_host",
            "require_isolation",
        )
        if environ.get(f"ATOLL_{name.upper()}")
    }
    numbers = {
        name: _number(name, environ[f"ATOLL_{name.upper()}"])
        for name in _NUMBERS
        if environ.get(f"ATOLL_{name.upper()}")
    }
    lists = {
        name: [part.strip() for part in environ[f"ATOLL_{name.upper()}"].split(",")]
        for name in ("hosts", "extensions", "agent_catalogue")
        if environ.get(f"ATOLL_{name.upper()}")
    }
    return {**texts, **numbers, **lists}


def _number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Invalid(f"ATOLL_{name.upper()} is {text[:40]!r}, not a whole number", field=name)
    return int(text)


def _path(kind: type, value: object) -> object:
    if kind is Path and isinstance(value, Path):
        return value
    raise NotImplementedError


def _check(settings: ControlSettings) -> None:
    if not 0 <= settings.port <= MAX_PORT:
        raise Invalid(f"port {settings.port} lies outside 0 to {MAX_PORT}", field="port")
    if settings.max_sandboxes < 1:
        raise Invalid("max_sandboxes must be at least 1", field="max_sandboxes")
    if not 0 <= settings.away_seconds <= MAX_AWAY_SECONDS:
        raise Invalid(
            f"away_seconds {settings.away_seconds} lies outside 0 to {MAX_AWAY_SECONDS}",
            field="away_seconds",
        )
    if settings.log_level not in LOG_LEVELS:
        raise Invalid(f"log_level is one of {', '.join(LOG_LEVELS)}", field="log_level")
    if not settings.docker_host.startswith("unix:///"):
        raise Invalid(
            "docker_host is `unix:///path`: only a daemon of this machine can hold sandboxes",
            field="docker_host",
        )
    if settings.public_url is not None:
        _check_url("public_url", settings.public_url)
    _check_agents(settings.agent_catalogue or ())
    _check_caps(settings.door_limits.spend_micros)
    _check_no_fetch(settings.door_limits.no_fetch)
    _check_places(settings)


def _check_places(settings: ControlSettings) -> None:
    for folder in settings.mount_roots:
        check_source(folder)
    for name, url in settings.upstreams.items():
        if not safe_base_url(url):
            # A key goes there: never in the clear over a network.
            raise Invalid(
                f"upstreams.{name} must be https://…, or http:// to this machine", field="upstreams"
            )


def _check_caps(caps: Mapping[str, int]) -> None:
    for name in caps.keys() - PRICES.keys():
        raise Invalid(
            f"door_limits.spend_micros.{name}: what {name} costs is not known here, so a cap would "
            f"hold nothing; known are {', '.join(sorted(PRICES))}",
            field="door_limits",
        )


def _check_no_fetch(names: tuple[str, ...]) -> None:
    for name in names:
        if name not in PROVIDERS:
            raise Invalid(
                f"door_limits.no_fetch: there is no provider {name!r}; there are "
                f"{', '.join(sorted(PROVIDERS))}",
                field="door_limits",
            )


def _check_agents(names: tuple[str, ...]) -> None:
    for name in names:
        try:
            known = find(name)
        except NotFound as error:
            raise Invalid(f"agent_catalogue: {error.message}", field="agent_catalogue") from error
        if known.name != name:
            raise Invalid(
                f"agent_catalogue: write {known.name} for {name}", field="agent_catalogue"
            )


def _check_url(name: str, url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.username:
        raise Invalid(f"{name} must be an http or https URL without credentials", field=name)
