"""The token that a runtime holds: sent with the policy, renewed before it ends, never without
being switched on."""

import asyncio

import pytest

from atoll.domain.errors import Failed
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandbox.sandbox import Sandbox
from atoll.services.people.settings import TokenSettings
from atoll.services.policies.policies import RENEWED_AFTER
from atoll.wire.contract.policy import ApiAccess
from atoll.wiring.control.access import build_access
from tests.services.people.test_push import _ground
from tests.services.scene import scene
from tests.services.secrets.test_secrets import accepting, policies, set_


class Access:
    """Gives a numbered access each time."""

    def __init__(self) -> None:
        self.given = 0
        self.renewed = asyncio.Event()

    async def __call__(self, sandbox: Sandbox) -> ApiAccess | None:
        self.given += 1
        self.renewed.set()
        return ApiAccess(base_url="http://127.0.0.1:1", token=f"{sandbox.name}.{self.given}.x")


async def test_runtime_gets_its_access_with_its_first_policy_and_a_new_one_in_time() -> None:
    access = Access()
    async with scene(inside=access) as s:
        accepting(s)
        await s.ready(name="box")
        (first,) = policies(s)
        assert first.api is not None and first.api.token == "box.1.x"
        assert dict(first.env)["ATOLL_API_URL"] == "http://127.0.0.1:8082/atoll"
        access.renewed.clear()
        s.clock.turn(RENEWED_AFTER.total_seconds() + 2)
        async with asyncio.timeout(10):
            await access.renewed.wait()
        # What was composed is on its way: a push of its own waits for it.
        await s.sandboxes.push_policies(LOCAL_PERSON.org_id, None)
        second = policies(s)[1]
        assert second.api is not None and second.api.token == "box.2.x"


async def test_sandbox_without_the_setting_is_told_nothing() -> None:
    async with scene() as s:
        accepting(s)
        await s.ready()
        assert policies(s) == []
        await set_(s)
        assert policies(s)[-1].api is None
        assert "ATOLL_API_URL" not in dict(policies(s)[-1].env)


def _fails(*_: object) -> str:
    raise Failed("no key")


async def test_setting_is_off_by_default_and_a_key_that_fails_costs_no_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with scene() as s:
        off, made = (
            build_access(_ground(s), s.vault, token="x" * 43, settings=settings)
            for settings in (TokenSettings(), TokenSettings(sandbox_tokens=True))
        )
        assert off.inside("http://127.0.0.1:1") is None and made.inside(None) is None
        access = made.inside("http://127.0.0.1:1/")
        assert access is not None
        accepting(s)
        sandbox = await s.ready()
        found = await access(sandbox)
        assert found is not None and found.base_url == "http://127.0.0.1:1"
        assert found.token.count(".") == 2

        # Neither the kept key opens, nor does a new one sign.
        monkeypatch.setattr(made.keys._signer, "sign", _fails)
        assert await access(sandbox) is None
