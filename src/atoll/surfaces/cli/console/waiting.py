"""Waiting for a sandbox to become what was asked for, and saying meanwhile what happens."""

import time

from atoll.client.answer import Answer
from atoll.client.transport import Api, get
from atoll.domain.errors import Failed, Unavailable
from atoll.surfaces.cli.console.progress import Progress

LIVE = ("ready", "active")
COMING = ("requested", "provisioning")
STEP_SECONDS = 1
MAX_WAIT_SECONDS = 900.0


def wait_ready(api: Api, sandbox: Answer, *, title: str, again: bool = False) -> Answer:
    """Wait until the sandbox is ready or active. Of one that comes up `again`, what its log says of
    earlier times is not told. Raises `Failed` with its reason when it ends otherwise,
    `Unavailable` (code `timeout`) after a quarter of an hour."""
    reference = sandbox.text("sandbox_id")
    since = sandbox.text("updated_at") if again else ""
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    told = 0
    with Progress(title) as progress:
        while sandbox.text("state") in COMING:
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"{name_of(sandbox)} is still {sandbox.text('state')}: see "
                    f"`atoll logs {name_of(sandbox)}`",
                    code="timeout",
                )
            asked = (("wait", "ready"), ("timeout", str(STEP_SECONDS)))
            sandbox = api.call(get("sandboxes", reference, query=asked))
            if progress.due or sandbox.text("state") == "failed":
                lines = log_lines(api, reference, since=since)
                progress.tell(lines[told:])
                told = len(lines)
        if sandbox.text("state") not in LIVE:
            reason = sandbox.text("reason", "no reason was given")
            raise Failed(f"{name_of(sandbox)} is {sandbox.text('state')}: {reason}")
    return sandbox


def log_lines(api: Api, reference: str, *, since: str = "") -> list[str]:
    """Return the provisioning log so far, from `since` on (RFC 3339, as the API spells times)."""
    answered = api.call(get("sandboxes", reference, "logs"))
    return [line.text("text") for line in answered.children("lines") if line.text("at") >= since]


def end_notice(sandbox: Answer) -> str:
    """What to say of a sandbox that ends soon; empty for any other."""
    if not sandbox.flag("ends_soon"):
        return ""
    name = name_of(sandbox)
    until = sandbox.text("expires_at")
    return f"{name} ends at {until}: `atoll extend-ttl {name} 4h` gives it more time"


def name_of(sandbox: Answer) -> str:
    """What a person calls it."""
    return sandbox.text("name") or sandbox.text("sandbox_id")
