"""The settings that an installation needs where strangers reach it: `atoll doctor --public`.

Denies by default: what is not set as a public installation needs it is a finding. Only the file and
the environment are read, as the control plane reads them; options of `atoll up` are not known here.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from atoll.domain.errors import AtollError
from atoll.domain.network.bounds import ANY_HOST
from atoll.ports.host import Finding
from atoll.wire.words.walls import IsolationLevel
from atoll.wiring.control.settings import ControlSettings, read_settings
from atoll.wiring.doctor import interpreter, time_stamps
from atoll.zygote.host.title import has_title

LONGEST_TOKEN_DAYS: Final = 90
_UNLIMITED: Final = 1 << 60
_GROUPS: Final = Path("/sys/fs/cgroup")
_PROC: Final = Path("/proc")


def findings(
    home: Path,
    environ: Mapping[str, str] = os.environ,
    *,
    proc: Path = _PROC,
    groups: Path = _GROUPS,
) -> Iterator[Finding]:
    """Report on each setting that a public installation needs, most important first."""
    try:
        settings = read_settings(home, environ, {})
    except AtollError as error:
        yield Finding("settings", "fail", error.message, "Correct config.toml.")
        return
    for check in _CHECKS:
        yield from check(settings)
    yield _memory(home, proc, groups)
    yield from time_stamps.findings(level="fail")
    for one in interpreter.findings():
        yield one if one.level == "ok" else Finding(one.name, "fail", one.text, one.fix)


def _encryption(settings: ControlSettings) -> Iterator[Finding]:
    server = settings.server
    if server.tls_cert is not None or (server.public_url or "").startswith("https://"):
        yield Finding("encryption", "ok", f"logins go by {server.public_url or 'TLS of its own'}")
        return
    yield Finding(
        "encryption",
        "fail",
        "nothing says that logins and terminals are encrypted",
        "Set public_url to the https:// address of the proxy in front, or tls_cert and tls_key.",
    )


def _network(settings: ControlSettings) -> Iterator[Finding]:
    given = settings.services.policies.bounds
    if given is None:
        yield Finding(
            "network bounds",
            "warn",
            "members and guests open nothing of this machine; the holder of the home's token does",
            "Set network_bounds: it then holds for everybody.",
        )
        return
    names = ("full", "host_ports", "ranges", "ports", "open_network")
    opened = [name for name in names if getattr(given, name)]
    if opened:
        yield Finding(
            "network bounds",
            "fail",
            f"every member and guest may open network_bounds.{', '.join(opened)}",
            "Leave them out, unless everybody who comes in may reach that.",
        )
    else:
        yield Finding("network bounds", "ok", "no sandbox reaches this machine or its network")
    if ANY_HOST in given.egress:
        yield Finding(
            "egress",
            "warn",
            "whoever manages a sandbox lets it reach any public name",
            "List in network_bounds.egress what sandboxes may reach.",
        )


def _isolation(settings: ControlSettings) -> Iterator[Finding]:
    level = settings.services.admission.require_isolation
    if level in (IsolationLevel.CONTAINER, IsolationLevel.MICROVM):
        yield Finding("require_isolation", "ok", f"no sandbox runs behind less than {level}")
        return
    yield Finding(
        "require_isolation",
        "fail",
        "a sandbox may run behind a weak wall",
        "Set require_isolation to container or microvm.",
    )


def _proxies(settings: ControlSettings) -> Iterator[Finding]:
    server = settings.server
    if server.tls_cert is not None and not server.trusted_proxies:
        yield Finding("trusted_proxies", "ok", "none: clients are told apart by their addresses")
    elif server.trusted_proxies:
        yield Finding(
            "trusted_proxies", "ok", f"clients are named by {', '.join(server.trusted_proxies)}"
        )
    else:
        yield Finding(
            "trusted_proxies",
            "fail",
            "all who come by the proxy count as one client",
            "Set trusted_proxies to the addresses of the proxy alone.",
        )


def _metrics(settings: ControlSettings) -> Iterator[Finding]:
    if settings.telemetry.metrics == "on":
        yield Finding(
            "metrics",
            "fail",
            "every program of this machine reads the metrics, the proxy among them",
            'Set metrics = "token".',
        )
    else:
        yield Finding("metrics", "ok", f"metrics = {settings.telemetry.metrics}")


def _logins(settings: ControlSettings) -> Iterator[Finding]:
    if settings.services.auth.auth.mode == "local":
        yield Finding(
            "auth",
            "fail",
            "people log in as the one person who runs this, who may do everything",
            "Set [auth] with a login provider: docs/run/sign-in.md.",
        )
    else:
        yield Finding("auth", "ok", "people log in as themselves, at a provider")


def _bounds(settings: ControlSettings) -> Iterator[Finding]:
    if not settings.server.requests_per_minute:
        yield Finding(
            "request rate",
            "warn",
            "the requests of a caller are not bounded",
            "Set requests_per_minute, such as 600.",
        )
    if settings.services.tokens.pat_max_days > LONGEST_TOKEN_DAYS:
        days = settings.services.tokens.pat_max_days
        yield Finding("pat_max_days", "warn", f"tokens live {days} days", "Lower pat_max_days.")


def _open_places(settings: ControlSettings) -> Iterator[Finding]:
    """Report what is open that is not open by default."""
    services = settings.services
    for name, values in (
        ("mount_roots", services.admission.mount_roots),
        ("webhook_ranges", settings.webhooks.webhook_ranges),
        ("forge_ranges", settings.forges.forge_ranges),
        ("outside_namespaces", services.tools.outside_namespaces),
    ):
        if values:
            shown = ", ".join(map(str, values))
            yield Finding(name, "warn", f"every member reaches {shown}", f"Narrow {name}.")
    for name, on in (
        ("allow_loopback_remotes", services.admission.allow_loopback_remotes),
        ("allow_loopback_webhooks", settings.webhooks.allow_loopback_webhooks),
        ("allow_loopback_push", settings.push.allow_loopback_push),
    ):
        if on:
            text = "for development: this machine's own loopback is reached"
            yield Finding(name, "fail", text, f"Remove {name}.")


def _keys(settings: ControlSettings) -> Iterator[Finding]:
    if settings.vault.master_key_command:
        yield Finding("master key", "ok", "it comes from a command")
        return
    yield Finding(
        "master key",
        "warn",
        "it lies beside what it seals, or in the environment",
        "Set master_key_command, to keep it off this disk and out of its backups.",
    )


_CHECKS: Final[tuple[Callable[[ControlSettings], Iterator[Finding]], ...]] = (
    *(_encryption, _network, _isolation, _logins, _proxies, _metrics, _bounds, _open_places, _keys),
)


def _memory(home: Path, proc: Path, groups: Path) -> Finding:
    """Report whether the memory of the control plane is bounded."""
    running = [one for one in proc.glob("[0-9]*") if _is_control(one, home)]
    if not running:
        return Finding(
            "memory group",
            "warn",
            "no control plane of this home runs here, so its bound cannot be read",
            "Run this where it runs, or look at MemoryMax of its unit, mem_limit of its container.",
        )
    if all(_is_bounded(one, groups) for one in running):
        return Finding("memory group", "ok", "the control plane's memory is bounded")
    return Finding(
        "memory group",
        "fail",
        "the control plane may take all memory of this machine",
        "Set MemoryMax for its unit, or mem_limit for its container.",
    )


def _is_control(process: Path, home: Path) -> bool:
    try:
        return has_title((process / "cmdline").read_bytes(), "control", home)
    except OSError:
        return False


def _is_bounded(process: Path, groups: Path) -> bool:
    """Report whether a group of a process, or one above it, bounds its memory, in cgroup v1 or
    v2."""
    try:
        lines = (process / "cgroup").read_text().splitlines()
    except OSError:
        return False
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = groups / "memory" if controllers else groups
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        group = top / path.lstrip("/")
        if any(_limit(one / name) for one in (group, *group.parents) if one.is_relative_to(top)):
            return True
    return False


def _limit(file: Path) -> bool:
    try:
        text = file.read_text().strip()
    except OSError:
        return False
    return text.isdigit() and int(text) < _UNLIMITED
