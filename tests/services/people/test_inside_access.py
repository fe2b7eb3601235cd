"""The access that a runtime holds: sent with the policy, renewed before it ends. To the API it is
never without being switched on, to tools unless the profile says otherwise."""

import asyncio
from dataclasses import replace
from typing import cast

import pytest

from atoll.domain.errors import Failed, Invalid
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.tools.rule import ProfileTools
from atoll.ports.runtime import RuntimeClient
from atoll.services.people.settings import TokenSettings
from atoll.services.policies.policies import RENEWED_AFTER, ComposedPolicy, InsideAccess, _send
from atoll.wire.contract.call import RuntimeCall
from atoll.wire.contract.policy import (
    ApiAccess,
    Policy,
    PolicyView,
    ToolAccess,
    decode_policy,
)
from atoll.wiring.control.access import build_access
from tests.services.people.test_push import _ground
from tests.services.scene import scene
from tests.services.test_secrets import accepting, policies, set_


class Access:
    """Gives a numbered access each time."""

    def __init__(self) -> None:
        self.given = 0
        self.renewed = asyncio.Event()

    async def __call__(self, sandbox: Sandbox) -> InsideAccess:
        self.given += 1
        self.renewed.set()
        token, url = f"{sandbox.name}.{self.given}.x", "http://127.0.0.1:1"
        tools = ToolAccess(base_url=url, token=token, ends_at=2e9)
        return InsideAccess(ApiAccess(base_url=url, token=token), tools)


async def test_runtime_gets_its_access_with_its_first_policy_and_a_new_one_in_time() -> None:
    access = Access()
    async with scene(inside=access) as s:
        accepting(s)
        await s.ready(name="box")
        (first,) = policies(s)
        assert first.api is not None and first.api.token == "box.1.x"
        assert first.tools is not None and first.tools.token == "box.1.x"
        assert dict(first.env)["ATOLL_API_URL"] == "http://127.0.0.1:8082/atoll"
        access.renewed.clear()
        s.clock.turn(RENEWED_AFTER.total_seconds() + 2)
        async with asyncio.timeout(10):
            await access.renewed.wait()
        # What was composed is on its way: a push of its own waits for it.
        await s.within.policy_push.push_changes(LOCAL_PERSON.org_id, None)
        second = policies(s)[1]
        assert second.api is not None and second.api.token == "box.2.x"
        assert second.tools is not None and second.tools.token == "box.2.x"


async def test_sandbox_without_the_setting_is_told_nothing() -> None:
    async with scene() as s:
        accepting(s)
        await s.ready()
        assert policies(s) == []
        await set_(s)
        assert policies(s)[-1].api is None and policies(s)[-1].tools is None
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
        assert made.inside(None) is None
        access, tools_alone = made.inside("http://127.0.0.1:1/"), off.inside("http://127.0.0.1:1/")
        assert access is not None and tools_alone is not None
        accepting(s)
        sandbox = await s.ready()
        without = replace(sandbox.profile, mcp=ProfileTools(enabled=False))
        assert (await access(replace(sandbox, profile=without))).tools is None
        assert not made.tools_lent.is_set()
        found = await access(sandbox)
        assert made.tools_lent.is_set()
        assert found.api is not None and found.api.base_url == "http://127.0.0.1:1"
        assert found.api.token.count(".") == 2
        assert found.tools is not None and found.tools.token == found.api.token
        left = found.tools.ends_at - s.clock.now().timestamp()
        assert RENEWED_AFTER.total_seconds() < left <= 900

        lent = await tools_alone(sandbox)
        assert lent.api is None and lent.tools is not None
        assert await tools_alone(replace(sandbox, profile=without)) == InsideAccess()

        # Neither the kept key opens, nor does a new one sign.
        monkeypatch.setattr(made.keys._signer, "sign", _fails)
        assert await access(sandbox) == InsideAccess()


class EarlierRuntime:
    """A runtime of a version that knew no tools; it says what it refuses."""

    def __init__(self) -> None:
        self.held: list[Policy] = []

    async def call(self, call: RuntimeCall[PolicyView]) -> PolicyView:
        assert isinstance(call.body, bytes)
        if b'"tools"' in call.body:
            raise Invalid("this is no policy")
        self.held.append(decode_policy(call.body))
        return PolicyView(1, [], [], "limited")


async def test_runtime_of_an_earlier_version_gets_its_policy_without_tools() -> None:
    runtime = EarlierRuntime()
    tools = ToolAccess(base_url="http://127.0.0.1:1", token="a.b.c", ends_at=2e9)
    policy = Policy(revision=7, tools=tools)
    await _send(cast(RuntimeClient, runtime), ComposedPolicy(policy, ()))
    assert runtime.held == [Policy(revision=7)]


async def test_runtime_elsewhere_gets_no_access() -> None:
    async with scene(inside=Access()) as s:
        s.extension.address = "http://203.0.113.7:7000"
        accepting(s)
        await s.ready()
        await set_(s)
        assert [(one.api, one.tools) for one in policies(s)] == [(None, None)] * len(policies(s))
