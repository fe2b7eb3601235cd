"""Routes of a runtime's policy: the control plane sets it whole; nobody reads a value back."""

from aiohttp import web

from atoll.domain.errors import Invalid
from atoll.runtime.api.parts import parts_of
from atoll.runtime.api.requests import answer
from atoll.wire.contract.policy import (
    MAX_POLICY_BYTES,
    BadPolicy,
    Policy,
    PolicyView,
    decode_policy,
)


def routes() -> list[web.RouteDef]:
    """Return the routes `GET` and `PUT /policy`."""
    return [web.get("/policy", _read), web.put("/policy", _replace)]


async def _read(request: web.Request) -> web.Response:
    return answer(_view(parts_of(request).policy.current))


async def _replace(request: web.Request) -> web.Response:
    body = await request.read()
    if len(body) > MAX_POLICY_BYTES:
        raise Invalid(f"a policy may have {MAX_POLICY_BYTES} bytes")
    try:
        policy = decode_policy(body)
    except BadPolicy as error:
        raise Invalid(str(error)) from None
    parts_of(request).policy.replace(policy)
    return answer(_view(policy))


def _view(policy: Policy) -> PolicyView:
    return PolicyView(
        policy.revision,
        [each.provider for each in policy.providers],
        [each.name for each in policy.customs],
        policy.network.mode,
    )
