"""The contract of an Extension, as tests its author runs.

Subclass `ExtensionContract` in a test module (pytest-asyncio, auto mode), give a fixture
`extension`, and override `kill` so that the suite can end an environment behind its back:

    class TestMine(ExtensionContract):
        @pytest.fixture
        async def extension(self): ...
"""

import asyncio
import os
from dataclasses import replace

import pytest

from atoll.domain.errors import AtollError
from atoll.domain.ids import SandboxId, spell
from atoll.domain.profile.profile import Profile
from atoll.ports.extension import (
    ABILITIES,
    Closable,
    Ended,
    EndReasons,
    Examines,
    Extension,
    Handle,
    JudgesProfiles,
    Provision,
)

DEATH_SECONDS = 2.0
QUIET_SECONDS = 0.5
"""Time in which nothing may be reported."""


class ExtensionContract:
    """Contract of an extension: idempotent provision, honest readiness, idempotent teardown,
    survey, deaths in time."""

    def profile(self) -> Profile:
        """Return a profile the backend can build; override where the default does not fit."""
        return Profile(id="profile.shell", version="1.0.0")

    async def kill(self, extension: Extension, handle: Handle) -> None:
        """End the environment behind the extension's back."""
        raise NotImplementedError("override kill() in your subclass of ExtensionContract")

    def request(self, generation: int = 1, sandbox_id: SandboxId | None = None) -> Provision:
        """Return a request for a new sandbox."""
        return Provision(
            sandbox_id=sandbox_id or SandboxId(spell("sb", os.urandom(10))),
            generation=generation,
            name="contract test",
            profile=self.profile(),
        )

    async def test_provision_of_something_new_is_ready_and_surveyed(
        self, extension: Extension
    ) -> None:
        """Find a new environment ready and listed."""
        request = self.request()
        handle = await extension.provision(request)
        assert (handle.sandbox_id, handle.generation) == (request.sandbox_id, 1)
        assert handle.extension == extension.name
        reach = await extension.wait_ready(handle)
        assert reach.address.split(":")[0] in ("unix", "http", "https")
        assert handle in await extension.survey()
        await extension.teardown(handle, keep_state=False)

    async def test_provision_repeated_attaches_to_the_same(self, extension: Extension) -> None:
        """The same identity gives the same environment, also at the same moment."""
        request = self.request()
        handles = await asyncio.gather(*(extension.provision(request) for _ in range(3)))
        assert len({(each.sandbox_id, each.generation, each.data) for each in handles}) == 1
        ids = [each.sandbox_id for each in await extension.survey()]
        assert ids.count(request.sandbox_id) == 1
        await extension.teardown(handles[0], keep_state=False)

    async def test_provision_of_another_generation_while_one_lives_is_refused(
        self, extension: Extension
    ) -> None:
        """Two generations never live side by side."""
        request = self.request()
        handle = await extension.provision(request)
        with pytest.raises(AtollError):
            await extension.provision(self.request(2, request.sandbox_id))
        await extension.teardown(handle, keep_state=False)

    async def test_teardown_twice_removes_nothing_the_second_time(
        self, extension: Extension
    ) -> None:
        """Idempotent, with nothing left over."""
        handle = await extension.provision(self.request())
        first = await extension.teardown(handle, keep_state=False)
        assert first.removed
        assert not first.leftovers
        second = await extension.teardown(handle, keep_state=False)
        assert not second.removed
        assert not second.leftovers
        assert handle.sandbox_id not in [each.sandbox_id for each in await extension.survey()]

    async def test_teardown_keeping_state_can_be_provisioned_again(
        self, extension: Extension
    ) -> None:
        """Stop, then start with the next generation; then nothing of it stays."""
        request = self.request()
        handle = await extension.provision(request)
        await extension.teardown(handle, keep_state=True)
        assert handle not in await extension.survey()
        again = await extension.provision(self.request(2, request.sandbox_id))
        assert again.generation == 2
        await extension.wait_ready(again)
        await extension.teardown(again, keep_state=True)
        report = await extension.teardown(again, keep_state=False)
        assert report.removed
        assert not report.leftovers

    async def test_maintenance_start_is_ended_by_an_ordinary_one(
        self, extension: Extension
    ) -> None:
        """Find that a maintenance start is never taken for a sandbox that runs."""
        request = self.request()
        handle = await extension.provision(request)
        alone = replace(request, maintenance_seconds=60)
        with pytest.raises(AtollError):
            await extension.provision(alone)
        await extension.teardown(handle, keep_state=True)
        await extension.wait_ready(await extension.provision(alone))
        again = await extension.provision(request)
        await extension.wait_ready(again)
        with pytest.raises(AtollError):
            await extension.provision(alone)
        await extension.teardown(again, keep_state=False)

    async def test_wait_ready_after_teardown_says_so(self, extension: Extension) -> None:
        """No readiness is claimed for what is gone."""
        handle = await extension.provision(self.request())
        await extension.teardown(handle, keep_state=False)
        with pytest.raises(AtollError):
            await extension.wait_ready(handle)

    async def test_ended_after_a_death_tells_within_two_seconds(self, extension: Extension) -> None:
        """Find sandbox, generation and reason in the report; survey agrees."""
        handle = await extension.provision(self.request())
        deaths: asyncio.Queue[Ended] = asyncio.Queue()

        async def listen() -> None:
            async for death in extension.ended():
                await deaths.put(death)

        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(listen())
            await self.kill(extension, handle)
            async with asyncio.timeout(DEATH_SECONDS):
                death = await deaths.get()
            listening.cancel()
        assert (death.sandbox_id, death.generation) == (handle.sandbox_id, handle.generation)
        assert death.reason
        assert handle not in await extension.survey()
        await extension.teardown(handle, keep_state=False)

    async def test_each_end_of_one_generation_is_reported_unless_it_was_started_again(
        self, extension: Extension
    ) -> None:
        """Report an end that was read late only while nothing lives; report the next one."""
        request = self.request()
        handle = await extension.provision(request)
        await self.kill(extension, handle)
        for _ in range(100):
            if handle not in await extension.survey():
                break
            await asyncio.sleep(DEATH_SECONDS / 100)
        await extension.teardown(handle, keep_state=True)
        handle = await extension.provision(request)
        deaths: asyncio.Queue[Ended] = asyncio.Queue()

        async def listen() -> None:
            async for death in extension.ended():
                await deaths.put(death)

        async with asyncio.TaskGroup() as tasks:
            listening = tasks.create_task(listen())
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(QUIET_SECONDS):
                    await deaths.get()
            await self.kill(extension, handle)
            async with asyncio.timeout(DEATH_SECONDS):
                death = await deaths.get()
            listening.cancel()
        assert (death.sandbox_id, death.generation) == (handle.sandbox_id, handle.generation)
        await extension.teardown(handle, keep_state=False)

    async def test_abilities_are_those_the_extension_has(self, extension: Extension) -> None:
        """Find each optional ability both named and implemented, or neither. Examine the machine
        twice where that can be, and find nothing lacking for a plain profile."""
        named = extension.capabilities().abilities
        assert named <= set(ABILITIES)
        assert named == {name for name, kind in ABILITIES.items() if isinstance(extension, kind)}
        if isinstance(extension, Examines):
            for _ in range(2):
                await extension.examine()
        if isinstance(extension, JudgesProfiles):
            assert not extension.lacks(self.request().profile)

    async def test_teardown_of_what_never_was_removes_nothing(self, extension: Extension) -> None:
        """Find a handle of an unknown sandbox harmless."""
        request = self.request()
        handle = Handle(request.sandbox_id, 1, extension.name)
        for keep_state in (True, False):
            report = await extension.teardown(handle, keep_state=keep_state)
            assert not report.removed and not report.leftovers

    async def test_cancelled_start_leaves_nothing_that_teardown_cannot_remove(
        self, extension: Extension
    ) -> None:
        """Cancel a start early, remove what may be there, and start again."""
        request = self.request()
        async with asyncio.TaskGroup() as tasks:
            starting = tasks.create_task(extension.provision(request))
            await asyncio.sleep(0)
            starting.cancel()
        handle = Handle(request.sandbox_id, 1, extension.name)
        report = await extension.teardown(handle, keep_state=False)
        assert not report.leftovers
        again = await extension.provision(request)
        await extension.wait_ready(again)
        await extension.teardown(again, keep_state=False)

    async def test_reason_of_an_end_is_known_afterwards_where_it_can_be(
        self, extension: Extension
    ) -> None:
        """Return no reason for a sandbox that runs or is unknown, and a reason for one that ended
        by itself."""
        if not isinstance(extension, EndReasons):
            pytest.skip("reports no reasons afterwards")
        handle = await extension.provision(self.request())
        assert await extension.why_ended(handle.sandbox_id) is None
        assert await extension.why_ended(self.request().sandbox_id) is None
        await self.kill(extension, handle)
        reason = None
        async with asyncio.timeout(DEATH_SECONDS):
            while reason is None:
                reason = await extension.why_ended(handle.sandbox_id)
                await asyncio.sleep(DEATH_SECONDS / 100)
        assert reason
        await extension.teardown(handle, keep_state=False)

    async def test_close_may_be_repeated(self, extension: Extension) -> None:
        """Find a second close harmless."""
        if not isinstance(extension, Closable):
            pytest.skip("has nothing to close")
        for _ in range(2):
            await extension.close()
