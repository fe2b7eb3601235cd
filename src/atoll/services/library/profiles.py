"""Profiles: bundled ones, those in a person's directory, and saved ones.

Bundled ones cannot be changed or shadowed. What a profile may say is
`domain.profile.schema`'s business.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import structlog

from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.domain.people.principal import Principal
from atoll.domain.profile.profile import Profile
from atoll.domain.profile.schema import profile_id, read_profile, version_key
from atoll.ports import Bus, Clock, Store
from atoll.services.identifiers import Identifiers
from atoll.services.journals.events import Note, draft_of
from atoll.services.library.settings import ReachabilitySettings
from atoll.services.policies.network_boundary import NetworkBoundary
from atoll.services.policies.settings import PolicySettings

Documents = Mapping[str, str]
"""Profile documents by the name of their file."""

_log = structlog.get_logger(__name__)


class Profiles:
    """Profiles by id (`profile.shell`, or short `shell`) and version."""

    def __init__(
        self,
        store: Store,
        bus: Bus,
        *,
        clock: Clock,
        identifiers: Identifiers,
        bundled: Documents,
        personal: Callable[[], Documents] = dict,
        boundary: NetworkBoundary | None = None,
        reachability: ReachabilitySettings | None = None,
    ) -> None:
        """Read `bundled` once (raises `Invalid` for a broken one). `personal` is called each time,
        so that a new file counts at once."""
        self.reachability = reachability or ReachabilitySettings()
        self._store = store
        self._bus = bus
        self._clock = clock
        self._identifiers = identifiers
        self._boundary = boundary or NetworkBoundary(PolicySettings())
        self._bundled = _by_id(read_profile(document) for document in bundled.values())
        self._personal = personal

    async def list(self, caller: Principal) -> Sequence[Profile]:
        """Return the newest version of each profile, by id."""
        everything = await self._read_all_versions(caller)
        return [versions[0] for _, versions in sorted(everything.items())]

    async def get(self, caller: Principal, ref: str, *, version: str | None = None) -> Profile:
        """Return a profile, the newest version when none is named. Raises `NotFound`."""
        for profile in await self._versions(caller, ref):
            if version is None or profile.version == version:
                return profile
        raise NotFound(
            f"{profile_id(ref)} has no version {str(version)[:40]}.", field="profile_version"
        )

    async def versions(self, caller: Principal, ref: str) -> Sequence[str]:
        """Return all versions of a profile, newest first. Raises `NotFound`."""
        return [profile.version for profile in await self._versions(caller, ref)]

    async def save(self, caller: Principal, ref: str, text: str) -> Profile:
        """Save a profile from YAML or JSON, whose id must be that of `ref`. Raises `Invalid` with
        line and field, also for a tunnel or identity that no setting has, `Forbidden` for a bundled
        one and for a network beyond a bound."""
        whole = self._changeable(ref)
        profile = self._read(text)
        if profile.id != whole:
            raise Invalid(
                f"The document describes {profile.id}, but it was sent for {whole}.", field="id"
            )
        note = Note(
            f"profile:{whole}",
            "profile.saved",
            {"profile_id": whole, "version": profile.version},
        )
        async with self._store.begin() as rows:
            await self._boundary.check_profile(rows, caller, profile)
            await rows.profiles.save(caller.org_id, caller.id, profile)
            draft = draft_of(note, caller, at=self._clock.now(), event_id=self._identifiers.event())
            await rows.events.append((draft,))
        self._bus.announce((note.stream,))
        return profile

    async def delete(self, caller: Principal, ref: str, *, version: str | None = None) -> None:
        """Remove one version of a profile, or all. Raises `NotFound`, `Forbidden` for a bundled
        one."""
        whole = self._changeable(ref)
        note = Note(
            f"profile:{whole}", "profile.deleted", {"profile_id": whole, "version": version}
        )
        async with self._store.begin() as rows:
            if not await rows.profiles.delete(caller.org_id, whole, version):
                raise NotFound(f"There is no saved {whole} to delete.", field="profile")
            draft = draft_of(note, caller, at=self._clock.now(), event_id=self._identifiers.event())
            await rows.events.append((draft,))
        self._bus.announce((note.stream,))

    def check_reachability(self, profile: Profile) -> None:
        """Check that the settings have the tunnel and the identity that a profile names. Raises
        `Invalid` with `field`. They may have lost one since it was written."""
        self.reachability.check(profile.reachability)

    def bundled(self, ref: str) -> bool:
        """Return whether this profile comes with Atoll."""
        return profile_id(ref) in self._bundled

    def _read(self, text: str) -> Profile:
        """Return the profile of a document that somebody writes. Raises `Invalid`."""
        profile = read_profile(text)
        self.check_reachability(profile)
        return profile

    def _changeable(self, ref: str) -> str:
        whole = profile_id(ref)
        if whole in self._bundled:
            raise Forbidden(
                f"{whole} comes with Atoll and cannot be changed: save yours under another id."
            )
        return whole

    async def _versions(self, caller: Principal, ref: str) -> Sequence[Profile]:
        whole = profile_id(ref)
        if whole in self._bundled:
            return self._bundled[whole]
        versions = (await self._read_all_versions(caller)).get(whole)
        if versions is None:
            self._check_broken(whole)
            raise NotFound(
                f"There is no profile {whole}: list them to see which there are.", field="profile"
            )
        return versions

    async def _read_all_versions(self, caller: Principal) -> Mapping[str, Sequence[Profile]]:
        """Return the versions of every profile that the caller may use, by id."""
        async with self._store.read() as rows:
            saved = await rows.profiles.all(caller.org_id)
        return {**_by_id([*self._from_directory(), *saved]), **self._bundled}

    def _check_broken(self, whole: str) -> None:
        """Raises `Invalid` with what is wrong, when a file describes this profile and cannot be
        read."""
        for name, document in self._personal().items():
            claimed = re.search(r"^id:\s*[\"']?([\w.-]+)", document, re.MULTILINE)
            if whole not in (claimed and claimed[1], profile_id_of(name)):
                continue
            try:
                self._read(document)
            except Invalid as err:
                raise Invalid(
                    f"{whole} is in {name}, which cannot be used: {err.message}",
                    code=err.code,
                    field=err.field,
                ) from err

    def _from_directory(self) -> Sequence[Profile]:
        """Return the readable profiles of the directory. A broken file hides only itself."""
        profiles = []
        for name, document in self._personal().items():
            try:
                profiles.append(self._read(document))
            except Invalid as err:
                _log.warning("profile_unreadable", file=name, reason=err.message)
        return profiles


def profile_id_of(file: str) -> str:
    """Return the id of the profile that a file's name stands for; empty where it cannot be one."""
    try:
        return profile_id(file.rpartition(".")[0])
    except Invalid:
        return ""


def _by_id(profiles: Iterable[Profile]) -> dict[str, Sequence[Profile]]:
    """Return profiles by id, the newest version first. Of equal versions the later one counts."""
    chosen: dict[str, dict[str, Profile]] = {}
    for profile in profiles:
        chosen.setdefault(profile.id, {})[profile.version] = profile
    return {
        name: sorted(
            versions.values(), key=lambda profile: version_key(profile.version), reverse=True
        )
        for name, versions in chosen.items()
    }
