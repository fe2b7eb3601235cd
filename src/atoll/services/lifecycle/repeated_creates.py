"""Creates that are repeated: by their key, or by an agent that has its sandbox already."""

import hashlib
from collections.abc import Sequence
from dataclasses import fields

import msgspec

from atoll.domain.errors import Conflict, Invalid
from atoll.domain.profile.profile import Profile
from atoll.domain.routes.decision import RouteRequest
from atoll.domain.sandboxes.create import agent_key
from atoll.domain.sandboxes.repeated_create import other_input, other_origin
from atoll.domain.sandboxes.sandbox import KEPT, CreateSandbox, Sandbox
from atoll.ports import Holding, Transaction
from atoll.wire.words.routes import Strategy
from atoll.wire.words.sandboxes import Scope

MAX_KEY = 200


async def find_belonging(
    rows: Transaction, profile: Profile, *, request: CreateSandbox, held: Sequence[Holding]
) -> Sandbox | None:
    """Return the sandbox this agent already has, unless that expired or failed."""
    if (request.scope or profile.workspace.scope_default) is not Scope.AGENT:
        return None
    key = agent_key(profile.id, request.consumer)
    for holding in held:
        if holding.agent_key == key and holding.state not in KEPT:
            sandbox = await rows.sandboxes.get(holding.id)
            if sandbox is not None:
                await _check_inputs(rows, request, sandbox)
            return sandbox
    return None


async def _check_inputs(rows: Transaction, request: CreateSandbox, sandbox: Sandbox) -> None:
    """Check that every field that a request names is as what stands. Raises `Conflict`."""
    field = other_input(request, sandbox, await _placing_of(rows, sandbox))
    if field is not None:
        raise Conflict(
            f"This consumer has sandbox {sandbox.name} ({sandbox.id}) already, made with other "
            f"{field}: destroy it first, or ask as another consumer (session_id, run_id, job_id).",
            code="other_inputs",
            field=field,
        )


async def other_request(rows: Transaction, request: CreateSandbox, sandbox: Sandbox) -> str | None:
    """Return the first field in which a request differs from the sandbox that its key made."""
    placed = await _placing_of(rows, sandbox)
    return other_origin(request, sandbox) or other_input(request, sandbox, placed)


async def _placing_of(rows: Transaction, sandbox: Sandbox) -> RouteRequest:
    """Return the request by which a sandbox was placed."""
    record = None if sandbox.route is None else await rows.routes.get(sandbox.route)
    return RouteRequest(Strategy.EXPLICIT) if record is None else record.decision.request


def digest_of(key: str, request: CreateSandbox) -> str:
    """Return the digest of a request that came with a key. Raises `Invalid` for a key that cannot
    be one."""
    if not 1 <= len(key) <= MAX_KEY or not key.isprintable():
        raise Invalid(
            f"An Idempotency-Key is 1 to {MAX_KEY} printable characters.", field="Idempotency-Key"
        )
    # What is not named is left out: a later program's new fields change no request of before.
    usual = CreateSandbox()
    named = {
        field.name: value
        for field in fields(request)
        if (value := getattr(request, field.name)) != getattr(usual, field.name)
    }
    return hashlib.sha256(msgspec.json.encode(named)).hexdigest()
