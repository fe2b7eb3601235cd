"""Services of organizations: their members, tokens and quotas, and what goes with a member."""

from atoll.services.application import Tenancy
from atoll.services.ground import Ground
from atoll.services.people.departures import Departures
from atoll.services.people.invitations import Invitations
from atoll.services.people.organizations import Organizations
from atoll.services.people.ownership import Ownership
from atoll.services.people.quotas import Quotas
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.secrets.secrets import Secrets
from atoll.wiring.control.access import Access


def build_tenancy(
    ground: Ground, sandboxes: Sandboxes, secrets: Secrets, *, access: Access
) -> Tenancy:
    """Return the use cases of organizations, their members and tokens."""
    memberships, departures = access.memberships, Departures(ground, sandboxes, secrets)
    return Tenancy(
        memberships=memberships,
        organizations=Organizations(
            ground, memberships, departures, events=access.events, logins=access.logins
        ),
        invitations=Invitations(ground, memberships),
        quotas=Quotas(ground),
        ownership=Ownership(ground, sandboxes, secrets),
        credentials=access.credentials(ground, sandboxes),
    )
