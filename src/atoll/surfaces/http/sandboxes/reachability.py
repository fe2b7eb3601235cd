"""The ways to a sandbox, as answers show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atoll.domain.event import sandbox_stream
from atoll.domain.ids import SandboxId
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.application import Application
from atoll.services.library.settings import ReachabilityEntry, ReachabilitySettings
from atoll.services.webhooks.lifecycle_webhooks import LifecycleReport
from atoll.surfaces.http.serving.answers import answer_of
from atoll.wire.api.sandboxes import reachability as api


@dataclass(frozen=True, slots=True)
class _Gateway:
    """The address of the SSH gateway, and the fingerprint of its key."""

    host: str
    port: int
    fingerprint: str


async def reachability_views(
    atoll: Application, sandboxes: Sequence[Sandbox]
) -> Mapping[SandboxId, api.ReachabilityView]:
    """Return the ways to each sandbox, by its id."""
    reports = await atoll.webhooks.lifecycle.reports(sandboxes)
    settings, gateway = atoll.profiles.reachability, await _gateway(atoll)
    return {
        sandbox.id: _reachability(settings, sandbox, reports.get(sandbox.id), gateway)
        for sandbox in sandboxes
    }


def _reachability(
    settings: ReachabilitySettings,
    sandbox: Sandbox,
    webhook: LifecycleReport | None,
    gateway: _Gateway | None,
) -> api.ReachabilityView:
    """Return the ways to a sandbox. Paths are those of this Atoll; a tunnel leads to it, too."""
    named, url = sandbox.profile.reachability, sandbox_url(sandbox)
    return api.ReachabilityView(
        runtime=url,
        ssh=_ssh(gateway, sandbox),
        tunnel=_entry(settings.tunnel_of(named)),
        identity=_entry(settings.identity_of(named)),
        poll_url=url,
        events_url=f"/v1/events?stream={sandbox_stream(sandbox.id)}",
        lifecycle_webhook=None if webhook is None else answer_of(api.LifecycleWebhookView, webhook),
    )


def sandbox_url(sandbox: Sandbox) -> str:
    """Return the path of a sandbox in the API."""
    return f"/v1/sandboxes/{sandbox.id}"


async def _gateway(atoll: Application) -> _Gateway | None:
    """Return where the SSH gateway listens, None where it does at no address of its own."""
    address = atoll.ssh.address()
    if address is None:
        return None
    host, _, port = address.rpartition(":")
    keys = await atoll.ssh.authority.public()
    return _Gateway(host.strip("[]"), int(port), keys.host.fingerprint)


def _ssh(gateway: _Gateway | None, sandbox: Sandbox) -> api.SshReachView | None:
    """Return the way in by SSH."""
    if gateway is None:
        return None
    return api.SshReachView(
        host=gateway.host,
        port=gateway.port,
        user=sandbox.id,
        command=f"ssh -p {gateway.port} {sandbox.id}@{gateway.host}",
        fingerprint=gateway.fingerprint,
    )


def _entry(entry: ReachabilityEntry | None) -> api.ReachabilityEntryView | None:
    return None if entry is None else api.ReachabilityEntryView(kind=entry.kind, url=entry.url)
