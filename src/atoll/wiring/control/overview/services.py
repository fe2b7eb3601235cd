"""Services of the overview: search, usage, oversight, and the health of the machine."""

from atoll.domain.overview.search import Hit
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import Principal
from atoll.services.agents.statuses import AgentStatuses
from atoll.services.application import HomeServices, Overview
from atoll.services.ground import Ground
from atoll.services.overview.machine import MachineHealth
from atoll.services.overview.oversight import Oversight
from atoll.services.overview.search import (
    Search,
    StoredTexts,
    make_name_source,
    profile_hit,
    secret_hit,
)
from atoll.services.overview.usage import Usage
from atoll.services.overview.worker_oversight import WorkerOversight
from atoll.services.routes.routes import Routes
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.secrets import Secrets
from atoll.wire.words.overview import HitKind
from atoll.wiring.control.library import Library


def build_overview(
    ground: Ground,
    library: Library,
    sandboxes: Sandboxes,
    statuses: AgentStatuses,
    *,
    home: HomeServices,
    secrets: Secrets,
    routes: Routes,
) -> Overview:
    """Return the use cases that look across the nouns. A noun that can be found adds its source
    here."""

    async def secret_names(caller: Principal) -> list[Hit]:
        return [secret_hit(one) for one in await secrets.list(caller)]

    async def profile_names(caller: Principal) -> list[Hit]:
        return [profile_hit(one) for one in await library.preparation.profiles.list(caller)]

    sources = (
        *StoredTexts(ground.store).sources(),
        make_name_source(HitKind.SECRET, Capability.SECRET_READ, secret_names),
        make_name_source(HitKind.PROFILE, Capability.PROFILE_READ, profile_names),
    )
    return Overview(
        search=Search(sources),
        usage=Usage(ground),
        oversight=Oversight(ground.store, sandboxes, statuses, unpulled=home.unpulled),
        workers=WorkerOversight(ground, routes),
        machine=MachineHealth(ground.clock, library.ports.examine),
    )
