import asyncio
from dataclasses import replace

from atoll.adapters.bus.in_process import InProcessBus
from atoll.adapters.signers import Es256Signer
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.people.signing_keys import SigningKeys
from atoll.services.tools.mcp_sessions import LASTS, McpSessions, SessionClaims
from tests.services.scene import Scene, scene


async def _begun(sessions: McpSessions) -> SessionClaims:
    found = await sessions.find(LOCAL_PERSON, await sessions.begin(LOCAL_PERSON, "mark"))
    assert found is not None and found.tools == "mark"
    return found


def _keys(s: Scene) -> SigningKeys:
    return SigningKeys(s.ground, s.vault, Es256Signer())


def _sessions(s: Scene, look_seconds: float = 60) -> McpSessions:
    return McpSessions(s.ground, _keys(s), look_seconds=look_seconds)


async def test_end_of_a_session_is_announced() -> None:
    async with scene() as s:
        sessions = _sessions(s)
        one, other = await _begun(sessions), await _begun(sessions)
        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
            waits = tasks.create_task(sessions.until_ended(one))
            stays = tasks.create_task(sessions.until_ended(other))
            await asyncio.sleep(0)
            await sessions.end(one)
            await waits
            assert not stays.done()
            stays.cancel()


async def test_end_at_another_replica_is_seen_also_without_an_announcement() -> None:
    async with scene() as s:
        here = _sessions(s, 0.05)
        one = await _begun(here)
        there = McpSessions(replace(s.ground, bus=InProcessBus()), _keys(s))
        async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
            tasks.create_task(here.until_ended(one))
            await there.end(one)


async def test_session_ends_by_its_time() -> None:
    async with scene() as s:
        sessions = _sessions(s)
        one = await _begun(sessions)
        s.clock.turn(LASTS.total_seconds() + 1)
        async with asyncio.timeout(5):
            await sessions.until_ended(one)
