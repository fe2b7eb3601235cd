"""Organizations, their members and service accounts.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import organizations
from atoll.client.aio.nouns import AsyncNoun, Awaited


class AsyncOrganizations(AsyncNoun[organizations.Organizations]):
    """Organizations, and the caller's membership."""

    blocking = organizations.Organizations
    invitations = Awaited(organizations.Organizations.invitations)
    invite = Awaited(organizations.Organizations.invite)
    uninvite = Awaited(organizations.Organizations.uninvite)
    accept = Awaited(organizations.Organizations.accept)
    realms = Awaited(organizations.Organizations.realms)
    list = Awaited(organizations.Organizations.list)
    create = Awaited(organizations.Organizations.create)
    get = Awaited(organizations.Organizations.get)
    leave = Awaited(organizations.Organizations.leave)
    members = Awaited(organizations.Organizations.members)
    change = Awaited(organizations.Organizations.change)
    remove = Awaited(organizations.Organizations.remove)
    add_service_account = Awaited(organizations.Organizations.add_service_account)
    own_login = Awaited(organizations.Organizations.own_login)
    link_login = Awaited(organizations.Organizations.link_login)
    unlink_login = Awaited(organizations.Organizations.unlink_login)
    give = Awaited(organizations.Organizations.give)
    waiting = Awaited(organizations.Organizations.waiting)
    own_quota = Awaited(organizations.Organizations.own_quota)
    quotas = Awaited(organizations.Organizations.quotas)
    network_bounds = Awaited(organizations.Organizations.network_bounds)
    bound_networks = Awaited(organizations.Organizations.bound_networks)
    oversee = Awaited(organizations.Organizations.oversee)
    list_running = Awaited(organizations.Organizations.list_running)
    workers = Awaited(organizations.Organizations.workers)
    backends = Awaited(organizations.Organizations.backends)
    stop = Awaited(organizations.Organizations.stop)
    halt = Awaited(organizations.Organizations.halt)
    set_quota = Awaited(organizations.Organizations.set_quota)
