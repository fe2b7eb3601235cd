"""Services of people: their logins, organizations, and what goes with a member."""

from typing import Protocol

from atoll.domain.people.principal import Principal
from atoll.services.application import Tenancy
from atoll.services.ground import Ground
from atoll.services.journals.events import Events, Note
from atoll.services.people.departures import Departures
from atoll.services.people.invitations import Invitations
from atoll.services.people.logins import Logins
from atoll.services.people.memberships import Memberships
from atoll.services.people.organizations import Organizations
from atoll.services.people.ownership import Ownership
from atoll.services.people.quotas import Quotas
from atoll.services.sandboxes.sandboxes import Sandboxes
from atoll.services.secrets.secrets import Secrets


class LoginPorts(Protocol):
    """The ports of logins."""

    @property
    def token(self) -> str:
        """Return the token of the installation's person."""
        ...


def build_logins(ground: Ground, ports: LoginPorts, events: Events) -> Logins:
    """Return the logins of the installation's person."""

    async def record(caller: Principal, how: str) -> None:
        await events.record(caller, Note("auth", "auth.login", {"how": how}))

    return Logins(ground.store, ground.clock, token=ports.token, record=record)


def build_tenancy(
    ground: Ground, sandboxes: Sandboxes, secrets: Secrets, *, events: Events, logins: Logins
) -> Tenancy:
    """Return the use cases of organizations."""
    memberships = Memberships(ground)
    departures = Departures(ground, sandboxes, secrets)
    return Tenancy(
        memberships=memberships,
        organizations=Organizations(ground, memberships, departures, events=events, logins=logins),
        invitations=Invitations(ground, memberships),
        quotas=Quotas(ground),
        ownership=Ownership(ground, sandboxes, secrets),
    )
