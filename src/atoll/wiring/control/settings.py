"""Settings of the control plane: `config.toml` in its home, then the environment, then flags.

Every setting has a default; an unknown or wrong one stops the start with a sentence. Each section
lies with its feature, which owns and checks it; `ControlSettings` is the list of sections.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from difflib import SequenceMatcher
from ipaddress import ip_address
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import msgspec

from atoll.adapters.agents.settings import AgentSettings
from atoll.adapters.blobs.settings import BlobSettings
from atoll.adapters.bus.settings import BusSettings
from atoll.adapters.drive.settings import DriveSettings
from atoll.adapters.extensions.cloudflare.settings import CloudflareSettings
from atoll.adapters.extensions.daytona.settings import DaytonaSettings
from atoll.adapters.extensions.docker.settings import DockerSettings
from atoll.adapters.extensions.e2b.settings import E2bSettings
from atoll.adapters.extensions.modal.settings import ModalSettings
from atoll.adapters.extensions.openshell.settings import OpenShellSettings
from atoll.adapters.forges.settings import ForgeSettings
from atoll.adapters.gateway.settings import SshSettings
from atoll.adapters.issuers.settings import IssuerSettings
from atoll.adapters.notices.settings import NoticeSettings
from atoll.adapters.push.settings import PushSettings
from atoll.adapters.storage.engines.settings import StorageSettings
from atoll.adapters.telemetry.settings import TelemetrySettings
from atoll.adapters.vaults.settings import VaultSettings
from atoll.adapters.webhooks.settings import WebhookSettings
from atoll.domain.broker.provider import safe_base_url
from atoll.domain.errors import Invalid
from atoll.services.settings import ServiceSettings
from atoll.surfaces.http.server.settings import ServerSettings
from atoll.wiring.launch.handed_file import replace_named
from atoll.zygote.host.own_settings import OwnSettings

MAX_CONFIG_BYTES = 64 * 1024
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")

# Settings that the environment may set, too.
_TEXTS = {
    *(
        "host",
        "public_url",
        "preview_domain",
        "tls_cert",
        "tls_key",
        "log_level",
        "front_end_secret_file",
        "internal_api_token",
    ),
    *("database_url", "docker_host", "require_isolation"),
    *("push_contact", "notify_command", "sovereign_id", "uri_scheme"),
    *("bus_url", "bus_prefix", "bus_credentials", "bus_tls_ca", "bus_tls_cert", "bus_tls_key"),
    *("log_format", "metrics", "otlp_endpoint", "ssh_address"),
    *("drive_client_id", "drive_client_secret_file"),
    *("content_store", "content_endpoint", "content_region", "content_credentials_file"),
}
_NUMBERS = {
    *("port", "max_sandboxes", "max_working", "max_pooled", "requests_per_minute"),
    "max_snapshot_gb",
    *("kept_days", "event_days", "events_per_sandbox", "audit_days", "away_seconds"),
    "worker_event_days",
    "database_connections",
    *("bus_days", "bus_mb", "bus_window_seconds", "bus_copies"),
    *("pat_max_days", "pat_default_days"),
}
_LISTS = {
    *("hosts", "extensions", "agent_catalogue", "outside_namespaces"),
    *("webhook_ranges", "forge_ranges", "front_end_ranges", "trusted_proxies"),
}

PREFIX = "ATOLL_"
_LINK: Final = re.compile(r"(?:tcp|udp|sctp)://(?P<address>[0-9.]+|\[?[0-9a-fA-F:.]+\]?):(\d{1,5})")
_PORT: Final = "_PORT"
_OTHERS: Final = r"_SERVICE_HOST|_SERVICE_PORT(?:_\w+)?|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_\w+)?"
CLOSE = 0.85
"""Likeness of a misspelt name, `difflib.SequenceMatcher`: a letter or two of it."""

_LITERAL = {"internal_api_token": "INTERNAL_API_TOKEN"}
"""Names that others' contracts have, beside those with our prefix."""


