"""Routes of a sandbox's network and safety layers: its rules, and changes while it lives."""

from atoll.domain.network.bounds import Withheld
from atoll.domain.network.switch import NetworkChange, rules_of
from atoll.domain.sandboxes.safety_layers import layers_of, wall_of
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.sandboxes import networks as api
from atoll.wire.api.sandboxes.networks import SandboxNetworks

operations = Operations()


@operations.serves(SandboxNetworks.get)
async def get_network(context: RequestContext, sandbox: str) -> api.NetworkView:
    return _view(*await context.atoll.sandboxes.network_in_force(context.caller, sandbox))


@operations.serves(SandboxNetworks.switch)
async def switch_network(
    context: RequestContext, sandbox: str, body: api.NetworkBody
) -> api.NetworkView:
    change = NetworkChange(
        mode=body.mode,
        allow=tuple(body.allow),
        deny=tuple(body.deny),
        forget=tuple(body.forget),
        host_ports=None if body.host_ports is None else tuple(body.host_ports),
        ranges=None if body.ranges is None else tuple(body.ranges),
    )
    sandboxes = context.atoll.sandboxes
    await sandboxes.switch_network(context.caller, sandbox, change)
    return _view(*await sandboxes.network_in_force(context.caller, sandbox))


@operations.serves(SandboxNetworks.safety)
async def get_safety(context: RequestContext, sandbox: str) -> api.SafetyView:
    found, _ = await context.atoll.sandboxes.network_in_force(context.caller, sandbox)
    isolation = found.attachment.isolation
    return api.SafetyView(
        layers=[answer_of(api.Layer, one) for one in layers_of(found)],
        wall=[answer_of(api.Part, one) for one in wall_of(found)],
        degraded=[*isolation.degraded] if isolation else [],
    )


def _view(sandbox: Sandbox, withheld: Withheld) -> api.NetworkView:
    network = sandbox.profile.network
    return answer_of(
        api.NetworkView,
        network,
        rules=[answer_of(api.EgressRule, one) for one in rules_of(network)],
        withheld=[
            api.WithheldView(field=one.field, text=one.value, whose=whose)
            for one, whose in withheld
        ],
    )
