"""Routes, as people look at them: decisions, explanations, default rules, and health."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.domain.ids import RouteId
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.domain.routes.health import Health, health_of
from atoll.domain.routes.policy import DESKTOP, RoutePolicy, RouteRules, read_policy
from atoll.domain.routes.record import RouteRecord
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.extension import Extension
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.lifecycle.vendor_keys import find_backend
from atoll.services.routes.routing import Rules, canonical, rules_of
from atoll.wire.words.routes import MAX_NAMED

STREAM = "routes"


@dataclass(frozen=True, slots=True)
class PlaceHealth:
    """The health of an extension at a host, or in a vendor's region."""

    extension: str
    place: str
    health: Health


class Placed(Protocol):
    """Sandboxes, as far as routes need them."""

    async def get(self, caller: Principal, ref: str) -> Sandbox:
        """Return a sandbox. Raises `NotFound`."""
        ...


class Routes:
    """The routes that a caller may see. A missing one is `NotFound`."""

    def __init__(
        self,
        ground: Ground,
        sandboxes: Placed,
        extensions: Mapping[str, Extension],
        installed: Collection[str] = (),
    ) -> None:
        self._ground = ground
        self._sandboxes = sandboxes
        self._extensions = extensions
        self._installed = installed

    async def get(self, caller: Principal, route_id: str) -> RouteRecord:
        """Return the decision for a sandbox that the caller may see."""
        async with self._ground.store.read() as rows:
            record = await rows.routes.get(RouteId(route_id))
        if record is None:
            raise NotFound(f"There is no route {route_id[:80]!r} here.")
        try:
            await self._sandboxes.get(caller, record.sandbox_id)
        except NotFound:
            raise NotFound(f"There is no route {route_id[:80]!r} here.") from None
        return record

    async def rules(self, caller: Principal) -> Rules:
        """Return the rules that hold for the caller's organization."""
        async with self._ground.store.read() as rows:
            return await rules_of(rows, caller.org_id)

    async def put_rules(self, caller: Principal, rules: RouteRules, *, installation: bool) -> Rules:
        """Replace the rules of the caller's organization, or of the installation. Raises
        `Forbidden`, and `Invalid`."""
        if installation and not caller.may(Capability.SYSTEM_MANAGE):
            raise Forbidden("Only who runs the installation may set its route.")
        checked = self._check_rules(rules)
        async with self._ground.store.begin() as rows:
            await rows.routes.put_rules(None if installation else caller.org_id, checked)
            scope = "installation" if installation else "organization"
            note = Note(STREAM, "route.changed", {"scope": scope})
            ground = self._ground
            draft = draft_of(note, caller, at=ground.clock.now(), event_id=ground.ids.event())
            await rows.events.append((draft,))
            stored = await rules_of(rows, caller.org_id)
        self._ground.bus.announce((STREAM,))
        return stored

    async def health(self) -> list[PlaceHealth]:
        """Return the health of every place where something was tried, by name."""
        async with self._ground.store.read() as rows:
            names = sorted({extension.name for extension in self._extensions.values()})
            known = await rows.routes.outcomes(names)
        now = self._ground.clock.now()
        return [
            PlaceHealth(extension, place, health_of(outcomes, now))
            for (extension, place), outcomes in sorted(known.items())
        ]

    def _check_rules(self, rules: RouteRules) -> RouteRules:
        """Return the rules with extensions by their whole names. Raises `Invalid`."""
        default = rules.default
        if default is not None:
            names = self._whole_names(default.extensions, field="default.extensions")
            default = read_policy(RoutePolicy(default.strategy, names, default.constraints))
        allow = rules.allow
        if allow is not None:
            if len(allow) > MAX_NAMED:
                raise Invalid(f"at most {MAX_NAMED} extensions can be named", field="allow")
            allow = self._whole_names(allow, field="allow")
        return RouteRules(default, allow)

    def _whole_names(self, names: Sequence[str], *, field: str) -> tuple[str, ...]:
        """Return the whole names of backends. Raises `Invalid` for one that is not there: a list
        without any other name would leave no backend."""
        whole = canonical(names, self._extensions)
        for name in whole:
            if name != DESKTOP:
                find_backend(self._extensions, self._installed, name, field=field)
        return whole