@dataclass(frozen=True, slots=True)
class LogSettings:
    """Settings of the control plane's log. Raises `Invalid` for a level or a format there is
    not."""

    log_level: str = "info"
    log_format: str = "text"

    def __post_init__(self) -> None:
        if self.log_level not in LOG_LEVELS:
            raise Invalid(f"log_level is one of {', '.join(LOG_LEVELS)}", field="log_level")
        if self.log_format not in LOG_FORMATS:
            raise Invalid(f"log_format is one of {', '.join(LOG_FORMATS)}", field="log_format")


@dataclass(frozen=True, slots=True)
class ExtensionSettings:
    """Settings of backends. Raises `Invalid` for a base URL that would send keys in the clear.

    `extensions`: which of the backends that come with Atoll are on.
    `upstreams`: model providers by name, for a base URL other than the usual one.
    """

    extensions: tuple[str, ...] = ("namespaces",)
    upstreams: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, url in self.upstreams.items():
            if not safe_base_url(url):
                # A key goes there: never in the clear over a network.
                raise Invalid(
                    f"upstreams.{name} must be https://…, or http:// to this machine",
                    field="upstreams",
                )


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """Settings of the vendors of machines.

    `cloudflare`: where one's Worker answers, and its classes of containers by image.
    `daytona`, `daytona_self`: where a Daytona answers, and its snapshots by image.
    `e2b`: where E2B answers, and its templates by image.
    `modal`: where Modal answers, its app, and its images by image.
    `openshell`: the gateway of OpenShell, and its images.
    """

    cloudflare: CloudflareSettings = field(default_factory=CloudflareSettings)
    daytona: DaytonaSettings = field(default_factory=DaytonaSettings)
    daytona_self: DaytonaSettings = field(default_factory=DaytonaSettings)
    e2b: E2bSettings = field(default_factory=E2bSettings)
    modal: ModalSettings = field(default_factory=ModalSettings)
    openshell: OpenShellSettings = field(default_factory=OpenShellSettings)


@dataclass(frozen=True, slots=True)
class ControlSettings:
    """Settings of one control plane, a section for each feature.

    Two sections that declare the same name receive the same value. `zygote` is read by the zygote
    itself, from the file; here its values are only checked. `machines_fd` is no setting: the open
    control group of virtual machines, where there is one.
    """

    home: Path
    machines_fd: int | None = None
    server: ServerSettings = field(default_factory=ServerSettings)
    log: LogSettings = field(default_factory=LogSettings)
    storage: StorageSettings = field(default_factory=StorageSettings)
    vault: VaultSettings = field(default_factory=VaultSettings)
    agents: AgentSettings = field(default_factory=AgentSettings)
    backends: ExtensionSettings = field(default_factory=ExtensionSettings)
    notices: NoticeSettings = field(default_factory=NoticeSettings)
    push: PushSettings = field(default_factory=PushSettings)
    webhooks: WebhookSettings = field(default_factory=WebhookSettings)
    forges: ForgeSettings = field(default_factory=ForgeSettings)
    drive: DriveSettings = field(default_factory=DriveSettings)
    issuers: IssuerSettings = field(default_factory=IssuerSettings)
    docker: DockerSettings = field(default_factory=DockerSettings)
    clouds: CloudSettings = field(default_factory=CloudSettings)
    zygote: OwnSettings = field(default_factory=OwnSettings)
    services: ServiceSettings = field(default_factory=ServiceSettings)
    contents: BlobSettings = field(default_factory=BlobSettings)
    bus: BusSettings = field(default_factory=BusSettings)
    telemetry: TelemetrySettings = field(default_factory=TelemetrySettings)
    ssh: SshSettings = field(default_factory=SshSettings)


_GROUPS = (ControlSettings, ServiceSettings)


def read_settings(
    home: Path,
    environ: Mapping[str, str],
    flags: Mapping[str, object],
    handed: Mapping[str, str] = MappingProxyType({}),
) -> ControlSettings:
    """Return the settings of a home. `flags` holds the options of the command line, None where one
    was not given; `handed` where private files are that root handed over. Variables of linked
    services count as none. Raises `Invalid` with the place and the setting."""
    given: dict[str, object] = {**_from_file(home / "config.toml"), **_from_environ(environ)}
    given = replace_named(given, handed)
    given.update((name, value) for name, value in flags.items() if value is not None)
    known = setting_names()
    unknown = sorted(given.keys() - known)
    if unknown:
        raise Invalid(
            f"there is no setting {unknown[0]!r}; there are {', '.join(sorted(known))}",
            field=unknown[0],
        )
    try:
        return ControlSettings(home, **_sections(ControlSettings, given))
    except msgspec.ValidationError as error:
        raise Invalid(f"a setting is wrong: {error}", field="config.toml") from error


