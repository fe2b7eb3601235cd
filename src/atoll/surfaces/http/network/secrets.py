"""Routes of secrets and their vault: values go in and never come out.

No response, error or log line holds a value. A fingerprint is shown and, for a longer value, its
last four characters.
"""

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import Field
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.domain.repository.forge import ForgeKind
from atoll.domain.secrets.secret import Purpose, Secret, Slot, Use, read_place
from atoll.services.secrets.secrets import SetSecret
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import Address, Body, ResponseModel, Word
from atoll.surfaces.http.body.json_body import JsonRoute
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(tags=["secrets"], route_class=JsonRoute)

MAX_VALUE = 64 * 1024
MAX_LISTED = 32
_REMOTE = (Purpose.GIT, Purpose.FORGE)
"""The purposes whose target is an https address."""

SecretRef = Annotated[
    str, Path(description="A secret's id or its name.", min_length=1, max_length=100)
]
ScopeQuery = Annotated[
    str | None,
    Query(description="Its scope, when several scopes have a secret of this name.", max_length=200),
]
Value = Annotated[str, Field(min_length=1, max_length=MAX_VALUE, strict=True, repr=False)]


class ValueBody(Body):
    """A value, in the only direction it may go."""

    value: Value


class SecretBody(Body):
    """The use of a secret, and its value.

    `broker_protected: false` is the owner's exception: the value itself enters sandboxes, in the
    variable `env`. `forge` and its address `remote` make a token for pull requests, which never
    enters a sandbox. `extension` names the backend whose vendor's machines it pays for.
    `look_alike`: a person read both spellings of a host with letters beyond
    ASCII, which is refused without it.
    """

    value: Value
    kind: Purpose = Purpose.CUSTOM
    scope: Word = "person"
    provider: Word | None = None
    base_url: Address | None = None
    slot: Literal["bearer", "header", "query", "basic"] = "bearer"
    slot_name: Annotated[str, Field(max_length=200, strict=True)] = ""
    hosts: Annotated[tuple[Word, ...], Field(max_length=MAX_LISTED)] = ()
    headers: Annotated[tuple[Word, ...], Field(max_length=MAX_LISTED)] = ()
    remote: Address | None = None
    forge: ForgeKind | None = None
    extension: Word | None = None
    push: Annotated[tuple[Word, ...], Field(max_length=MAX_LISTED)] = ()
    env: Word | None = None
    broker_protected: bool = True
    look_alike: bool = False

    def to_domain(self, name: str) -> SetSecret:
        """Return the domain's value. Raises `Invalid` for a host that is none, and for a target of
        another kind."""
        targets = {
            "provider": (self.provider, self.kind is Purpose.PROVIDER),
            "remote": (self.remote, self.kind in _REMOTE),
            "extension": (self.extension, self.kind is Purpose.EXTENSION),
        }
        for field, (named, taken) in targets.items():
            if named is not None and not taken:
                raise Invalid(f"a secret of the kind {self.kind} takes no {field}", field=field)
        target = next((named for named, taken in targets.values() if taken), None)
        use = Use(
            purpose=self.kind,
            target=target or "",
            forge=self.forge,
            base_url=self.base_url,
            slot=self.slot,
            slot_name=self.slot_name,
            places=tuple(dict.fromkeys(read_place(host) for host in self.hosts)),
            headers=tuple(dict.fromkeys(self.headers)),
            push=self.push,
            variable=self.env,
            brokered=self.broker_protected,
        )
        return SetSecret(name, self.value, use, self.scope, self.look_alike)


class NewSecretBody(SecretBody):
    """A new secret."""

    name: Word


class SecretView(ResponseModel):
    """A secret, without its value. `last4` is empty for a short one."""

    secret_id: str
    name: str
    kind: Purpose
    scope: str
    version: int
    fingerprint: str
    last4: str
    provider: str | None
    base_url: str | None
    slot: Slot
    slot_name: str
    hosts: list[str]
    headers: list[str]
    remote: str | None
    forge: ForgeKind | None
    extension: str | None
    push: list[str]
    env: str | None
    broker_protected: bool
    owner: str
    org_id: str
    created_at: str
    updated_at: str


