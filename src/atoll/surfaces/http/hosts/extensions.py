"""Routes of extensions: installed backends, their capabilities, and what `atoll doctor` finds."""

from msgspec.structs import replace

from atoll.domain.errors import AtollError
from atoll.domain.secrets.secret import no_key
from atoll.ports.extension import Capabilities, Extension, MissingExtension, Watched
from atoll.surfaces.http.body.answers import instant
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import extensions as api
from atoll.wire.api.extensions import Extensions
from atoll.wire.words.hosts import MAX_FINDINGS

operations = Operations()


@operations.serves(Extensions.list)
async def list_extensions(context: RequestContext) -> api.ExtensionList:
    backends = context.atoll.backends
    # An extension may be registered under an alias as well: one entry each.
    found = {extension.name: extension for extension in backends.extensions.values()}
    shown = {name: _view(extension) for name, extension in found.items()}
    for name, view in shown.items():
        able = view.capabilities
        if able and able.needs_key and not await backends.keys.has(context.caller, name):
            shown[name] = replace(view, available=False, reason=no_key(name))
    for one in backends.missing_extensions:
        # Another project's package may carry a name that is taken: both are shown.
        name = f"{one.name} of {one.package}" if one.name in shown else one.name
        shown[name] = _missing_extension_view(one, name)
    return api.ExtensionList(extensions=[shown[name] for name in sorted(shown)])


@operations.serves(Extensions.findings)
async def list_findings(context: RequestContext) -> api.FindingList:
    found, at = await context.atoll.overview.machine.findings()
    views = [answer_of(api.FindingView, one) for one in found[:MAX_FINDINGS]]
    return answer_of(api.FindingList, None, findings=views, at=instant(at))


@operations.serves(Extensions.strays)
async def list_strays(context: RequestContext) -> api.StrayList:
    found = await context.atoll.backends.strays.listed()
    strays = [
        answer_of(api.StrayView, place, extension=name, machine=place.id)
        for name, place in found.strays
    ]
    return answer_of(api.StrayList, found, strays=strays)


@operations.serves(Extensions.end_strays)
async def end_strays(context: RequestContext) -> api.ReapedView:
    return answer_of(api.ReapedView, await context.atoll.backends.strays.end())


def _missing_extension_view(one: MissingExtension, name: str) -> api.ExtensionView:
    reason = f"{one.package}: {one.reason}" if one.package else one.reason
    return api.ExtensionView(
        name=name, available=False, reason=reason, trouble=None, capabilities=None
    )


def _view(extension: Extension) -> api.ExtensionView:
    able, reason = None, None
    try:
        able = extension.capabilities()
    except AtollError as error:
        reason = error.message
    return answer_of(
        api.ExtensionView,
        extension,
        available=able is not None,
        reason=reason,
        trouble=extension.trouble if isinstance(extension, Watched) else None,
        capabilities=able and _capabilities(able),
    )


def _capabilities(able: Capabilities) -> api.CapabilitiesView:
    return answer_of(
        api.CapabilitiesView,
        able,
        abilities=sorted(able.abilities),
        gpu=bool(able.gpus),
        gpus=sorted(able.gpus),
        images=sorted(able.images),
    )
