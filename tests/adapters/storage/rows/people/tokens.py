"""Checks of the rows of personal access tokens, and of the keys that sign short-lived ones."""

from dataclasses import replace
from datetime import timedelta

from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId
from atoll.domain.paging import PageQuery
from atoll.domain.people.token import Token, TokenId
from atoll.ports import Store
from atoll.ports.store.people.tokens import SigningKey
from atoll.ports.vault import Sealed
from atoll.testing.samples import NOW, OWNER

_LATER = NOW + timedelta(microseconds=1)


def token(name: str, *, number: int = 0, parent: str | None = None) -> Token:
    """Return a token of a minute, and `number` microseconds."""
    at = NOW + timedelta(microseconds=number)
    return Token(
        id=TokenId(name),
        org_id=PERSONAL_ORG,
        owner=OWNER,
        name="für CI",
        mark=f"mark of {name}",
        capabilities=("sandbox.read",),
        created_at=at,
        expires_at=at + timedelta(seconds=60),
        parent=None if parent is None else TokenId(parent),
    )


async def check_tokens_of_an_organization_are_listed_while_they_live(store: Store) -> None:
    """All owners', the first to end first."""
    made = [token("b"), replace(token("a"), owner=PrincipalId("bob")), token("c", number=5)]
    abroad = replace(token("d"), org_id=OrgId("else"))
    async with store.begin() as rows:
        for one in (*made, abroad):
            await rows.tokens.add(one)
    async with store.read() as rows:
        living = rows.tokens.living
        page = await living(PERSONAL_ORG, NOW, PageQuery(2))
        assert page.rows == [made[1], made[0]] and page.following is not None
        rest = await living(PERSONAL_ORG, NOW, PageQuery(2, page.following))
        assert (rest.rows, rest.following) == ([made[2]], None)
        assert (await living(PERSONAL_ORG, made[0].expires_at, PageQuery(9))).rows == [made[2]]


async def check_token_is_found_by_its_mark_and_its_owner(store: Store) -> None:
    """Each by its own; a use is kept beside it."""
    async with store.begin() as rows:
        await rows.tokens.add(token("two", number=1))
        await rows.tokens.add(token("one"))
        await rows.tokens.used(TokenId("one"), NOW)
        await rows.tokens.used(TokenId("three"), NOW)
    async with store.read() as rows:
        used = replace(token("one"), used_at=NOW)
        assert await rows.tokens.of(PERSONAL_ORG, OWNER) == [used, token("two", number=1)]
        assert await rows.tokens.marked("mark of one") == used
        assert await rows.tokens.get(TokenId("two")) == token("two", number=1)
        assert await rows.tokens.get(TokenId("three")) is None
        assert await rows.tokens.marked("mark of three") is None
        assert await rows.tokens.of(OrgId("other"), OWNER) == []
        assert await rows.tokens.of(PERSONAL_ORG, PrincipalId("other")) == []


async def check_removed_token_takes_those_it_made_along(store: Store) -> None:
    """To the last generation, and no other."""
    async with store.begin() as rows:
        await rows.tokens.add(token("one"))
        await rows.tokens.add(token("two", parent="one"))
        await rows.tokens.add(token("three", parent="two"))
        await rows.tokens.add(token("four"))
        await rows.tokens.remove(TokenId("one"))
        await rows.tokens.remove(TokenId("one"))
        assert [one.id for one in await rows.tokens.of(PERSONAL_ORG, OWNER)] == ["four"]


async def check_tokens_that_ended_are_forgotten(store: Store) -> None:
    """At their end and not before it."""
    async with store.begin() as rows:
        await rows.tokens.add(token("one"))
        await rows.tokens.add(token("two", number=1))
        await rows.tokens.forget(NOW + timedelta(seconds=60))
        assert [one.id for one in await rows.tokens.of(PERSONAL_ORG, OWNER)] == ["two"]


def key(kid: str, *, number: int = 0) -> SigningKey:
    """Return a key made `number` microseconds after the start."""
    return SigningKey(kid, f'{{"kid":"{kid}"}}', NOW + timedelta(microseconds=number))


async def check_key_is_kept_with_its_sealed_half_until_it_is_forgotten(store: Store) -> None:
    """A key that still signs is never forgotten."""
    sealed = Sealed("mk_1", b"\x00wrapped", b"sealed\xff")
    async with store.begin() as rows:
        assert await rows.signing_keys.all() == []
        await rows.signing_keys.add(key("one"), sealed)
        await rows.signing_keys.retire(NOW)
        await rows.signing_keys.add(key("two", number=1), Sealed("mk_2", b"", b""))
        first = SigningKey("one", '{"kid":"one"}', NOW, NOW)
        assert await rows.signing_keys.all() == [first, key("two", number=1)]
        assert await rows.signing_keys.private("one") == sealed
        assert await rows.signing_keys.private("three") is None
        await rows.signing_keys.forget(NOW - timedelta(microseconds=1))
        assert len(await rows.signing_keys.all()) == 2
        await rows.signing_keys.forget(NOW)
        assert await rows.signing_keys.all() == [key("two", number=1)]
        await rows.signing_keys.retire(_LATER)
        await rows.signing_keys.retire(_LATER + timedelta(seconds=1))
        assert [one.retired_at for one in await rows.signing_keys.all()] == [_LATER]
