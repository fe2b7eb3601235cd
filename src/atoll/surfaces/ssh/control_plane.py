"""The control plane of a home, as the gateway asks it.

It may be away: it restarts, or another one takes over. Then a call waits for it, for a while.
"""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

import aiohttp
import msgspec

from atoll.domain.error_status import kind_of
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.wire.contract import ssh
from atoll.wire.http.unreadable import UNREADABLE

T = TypeVar("T")

WAIT_SECONDS: Final = 25.0
"""The time for which a login waits for a control plane that is away."""

_PAUSE_SECONDS: Final = 0.2
_CALL_SECONDS: Final = 120.0
"""A call may wake a sandbox, or wait for it to be provisioned."""


class _Problem(msgspec.Struct):
    code: str | None = None
    detail: str | None = None


class ControlPlane:
    """Calls of the control plane. `locate` returns its URL, None while there is none; `token` is
    the gateway's. Each raises `Unavailable` when it stays away, and the error of a refusal."""

    def __init__(self, locate: Callable[[], str | None], token: str) -> None:
        self._locate = locate
        self._session = aiohttp.ClientSession(
            headers={"Authorization": f"Bearer {token}"},
            timeout=aiohttp.ClientTimeout(total=_CALL_SECONDS),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def close(self) -> None:
        """Close its connections."""
        await self._session.close()

    async def identity(self) -> ssh.Identity:
        """Return the keys of the gateway."""
        return await self._call("identity", None, ssh.Identity)

    async def judge(self, presented: ssh.LoginClaim) -> ssh.LoginGrant | None:
        """Return who that is and what it may do, None for nobody who may come in."""
        answers = await self.standing((presented,), wait=WAIT_SECONDS)
        return answers[0]

    async def standing(
        self, logins: tuple[ssh.LoginClaim, ...], *, wait: float = 0.0
    ) -> tuple[ssh.LoginGrant | None, ...]:
        """Return what each login may do by now."""
        body = ssh.Standing(logins=logins)
        answer = await self._call("logins", body, ssh.StandingAnswer, wait=wait)
        if len(answer.logins) != len(logins):
            raise Failed("the control plane answered for other logins")
        return answer.logins

    async def way(self, presented: ssh.LoginClaim) -> ssh.Way:
        """Return the way into a sandbox; one that sleeps is woken."""
        return await self._call("ways", presented, ssh.Way)

    async def open_terminal(self, order: ssh.TerminalOrder) -> str:
        """Open a terminal; returns its id."""
        opened = await self._call("terminals", order, ssh.OpenedTerminal)
        return opened.terminal_id

    async def report(self, reports: tuple[ssh.Report, ...]) -> None:
        """Hand over what happened."""
        await self._call("reports", ssh.Reports(reports=reports), None, wait=0.0)

    async def _call(
        self,
        name: str,
        body: msgspec.Struct | None,
        kind: type[T] | None,
        *,
        wait: float = WAIT_SECONDS,
    ) -> T:
        deadline = asyncio.get_running_loop().time() + wait
        while True:
            try:
                return await self._once(name, body, kind)
            except (aiohttp.ClientConnectionError, Unavailable, TimeoutError) as error:
                if asyncio.get_running_loop().time() >= deadline:
                    raise Unavailable("Atoll does not answer; try again shortly") from error
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _once(self, name: str, body: msgspec.Struct | None, kind: type[T] | None) -> T:
        url = self._locate()
        if url is None:
            raise Unavailable("Atoll does not run")
        content = b"{}" if body is None else msgspec.json.encode(body)
        headers = {"Content-Type": "application/json"}
        async with self._session.post(
            f"{url}{ssh.PREFIX}/{name}", data=content, headers=headers, allow_redirects=False
        ) as answer:
            read = await answer.read()
        if answer.status >= 400:
            raise _refusal(answer.status, read)
        try:
            return msgspec.json.decode(read, type=kind) if kind is not None else None  # type: ignore[return-value]
        except UNREADABLE as error:
            raise Failed("the control plane answered what it should not") from error


def _refusal(status: int, body: bytes) -> AtollError:
    try:
        problem = msgspec.json.decode(body, type=_Problem)
    except UNREADABLE:
        problem = _Problem()
    return kind_of(status)(
        problem.detail or f"Atoll answered with status {status}", code=problem.code
    )