class SecretList(PageModel):
    """The secrets, by name."""

    secrets: list[SecretView]


class RotatedView(ResponseModel):
    """The new master key's id, the number of values under it now, and of removed old keys."""

    key_id: str
    secrets: int
    retired: int


@router.get("/v1/secrets", response_model=SecretList, responses=problems())
@needs(Capability.SECRET_READ)
async def list_secrets(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return the caller's own secrets and the organization's."""
    found = await atoll.secrets.list(caller)
    return Json(page.of(found, name="secrets", key=lambda one: one.id, view=_view))


@router.post(
    "/v1/secrets",
    status_code=201,
    response_model=SecretView,
    responses=problems(404, 409, 413, 502),
)
@needs(Capability.SECRET_MANAGE)
async def create_secret(atoll: Atoll, caller: Caller, body: NewSecretBody) -> Response:
    """Set a new secret; one of this name must not exist."""
    secret = await atoll.secrets.set(caller, body.to_domain(body.name), fresh=True)
    return Json(_view(secret), 201)


@router.get("/v1/secrets/{secret}", response_model=SecretView, responses=problems(404, 409))
@needs(Capability.SECRET_READ)
async def get_secret(
    atoll: Atoll, caller: Caller, *, secret: SecretRef, scope: ScopeQuery = None
) -> Response:
    """Return one secret."""
    return Json(_view(await atoll.secrets.get(caller, secret, scope=scope)))


@router.put(
    "/v1/secrets/{secret}", response_model=SecretView, responses=problems(404, 409, 413, 502)
)
@needs(Capability.SECRET_MANAGE)
async def set_secret(
    atoll: Atoll, caller: Caller, *, secret: SecretRef, body: SecretBody
) -> Response:
    """Set the secret of this name, new or not; repeating the request changes nothing."""
    return Json(_view(await atoll.secrets.set(caller, body.to_domain(secret))))


@router.post(
    "/v1/secrets/{secret}/rotate", response_model=SecretView, responses=problems(404, 409, 413, 502)
)
@needs(Capability.SECRET_MANAGE)
async def rotate_secret(
    atoll: Atoll, caller: Caller, *, secret: SecretRef, body: ValueBody, scope: ScopeQuery = None
) -> Response:
    """Replace the secret's value, in every running sandbox at once."""
    return Json(_view(await atoll.secrets.rotate(caller, secret, body.value, scope=scope)))


@router.delete("/v1/secrets/{secret}", status_code=204, responses=problems(404, 409))
@needs(Capability.SECRET_MANAGE)
async def remove_secret(
    atoll: Atoll, caller: Caller, *, secret: SecretRef, scope: ScopeQuery = None
) -> Response:
    """Remove the secret, from every running sandbox at once."""
    await atoll.secrets.remove(caller, secret, scope=scope)
    return no_content()


@router.post("/v1/vault/rotate-master", response_model=RotatedView, responses=problems(409, 502))
@needs(Capability.SYSTEM_MANAGE)
async def rotate_master(atoll: Atoll, caller: Caller) -> Response:
    """Put every value under a new master key and forget the old ones."""
    done = await atoll.secrets.rotate_master(caller)
    return Json(RotatedView.of(done))


def _view(secret: Secret) -> dict[str, Any]:
    use = secret.use
    return SecretView.of(
        secret,
        secret_id=secret.id,
        kind=use.purpose,
        provider=use.target if use.purpose is Purpose.PROVIDER else None,
        base_url=use.base_url,
        slot=use.slot,
        slot_name=use.slot_name,
        hosts=[_spelled(place.host, place.port) for place in use.places],
        headers=use.headers,
        remote=use.target if use.purpose in _REMOTE else None,
        forge=use.forge,
        extension=use.target if use.purpose is Purpose.EXTENSION else None,
        push=use.push,
        env=use.variable,
        broker_protected=use.brokered,
    )


def _spelled(host: str, port: int) -> str:
    shown = f"[{host}]" if ":" in host else host
    return shown if port == 443 else f"{shown}:{port}"
