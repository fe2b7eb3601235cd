"""Services of dashboards, built from the ports and services they use."""

from atoll.adapters.bus.live_channels import InProcessChannels
from atoll.adapters.documents.documents import YrsDocuments
from atoll.services.dashboards.dashboards import Dashboards
from atoll.services.dashboards.loading import DocumentStore
from atoll.services.dashboards.rooms import Rooms
from atoll.services.dashboards.sweep import DashboardSweep
from atoll.services.ground import Ground
from atoll.services.people.memberships import Memberships
from atoll.services.sandboxes.background import Background
from atoll.wiring.control.exchange import Exchange


def build_dashboards(
    ground: Ground, exchange: Exchange | None, memberships: Memberships, background: Background
) -> Dashboards:
    """Return the use cases on dashboards. What each open one does is run by `background`."""
    live = InProcessChannels() if exchange is None else exchange.live
    documents = DocumentStore(ground, YrsDocuments())
    runner = background.runners.own
    rooms = Rooms(ground, live, documents, memberships=memberships, runner=runner)
    return Dashboards(ground, documents, rooms, DashboardSweep(ground, documents))
