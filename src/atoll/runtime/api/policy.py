"""Routes of a runtime's policy: the control plane sets it whole; nobody reads a value back."""

from aiohttp import web

from atoll.domain.errors import Invalid
from atoll.runtime.api.parts import Parts
from atoll.runtime.api.requests import answer
from atoll.wire.contract.policy import (
    MAX_POLICY_BYTES,
    BadPolicy,
    Policy,
    PolicyView,
    decode_policy,
)


def routes(parts: Parts) -> list[web.RouteDef]:
    """Return the routes `GET` and `PUT /policy`."""

    async def read(_request: web.Request) -> web.Response:
        return answer(_view(parts.policy.current))

    async def replace(request: web.Request) -> web.Response:
        body = await request.read()
        if len(body) > MAX_POLICY_BYTES:
            raise Invalid(f"a policy may have {MAX_POLICY_BYTES} bytes")
        try:
            policy = decode_policy(body)
        except BadPolicy as error:
            raise Invalid(str(error)) from None
        parts.policy.replace(policy)
        return answer(_view(policy))

    return [web.get("/policy", read), web.put("/policy", replace)]


def _view(policy: Policy) -> PolicyView:
    return PolicyView(
        policy.revision,
        [each.provider for each in policy.providers],
        [each.name for each in policy.customs],
        policy.network.mode,
    )
