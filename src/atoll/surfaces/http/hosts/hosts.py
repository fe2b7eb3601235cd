"""Routes of hosts: the machines that sandboxes are placed on, for administrators."""

from msgspec.structs import asdict

from atoll.domain.hosts.host import Capacity, HourlyCost
from atoll.domain.hosts.reading import fingerprint
from atoll.services.hosts.evacuation import Evacuation
from atoll.services.hosts.hosts import HostReport, HostTraits, NewHost
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.hosts import hosts as api
from atoll.wire.api.hosts.hosts import Hosts

operations = Operations()


@operations.serves(Hosts.list)
async def list_hosts(context: RequestContext) -> api.HostList:
    return api.HostList(hosts=[_view(one) for one in await context.atoll.backends.hosts.list()])


@operations.serves(Hosts.add)
async def add_host(context: RequestContext, body: api.HostBody) -> api.AddedHostView:
    new = NewHost(body.address, body.name, body.host_key, body.fingerprint, _traits(body))
    report, line = await context.atoll.backends.hosts.add(context.caller, new)
    return answer_of(api.AddedHostView, report.host, **_facts(report), authorized_key=line)


@operations.serves(Hosts.get)
async def get_host(context: RequestContext, host: str) -> api.HostView:
    return _view(await context.atoll.backends.hosts.get(host))


@operations.serves(Hosts.change)
async def change_host(context: RequestContext, host: str, body: api.HostChangeBody) -> api.HostView:
    return _view(await context.atoll.backends.hosts.change(context.caller, host, _traits(body)))


@operations.serves(Hosts.remove)
async def remove_host(context: RequestContext, host: str) -> None:
    await context.atoll.backends.hosts.remove(context.caller, host)


@operations.serves(Hosts.check)
async def check_host(context: RequestContext, host: str) -> api.HostCheckView:
    return answer_of(api.HostCheckView, await context.atoll.backends.hosts.check(host))


@operations.serves(Hosts.trust)
async def trust_host(
    context: RequestContext, host: str, body: api.TrustBody | None = None
) -> api.HostTrustView:
    wanted = None if body is None else body.fingerprint
    trust = await context.atoll.backends.hosts.trust(context.caller, host, wanted)
    return answer_of(api.HostTrustView, trust)


@operations.serves(Hosts.drain)
async def drain_host(
    context: RequestContext, host: str, body: api.DrainBody | None = None
) -> api.DrainedHostView:
    hosts = context.atoll.backends.hosts
    if body is None or not body.evacuate:
        return _drained_host_view(await hosts.drain(context.caller, host), None)
    report, evacuation = await hosts.evacuate(context.caller, host)
    return _drained_host_view(report, _evacuation(evacuation))


@operations.serves(Hosts.undrain)
async def undrain_host(context: RequestContext, host: str) -> api.HostView:
    return _view(await context.atoll.backends.hosts.undrain(context.caller, host))


def _traits(body: api.HostChangeBody) -> HostTraits:
    capacity, cost = body.capacity, body.cost_per_hour
    return HostTraits(
        region=body.region,
        labels=None if body.labels is None else tuple(body.labels.items()),
        capacity=None if capacity is None else Capacity(**asdict(capacity)),
        overcommit=body.overcommit,
        cost_per_hour=None if cost is None else HourlyCost(cost.micros, cost.currency),
        organization=body.organization,
        profile=body.profile,
    )


def _evacuation(found: Evacuation) -> api.EvacuationView:
    moving = [answer_of(api.MovingView, one, to=one.target) for one in found.moving]
    return answer_of(api.EvacuationView, found, moving=moving)


def _drained_host_view(
    report: HostReport, evacuation: api.EvacuationView | None
) -> api.DrainedHostView:
    return answer_of(api.DrainedHostView, report.host, **_facts(report), evacuation=evacuation)


def _view(report: HostReport) -> api.HostView:
    return answer_of(api.HostView, report.host, **_facts(report))


def _facts(report: HostReport) -> dict[str, object]:
    host = report.host
    return {
        "host_id": host.id,
        "fingerprint": fingerprint(host.host_key) if host.host_key else None,
        "labels": dict(host.labels),
        "used": answer_of(api.HostRoomView, report.load),
        "kept": report.kept,
    }
