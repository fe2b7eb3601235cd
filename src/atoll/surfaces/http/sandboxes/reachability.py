"""The ways to a sandbox, as answers show them."""

from atoll.domain.event import SANDBOX_STREAMS
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.services.library.settings import ReachabilityEntry, ReachabilitySettings
from atoll.wire.api.sandboxes import reachability as api


def reachability_view(settings: ReachabilitySettings, sandbox: Sandbox) -> api.ReachabilityView:
    """Return the ways to a sandbox. Paths are those of this Atoll; a tunnel leads to it, too."""
    named, url = sandbox.profile.reachability, sandbox_url(sandbox)
    return api.ReachabilityView(
        runtime=url,
        ssh=_ssh(sandbox),
        tunnel=_entry(settings.tunnel_of(named)),
        identity=_entry(settings.identity_of(named)),
        poll_url=url,
        events_url=f"/v1/events?stream={SANDBOX_STREAMS}{sandbox.id}",
    )


def sandbox_url(sandbox: Sandbox) -> str:
    """Return the path of a sandbox in the API."""
    return f"/v1/sandboxes/{sandbox.id}"


def _ssh(_sandbox: Sandbox) -> api.SshView | None:
    """Return the way in by SSH: none, while there is no gateway (`ssh_mode` is `disabled`)."""
    return None


def _entry(entry: ReachabilityEntry | None) -> api.ReachabilityEntryView | None:
    return None if entry is None else api.ReachabilityEntryView(kind=entry.kind, url=entry.url)
