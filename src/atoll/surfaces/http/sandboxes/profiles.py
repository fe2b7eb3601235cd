"""Routes of profiles: the recipes sandboxes are made from."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import ConfigDict
from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.people.capability import Capability
from atoll.domain.profile.profile import Profile
from atoll.domain.profile.schema import profile_document
from atoll.surfaces.http.body.answers import Json, no_content
from atoll.surfaces.http.body.fields import ItemId, ResponseModel
from atoll.surfaces.http.body.json_body import read_body
from atoll.surfaces.http.body.pages import Paged, PageModel
from atoll.surfaces.http.server.context import Atoll, Caller
from atoll.surfaces.http.server.permissions import needs
from atoll.surfaces.http.server.problems import problems

router = APIRouter(prefix="/v1/profiles", tags=["profiles"])

MAX_DOCUMENT_BYTES = 256 * 1024

Version = Annotated[
    str | None, Query(description="A version; the newest when left out.", max_length=100)
]
_DOCUMENT = {"schema": {"type": "string"}}
_EITHER = {
    "requestBody": {
        "required": True,
        "content": {
            "application/yaml": _DOCUMENT,
            "application/json": {"schema": {"type": "object"}},
        },
    }
}


class ProfileView(ResponseModel):
    """A profile as its document has it, and whether it came with Atoll. `obstacle` says why no
    sandbox can be made from it here; null when one can."""

    model_config = ConfigDict(extra="allow")

    id: str
    version: str
    bundled: bool
    obstacle: str | None


class ProfileWithVersions(ProfileView):
    """A profile, and all its versions, newest first."""

    versions: list[str]


class ProfileList(PageModel):
    """The newest version of each profile."""

    profiles: list[ProfileView]


@router.get("", response_model=ProfileList, responses=problems())
@needs(Capability.PROFILE_READ)
async def list_profiles(atoll: Atoll, caller: Caller, *, page: Paged) -> Response:
    """Return the newest version of every profile."""
    found, following = page.cut(await atoll.profiles.list(caller), lambda one: one.id)
    views = [await _view(atoll, profile) for profile in found]
    return Json({"profiles": views, "next": following})


@router.get("/{profile}", response_model=ProfileWithVersions, responses=problems(404))
@needs(Capability.PROFILE_READ)
async def get_profile(
    atoll: Atoll, caller: Caller, *, profile: ItemId, version: Version = None
) -> Response:
    """Return one profile, by its id or short name."""
    found = await atoll.profiles.get(caller, profile, version=version)
    versions = await atoll.profiles.versions(caller, profile)
    return Json({**await _view(atoll, found), "versions": list(versions)})


@router.put(
    "/{profile}",
    response_model=ProfileView,
    responses=problems(404, 409, 413),
    openapi_extra=_EITHER,
)
@needs(Capability.PROFILE_MANAGE)
async def save_profile(
    atoll: Atoll, caller: Caller, *, profile: ItemId, request: Request
) -> Response:
    """Store a profile, from YAML or JSON; bundled ones cannot be changed."""
    raw = await read_body(request, MAX_DOCUMENT_BYTES)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"the profile is not UTF-8 at byte {error.start}", field="body") from error
    return Json(await _view(atoll, await atoll.profiles.save(caller, profile, text)))


@router.delete("/{profile}", status_code=204, responses=problems(404, 409))
@needs(Capability.PROFILE_MANAGE)
async def delete_profile(
    atoll: Atoll, caller: Caller, *, profile: ItemId, version: Version = None
) -> Response:
    """Remove a profile, or one version of it."""
    await atoll.profiles.delete(caller, profile, version=version)
    return no_content()


async def _view(atoll: Atoll, profile: Profile) -> dict[str, Any]:
    return {
        **profile_document(profile),
        "bundled": atoll.profiles.bundled(profile.id),
        "obstacle": await atoll.sandboxes.obstacle(profile),
    }
