"""Profiles: the recipes that sandboxes are made from."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from atoll.wire.api.fields import FIRST_PAGE, ItemId, Paging
from atoll.wire.api.operation import Answer, Area, operation
from atoll.wire.http.media_types import JSON, YAML

Version = Annotated[
    Annotated[str, Meta(max_length=100)] | None,
    Meta(description="A version; the newest when left out."),
]


class ProfileView(Answer):
    """A profile as its document has it, and whether it came with Atoll. `obstacle` says why no
    sandbox can be made from it here; null when one can."""

    schema_members: ClassVar[Mapping[str, Any]] = {"additionalProperties": True}

    id: str
    version: str
    bundled: bool
    obstacle: str | None


class ProfileWithVersions(ProfileView):
    """A profile, and all its versions, newest first."""

    versions: list[str]


class ProfileList(Answer):
    """The newest version of each profile."""

    profiles: list[ProfileView]
    next: str | None


class Profiles(Area):
    """The recipes that sandboxes are made from."""

    tag = "profiles"
    needs = "profile.read"

    @operation("GET /v1/profiles", name="list_profiles")
    def list(self, *, page: Paging = FIRST_PAGE) -> ProfileList:
        """Return the newest version of every profile."""

    @operation("GET /v1/profiles/{profile}", name="get_profile", problems=(404,))
    def get(self, profile: ItemId, *, version: Version = None) -> ProfileWithVersions:
        """Return one profile, by its id or short name."""

    @operation(
        "PUT /v1/profiles/{profile}",
        name="save_profile",
        needs="profile.manage",
        problems=(404, 409, 413),
        reads=(YAML, JSON),
    )
    def save(self, profile: ItemId) -> ProfileView:
        """Store a profile, from YAML or JSON; bundled ones cannot be changed."""

    @operation(
        "DELETE /v1/profiles/{profile}",
        name="delete_profile",
        status=204,
        needs="profile.manage",
        problems=(404, 409),
    )
    def delete(self, profile: ItemId, *, version: Version = None) -> None:
        """Remove a profile, or one version of it."""
