"""Logins of command lines: a person confirms the code on the page, and the command line fetches a
personal access token of theirs, once.

The token is made when it is fetched, so no text of one waits anywhere.
"""

import secrets
from dataclasses import replace

from atoll.domain.errors import Forbidden, NotFound
from atoll.domain.people.cli_login import (
    CODE_BYTES,
    LIFE,
    CliLogin,
    find_displaced,
    printable_machine,
    read_code,
    spell_code,
)
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.people.principal import Principal
from atoll.domain.people.token import Token, TokenRequest
from atoll.services.ground import Ground
from atoll.services.people.logins import Logins
from atoll.services.people.tokens import Owners, Tokens
from atoll.wire.words.events import ActorKind


class CliLogins:
    """Use cases on logins of command lines."""

    def __init__(self, ground: Ground, tokens: Tokens, owners: Owners, *, logins: Logins) -> None:
        self._ground = ground
        self._tokens = tokens
        self._owners = owners
        self._logins = logins

    async def begin(self, address: str, machine: str) -> tuple[CliLogin, str]:
        """Return a new login, and the secret by which the command line fetches its token. Raises
        `LimitReached` while too many of `address` wait."""
        now, secret = self._ground.clock.now(), spell_secret(secrets.token_bytes(SECRET_BYTES))
        login = CliLogin(
            fingerprint(secret),
            spell_code(secrets.token_bytes(CODE_BYTES)),
            address,
            printable_machine(machine),
            now + LIFE,
        )
        async with self._ground.store.begin() as rows:
            await rows.cli_logins.forget(now)
            given_way = find_displaced(await rows.cli_logins.all(), address)
            if given_way is not None:
                await rows.cli_logins.remove(given_way.mark)
            await rows.cli_logins.put(login)
        return login, secret

    async def waiting(self, caller: Principal, code: str) -> CliLogin:
        """Return the login with this code, for the person who decides. Raises `Forbidden`,
        `NotFound`."""
        _check(caller)
        async with self._ground.store.read() as rows:
            login = await rows.cli_logins.coded(read_code(code))
        if login is None or login.confirmed or login.expires_at <= self._ground.clock.now():
            raise NotFound("No command line waits with this code: run `atoll login` there again.")
        return login

    async def confirm(self, caller: Principal, code: str) -> CliLogin:
        """Let the command line with this code act for the caller. Raises like `waiting`."""
        login = await self.waiting(caller, code)
        confirmed = replace(login, org_id=caller.org_id, person=caller.id)
        async with self._ground.store.begin() as rows:
            newest = await rows.cli_logins.get(login.mark)
            if newest != login:
                raise NotFound("This code was confirmed already: run `atoll login` there again.")
            await rows.cli_logins.put(confirmed)
        return confirmed

    async def fetch(self, secret: str, source: str) -> tuple[Token, str] | None:
        """Return the token of a confirmed login and its text, once; None while it waits. Raises
        `Unauthenticated` for one that is over, `LimitReached` after too many of those from
        `source`."""
        mark, now = fingerprint(secret), self._ground.clock.now()
        async with self._ground.store.read() as rows:
            login = await rows.cli_logins.get(mark)
        if login is None or login.expires_at <= now:
            raise self._logins.wrong(source, "this login is over: run `atoll login` again")
        if not login.confirmed:
            return None
        async with self._ground.store.begin() as rows:
            if await rows.cli_logins.get(mark) is None:
                raise self._logins.wrong(source, "this login was used already")
            await rows.cli_logins.remove(mark)
        owner = await self._owners(login.org_id, login.person)
        if owner is None:
            raise self._logins.wrong(source, "who confirmed this login is no member any more")
        return await self._tokens.create(owner, TokenRequest(f"atoll on {login.machine}"[:64]))


def _check(caller: Principal) -> None:
    person = caller.kind is ActorKind.PERSON and caller.guest_access is None
    if not person or not caller.interactive or caller.token is not None:
        raise Forbidden("only a person in their browser confirms the login of a command line")
