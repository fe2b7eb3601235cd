"""Tokens of a team, as its administrators see and end them: whose each is, never its text."""

from dataclasses import replace

from atoll.domain.errors import NotFound
from atoll.domain.ids import TokenId
from atoll.domain.paging import PageQuery, RowPage
from atoll.domain.people.capability import OrgRole
from atoll.domain.people.organization import check_may_set
from atoll.domain.people.principal import Principal
from atoll.domain.people.token import Token
from atoll.services.ground import Ground
from atoll.services.journals.events import Note, draft_of
from atoll.services.people.memberships import organization_for
from atoll.services.people.rosters import check_team


class TeamTokens:
    """Use cases on the tokens of all members and service accounts of an organization."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    async def list(self, caller: Principal, ref: str, page: PageQuery) -> RowPage[Token]:
        """Return a page of living tokens, the first to end first. Raises `NotFound`, `Forbidden`,
        and `Conflict` for a single person's home."""
        async with self._ground.store.read() as rows:
            found, own = await organization_for(rows, caller, ref)
            check_may_set(own, OrgRole.MEMBER)
            check_team(found)
            return await rows.tokens.living(found.id, self._ground.clock.now(), page)

    async def revoke(self, caller: Principal, ref: str, token_id: str) -> None:
        """End a token, what was made from it, and within 5 seconds their open connections. Raises
        `NotFound`, and `Forbidden` for who is no administrator, and for a token of an owner who is
        somebody else, unless an owner asks."""
        async with self._ground.store.begin() as rows:
            found, own = await organization_for(rows, caller, ref)
            check_team(found)
            token = await rows.tokens.get(TokenId(token_id))
            if token is None or token.org_id != found.id:
                raise NotFound(f"There is no token {token_id[:80]!r}: list them to see.")
            member = await rows.members.get(found.id, token.owner)
            theirs = member is not None and token.owner != caller.id
            before = member.role if member is not None and theirs else None
            check_may_set(own, OrgRole.MEMBER, before)
            await rows.tokens.remove(token.id)
            told = {"token_id": token.id, "name": token.name, "account": token.owner}
            draft = draft_of(
                Note("auth", "token.revoked", told),
                caller,
                at=self._ground.clock.now(),
                event_id=self._ground.ids.event(),
            )
            # Whose token it was should read who ended it.
            await rows.events.append((replace(draft, org_id=found.id, owner=token.owner),))
        self._ground.bus.announce(("auth",))
