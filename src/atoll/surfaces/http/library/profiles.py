"""Routes of profiles: the recipes sandboxes are made from.

An answer has the members of the profile's own document besides those that are declared.
"""

from typing import Any

from starlette.responses import Response

from atoll.domain.errors import Invalid
from atoll.domain.profile.profile import Profile
from atoll.domain.profile.schema import profile_document
from atoll.services.application import Application
from atoll.surfaces.http.body.answers import Json
from atoll.surfaces.http.body.json_body import read_body
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.wire.api.fields import FIRST_PAGE, Paging
from atoll.wire.api.library.profiles import Profiles

operations = Operations()

MAX_DOCUMENT_BYTES = 256 * 1024


@operations.forwards(Profiles.list)
async def list_profiles(context: RequestContext, *, page: Paging = FIRST_PAGE) -> Response:
    profiles = await context.atoll.profiles.list(context.caller)
    found, following = context.page(page).cut(profiles, lambda one: one.id)
    views = [await _view(context.atoll, profile) for profile in found]
    return Json({"profiles": views, "next": following})


@operations.forwards(Profiles.get)
async def get_profile(
    context: RequestContext, profile: str, *, version: str | None = None
) -> Response:
    profiles = context.atoll.profiles
    found = await profiles.get(context.caller, profile, version=version)
    versions = await profiles.versions(context.caller, profile)
    return Json({**await _view(context.atoll, found), "versions": list(versions)})


@operations.forwards(Profiles.save)
async def save_profile(context: RequestContext, profile: str) -> Response:
    raw = await read_body(context.request, MAX_DOCUMENT_BYTES)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Invalid(f"the profile is not UTF-8 at byte {error.start}", field="body") from error
    saved = await context.atoll.profiles.save(context.caller, profile, text)
    return Json(await _view(context.atoll, saved))


@operations.serves(Profiles.delete)
async def delete_profile(
    context: RequestContext, profile: str, *, version: str | None = None
) -> None:
    await context.atoll.profiles.delete(context.caller, profile, version=version)


async def _view(atoll: Application, profile: Profile) -> dict[str, Any]:
    return {
        **profile_document(profile),
        "bundled": atoll.profiles.bundled(profile.id),
        "obstacle": await atoll.admission.obstacle(profile),
    }
