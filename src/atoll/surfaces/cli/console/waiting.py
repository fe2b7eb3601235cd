"""Waiting until a sandbox is ready, with its log as progress."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from atoll.client.made.sandboxes.views import Sandbox
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.surfaces.cli.console.moments import moment_with_time_left, seconds_between, span
from atoll.surfaces.cli.console.output import note

if TYPE_CHECKING:  # `atoll list` wants a name only
    from atoll.client.client import Client

LIVE = ("ready", "active")
COMING = ("requested", "provisioning")
STEP_SECONDS = 1
MAX_WAIT_SECONDS = 900.0
MORE_SECONDS = 4 * 3600
"""The time that a notice of an end offers, where the profile allows it."""


def wait_ready(api: "Client", sandbox: Sandbox, *, title: str, again: bool = False) -> Sandbox:
    """Wait until the sandbox is ready or active. With `again`, log lines of earlier starts are not
    printed. Raises `Failed` with its reason when it ends otherwise, `Unavailable` (code `timeout`)
    after a quarter of an hour."""
    from atoll.surfaces.cli.console.progress import ProgressNote

    reference = sandbox.sandbox_id
    since = sandbox.updated_at if again else ""
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    count, held = 0, ""
    with ProgressNote(title) as progress:
        while sandbox.state in COMING:
            if waits := place_notice(sandbox):
                raise Unavailable(waits, code="queued")
            if time.monotonic() > deadline:
                raise Unavailable(
                    f"{name_of(sandbox)} is still {sandbox.state}: see "
                    f"`atoll logs {name_of(sandbox)}`",
                    code="timeout",
                )
            sandbox = api.sandboxes.get(reference, wait_seconds=STEP_SECONDS)
            if sandbox.reason not in ("", held):
                held = sandbox.reason
                progress.report([held])
            if progress.due or sandbox.state == "failed":
                lines = log_lines(api, reference, since=since)
                progress.report(lines[count:])
                count = len(lines)
        if sandbox.state not in LIVE:
            reason = sandbox.reason or "no reason was given"
            raise Failed(f"{name_of(sandbox)} is {sandbox.state}: {reason}")
    return sandbox


def wait_ended(
    api: "Client", reference: str, act: Callable[[str], Sandbox], *, title: str
) -> Sandbox:
    """Return what `act` answers for a sandbox that it ends. Until then say what holds it up."""
    from concurrent.futures import ThreadPoolExecutor, wait

    from atoll.surfaces.cli.console.progress import ProgressNote

    held = ""
    with ThreadPoolExecutor(1) as pool, ProgressNote(title) as progress:
        answer = pool.submit(act, reference)
        while not wait({answer}, STEP_SECONDS).done:
            with suppress(AtollError):
                reason = api.sandboxes.get(reference).reason
                progress.report([reason] if reason not in ("", held) else ())
                held = reason
        return answer.result()


def may_still_run(sandbox: Sandbox) -> bool:
    """Report whether a sandbox that was ended may have left something running."""
    stopped = sandbox.state == "stopped" and not sandbox.asleep
    return sandbox.state == "destroying" or (stopped and bool(sandbox.reason))


def ended_notice(sandbox: Sandbox) -> str:
    """Return the state of a sandbox that was ended, with what may still run."""
    name = name_of(sandbox)
    if not may_still_run(sandbox):
        return f"{name} is {state_of(sandbox)}"
    why = (sandbox.reason or "it is not gone yet").rstrip(".") + "."
    if sandbox.leftovers:
        stands = "; ".join(sandbox.leftovers)
        return (
            f"{name} is {sandbox.state}. {why} This stands: {stands}. It is taken up again once "
            "the host is trusted."
        )
    return f"{name} is {sandbox.state}, but may still run: {why} It goes on being tried."


def wait_for_task(api: "Client", sandbox: Sandbox) -> Sandbox:
    """Wait until the sandbox's task began, which waits for the set-up. Says why it does not
    begin."""
    name = name_of(sandbox)
    while sandbox.task.state == "waiting" and sandbox.state in LIVE:
        if sandbox.project.state == "failed":
            note(f"{name}: the set-up failed, so its task waits. {sandbox.project.reason}")
            note(
                f"Look with `atoll attach {name} setup`; then `atoll project setup {name}` runs it "
                f"again, `atoll agent begin {name}` starts the task anyway"
            )
            return sandbox
        time.sleep(STEP_SECONDS)
        sandbox = api.sandboxes.get(sandbox.sandbox_id)
    if sandbox.task.state == "failed":
        note(f"{name}: the task was not started: {sandbox.task.reason}")
    return sandbox


def place_notice(sandbox: Sandbox) -> str:
    """Return the notice for a sandbox whose task is queued; empty for any other."""
    if sandbox.task.state != "queued":
        return ""
    return f"{name_of(sandbox)} waits for a place: {sandbox.task.before} before it"


def log_lines(api: "Client", reference: str, *, since: str = "") -> list[str]:
    """Return the provisioning log so far, from `since` on (RFC 3339, as the API spells times)."""
    answered = api.sandboxes.log(reference)
    return [line.text for line in answered.lines if line.at >= since]


def end_notice(sandbox: Sandbox) -> str:
    """Return the notice for a sandbox that ends soon; empty for any other."""
    if not sandbox.ends_soon:
        return ""
    name = name_of(sandbox)
    ends = f"{name} ends at {moment_with_time_left(sandbox.expires_at)}"
    room = seconds_between(sandbox.expires_at, sandbox.max_expires_at)
    more = MORE_SECONDS if room is None else min(room, MORE_SECONDS)
    if more <= 0:
        return f"{ends}, the latest that {sandbox.profile.id} allows: pull what you need of it"
    return f"{ends}: `atoll extend-ttl {name} {span(more)}` gives it more time"


def state_of(sandbox: Sandbox) -> str:
    """Return the word for a sandbox's state: one that sleeps is `asleep`."""
    return "asleep" if sandbox.asleep else sandbox.state


def name_of(sandbox: Sandbox) -> str:
    """Return the name a person uses for a sandbox."""
    return sandbox.name or sandbox.sandbox_id
