"""Routes of secrets and their vault: values go in and never come out.

No response, error or log line holds a value. A fingerprint is shown and, for a longer value, its
last four characters.
"""

from atoll.domain.errors import Invalid
from atoll.domain.secrets.secret import Secret, Use, read_place
from atoll.services.secrets import SetSecret
from atoll.surfaces.http.serving.answers import answer_of
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api import secrets as api
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.secrets import Secrets
from atoll.wire.words.secrets import Purpose

operations = Operations()

_REMOTE = (Purpose.GIT, Purpose.FORGE)
"""The purposes whose target is an https address."""


@operations.serves(Secrets.list)
async def list_secrets(context: RequestContext, *, page: Paging = FIRST_PAGE) -> api.SecretList:
    found = await context.atoll.secrets.list(context.caller)
    secrets, following = context.page(page).items_and_next(
        found, key=lambda one: one.id, view=_view
    )
    return api.SecretList(secrets=secrets, next=following)


@operations.serves(Secrets.create)
async def create_secret(context: RequestContext, body: api.NewSecretBody) -> api.SecretView:
    request = _set_secret(body.name, body)
    return _view(await context.atoll.secrets.set(context.caller, request, fresh=True))


@operations.serves(Secrets.get)
async def get_secret(
    context: RequestContext, secret: str, *, scope: str | None = None
) -> api.SecretView:
    return _view(await context.atoll.secrets.get(context.caller, secret, scope=scope))


@operations.serves(Secrets.set)
async def set_secret(context: RequestContext, secret: str, body: api.SecretBody) -> api.SecretView:
    return _view(await context.atoll.secrets.set(context.caller, _set_secret(secret, body)))


@operations.serves(Secrets.rotate)
async def rotate_secret(
    context: RequestContext, secret: str, body: api.ValueBody, *, scope: str | None = None
) -> api.SecretView:
    secrets = context.atoll.secrets
    return _view(await secrets.rotate(context.caller, secret, body.value, scope=scope))


@operations.serves(Secrets.delete)
async def remove_secret(context: RequestContext, secret: str, *, scope: str | None = None) -> None:
    await context.atoll.secrets.remove(context.caller, secret, scope=scope)


@operations.serves(Secrets.rotate_master)
async def rotate_master(context: RequestContext) -> api.RotatedView:
    return answer_of(api.RotatedView, await context.atoll.secrets.rotate_master(context.caller))


def _set_secret(name: str, body: api.SecretBody) -> SetSecret:
    """Return the domain's value. Raises `Invalid` for a host that is none, and for a target of
    another kind."""
    targets = {
        "provider": (body.provider, body.kind is Purpose.PROVIDER),
        "remote": (body.remote, body.kind in _REMOTE),
        "extension": (body.extension, body.kind is Purpose.EXTENSION),
    }
    for field, (named, taken) in targets.items():
        if named is not None and not taken:
            raise Invalid(f"a secret of the kind {body.kind} takes no {field}", field=field)
    target = next((named for named, taken in targets.values() if taken), None)
    use = Use(
        purpose=body.kind,
        target=target or "",
        forge=body.forge,
        base_url=body.base_url,
        slot=body.slot,
        slot_name=body.slot_name,
        places=tuple(dict.fromkeys(read_place(host) for host in body.hosts)),
        headers=tuple(dict.fromkeys(body.headers)),
        push=tuple(body.push),
        variable=body.env,
        brokered=body.broker_protected,
    )
    return SetSecret(name, body.value, use, body.scope, body.look_alike)


def _view(secret: Secret) -> api.SecretView:
    use = secret.use
    return answer_of(
        api.SecretView,
        secret,
        secret_id=secret.id,
        kind=use.purpose,
        provider=use.target if use.purpose is Purpose.PROVIDER else None,
        base_url=use.base_url,
        slot=use.slot,
        slot_name=use.slot_name,
        hosts=[_spell_host(place.host, place.port) for place in use.places],
        headers=list(use.headers),
        remote=use.target if use.purpose in _REMOTE else None,
        forge=use.forge,
        extension=use.target if use.purpose is Purpose.EXTENSION else None,
        push=list(use.push),
        env=use.variable,
        broker_protected=use.brokered,
    )


def _spell_host(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port == 443 else f"{shown}:{port}"