def extension_options(settings: ControlSettings) -> dict[str, object]:
    """Return the settings of backends, by the names that `ExtensionSetup.options` has."""
    clouds = settings.clouds
    rented = {one.name: getattr(clouds, one.name) for one in fields(clouds)}
    return {**asdict(settings.docker), **rented}


def setting_names() -> frozenset[str]:
    """Return the names of all settings, as `config.toml` spells them."""
    return frozenset(_names(ControlSettings))


def _names(kind: Any) -> Iterator[str]:
    for one in fields(kind):
        if kind not in _GROUPS:
            yield one.name
        elif is_dataclass(one.type):
            yield from _names(one.type)


def _sections(group: Any, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the sections of a group by name, each with the values that it declares."""
    return {one.name: _section(one.type, given) for one in fields(group) if is_dataclass(one.type)}


def _section(kind: Any, given: Mapping[str, object]) -> Any:
    if kind in _GROUPS:
        return kind(**_sections(kind, given))
    return msgspec.convert({name: given[name] for name in _names(kind) if name in given}, kind)


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


def ignored_variables(environ: Mapping[str, str]) -> list[str]:
    """Return the variables that read as settings of ours and are those that Kubernetes and Docker
    set for a service they link to: `ATOLL_PORT=tcp://10.0.0.1:80`, `ATOLL_SERVICE_HOST` and more
    for one named `atoll`. A port that is wrong otherwise is no link."""
    found: set[str] = set()
    for name, value in environ.items():
        if name.startswith(PREFIX) and name.endswith(_PORT) and _is_link(value):
            others = re.compile(f"{re.escape(name.removesuffix(_PORT))}(?:{_OTHERS})")
            found |= {name, *filter(others.fullmatch, environ)}
    return sorted(found)


def _is_link(value: str) -> bool:
    link = _LINK.fullmatch(value)
    if link is None:
        return False
    try:
        ip_address(link["address"].strip("[]"))
    except ValueError:
        return False
    return 0 < int(link[2]) < 2**16


def _from_environ(environ: Mapping[str, str]) -> dict[str, object]:
    links = ignored_variables(environ)
    environ = {name: value for name, value in environ.items() if name not in links}
    _check_names(environ)
    found: dict[str, object] = {}
    for name in sorted(_TEXTS | _NUMBERS | _LISTS):
        text = environ.get(f"ATOLL_{name.upper()}") or environ.get(_LITERAL.get(name, ""))
        if not text:
            continue
        if name in _NUMBERS:
            found[name] = _parse_number(name, text)
        elif name in _LISTS:
            found[name] = [part.strip() for part in text.split(",")]
        else:
            found[name] = text
    return found


def _check_names(environ: Mapping[str, str]) -> None:
    """Check that no variable means a setting and is ignored: one that only the file may have, or
    one that is misspelt. Other programs' variables may begin with `ATOLL_`. Raises `Invalid`."""
    given = {name.removeprefix(PREFIX).lower() for name in environ if name.startswith(PREFIX)}
    readable = _TEXTS | _NUMBERS | _LISTS
    for name in sorted(given - readable):
        variable = f"{PREFIX}{name.upper()}"
        if name in setting_names():
            raise Invalid(
                f"{variable} sets nothing: {name} is read from config.toml alone", field=name
            )
        near = next((each for each in sorted(readable) if _is_misspelt(name, each)), None)
        if near is not None:
            raise Invalid(
                f"there is no setting {variable}; did you mean {PREFIX}{near.upper()}?", field=name
            )


def _is_misspelt(name: str, setting: str) -> bool:
    likeness = SequenceMatcher(None, name, setting).ratio()
    return likeness >= CLOSE or sorted(name) == sorted(setting)


def _parse_number(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise Invalid(f"ATOLL_{name.upper()} is {text[:40]!r}, not a whole number", field=name)
    return int(text)
