"""Several people of one or more organizations, who call the app with tokens of their own.

How they log in is not what these tests are about: a token here stands for a `Principal`, as a login
gives it. What it may do, the app finds out itself.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from atoll.domain.ids import OrgId, PrincipalId
from atoll.domain.people.capability import EVERY_CAPABILITY
from atoll.domain.people.organization import Member, Organization
from atoll.domain.people.principal import Principal
from atoll.wire.words.events import ActorKind
from atoll.wire.words.people import OrgRole
from tests.surfaces.http.world import World, client_of


@dataclass
class Team:
    """People by the token they send."""

    atoll: World
    people: dict[str, Principal] = field(default_factory=dict)

    def __post_init__(self) -> None:
        logins = self.atoll.services.logins
        known = logins.by_home

        def by_home(token: str) -> Principal | None:
            return self.people.get(token) or known(token)

        setattr(logins, "by_home", by_home)  # noqa: B010 - the seam of these tests

    def know(
        self, name: str, org: str = "personal", *, kind: ActorKind = ActorKind.PERSON
    ) -> Principal:
        """Let somebody log in: the login gives every capability, their role takes away."""
        person = Principal(
            OrgId(org),
            PrincipalId(name),
            kind,
            interactive=kind is ActorKind.PERSON,
            name=name.capitalize(),
            capabilities=EVERY_CAPABILITY,
        )
        self.people[f"token-of-{name}"] = person
        return person

    async def join(
        self,
        name: str,
        role: OrgRole = OrgRole.MEMBER,
        *,
        org: str = "personal",
        kind: ActorKind = ActorKind.PERSON,
    ) -> Principal:
        """Make somebody a member, and let them log in."""
        person = self.know(name, org, kind=kind)
        ground = self.atoll.ground
        member = Member(
            person.org_id, person.id, kind, person.name, "", role, (), ground.clock.now()
        )
        async with ground.store.begin() as rows:
            await rows.members.put(member)
        self.atoll.services.tenancy.memberships.forget(person.org_id, person.id)
        return person

    async def organization(self, slug: str) -> None:
        """Make an organization whose id is its slug."""
        made = Organization(OrgId(slug), slug, slug, self.atoll.clock.now())
        async with self.atoll.ground.store.begin() as rows:
            await rows.organizations.put(made)

    @asynccontextmanager
    async def client(self, name: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
        """Yield the client of somebody; without a name, of the installation's person."""
        token = self.atoll.token if name is None else f"token-of-{name}"
        async with client_of(self.atoll.url, token) as made:
            yield made

    async def call(self, name: str | None, method: str, path: str, **more: Any) -> httpx.Response:
        """Return the answer to one request of somebody."""
        async with self.client(name) as made:
            return await made.request(method, path, **more)

    async def as_role(self, name: str, role: OrgRole) -> None:
        """Give a member another role, as another replica would: this process is not told."""
        person = self.people[f"token-of-{name}"]
        async with self.atoll.ground.store.begin() as rows:
            member = await rows.members.get(person.org_id, person.id)
            assert member is not None
            await rows.members.put(replace(member, role=role))


async def team_of(atoll: World, **roles: str) -> Team:
    """A team in place of the single person's home, with members by name and role."""
    team = Team(atoll)
    made = await team.call(None, "POST", "/v1/organizations", json={"slug": "acme"})
    assert made.status_code == 201, made.text
    for name, role in roles.items():
        await team.join(name, OrgRole(role))
    return team
