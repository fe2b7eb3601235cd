"""Services of organizations: their members, tokens and quotas, and what goes with a member."""

from atoll.services.application import Identity, Tenancy
from atoll.services.ground import Ground
from atoll.services.lifecycle.room import SandboxRoom
from atoll.services.people.budgets import Budgets
from atoll.services.people.cli_logins import CliLogins
from atoll.services.people.departures import Departures
from atoll.services.people.identity.claimed import ClaimedMemberships
from atoll.services.people.identity.login_log import LoginLog
from atoll.services.people.identity.provider_logins import ProviderLogins
from atoll.services.people.identity.refreshes import Refreshes
from atoll.services.people.invitations import Invitations
from atoll.services.people.organizations import Organizations
from atoll.services.people.own_logins import OwnLogins
from atoll.services.people.ownership import Ownership
from atoll.services.people.quotas import OrganizationBounds, Quotas
from atoll.services.people.tokens import TeamTokens
from atoll.services.policies.shades import Shades
from atoll.services.secrets import Secrets
from atoll.services.settings import ServiceSettings
from atoll.wiring.control.access import Access
from atoll.wiring.control.lifecycle.sandboxes import SandboxServices


def build_tenancy(
    ground: Ground,
    within: SandboxServices,
    secrets: Secrets,
    *,
    access: Access,
    settings: ServiceSettings,
) -> Tenancy:
    """Return the use cases of organizations, their members and tokens."""
    room = SandboxRoom(settings.admission.default_limits)
    memberships = access.memberships
    departures = Departures(
        ground,
        within.sandboxes,
        secrets,
        policy_push=within.policy_push,
        logins=within.background.logins.logins,
    )
    credentials = access.credentials(ground, within.sandboxes)
    return Tenancy(
        memberships=memberships,
        organizations=Organizations(
            ground, memberships, departures, events=access.events, logins=access.logins
        ),
        invitations=Invitations(ground, memberships),
        quotas=Quotas(ground, room),
        budgets=Budgets(ground, within.policy_push),
        network_bounds=OrganizationBounds(ground, within.boundary, within.policy_push),
        ownership=Ownership(ground, room, within.sandboxes, policy_push=within.policy_push),
        credentials=credentials,
        team_tokens=TeamTokens(ground),
        identity=build_identity(ground, departures, access),
        cli_logins=CliLogins(ground, credentials.tokens, access.owners, logins=access.logins),
        own_logins=OwnLogins(
            ground,
            memberships,
            departures,
            logins=access.logins,
            sessions=None if access.people is None else access.people.sessions,
        ),
        shades=Shades(ground, within.policy_push),
    )


def build_identity(ground: Ground, departures: Departures, access: Access) -> Identity | None:
    """Return the use cases of logins at a provider, None in single-person mode."""
    if access.people is None:
        return None
    provider, sessions, vault = access.people.provider, access.people.sessions, access.vault
    claimed = ClaimedMemberships(ground, access.memberships, departures)
    log = LoginLog(access.events, ground.clock)
    realms = sessions.realms
    return Identity(
        ProviderLogins(
            ground, realms, provider, vault=vault, sessions=sessions, claimed=claimed, log=log
        ),
        sessions,
        Refreshes(
            ground, realms, provider, vault=vault, sessions=sessions, claimed=claimed, log=log
        ),
    )
