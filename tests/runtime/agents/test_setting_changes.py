"""A person changes an agent's model and permission mode, or lifts its strict lock."""

from atoll.domain.agents.conversation import Step
from atoll.domain.agents.settings import setting
from atoll.domain.errors import Conflict
from atoll.ports.runtime_boot import Agent, Machine
from atoll.runtime.agents import setting_change
from atoll.runtime.agents.setting_change import AgentSettings
from atoll.wire.contract.agents import SettingsRecord
from tests.runtime.agents.test_agents import AGENTS, act, at
from tests.runtime.stage import Runtime, runtime

# One that speaks Claude's protocol and accepts every model but `gone`.
MACHINE = r"""
say() { printf '{"type":"control_response","response":{"request_id":"%s",%s}}\n' "$1" "$2"; }
while read -r line; do
  id=${line##*'"request_id":"'}; id=${id%%'"'*}
  case $line in
  *'"initialize"'*)
    models='"models":[{"value":"default","displayName":"Default \u001b[2J"}]'
    say "$id" '"subtype":"success","response":{'"$models"'}' ;;
  *'"model":"gone"'*) say "$id" '"subtype":"error","error":"no such\u001b model"' ;;
  *set_*) say "$id" '"subtype":"success"' ;;
  esac
done
"""
STEERED = Agent("steered", ("sh",), machine=Machine("claude", ("sh", "-c", MACHINE)))
OWNER = {"role": "owner", "principal": "ada"}


async def opened(rt: Runtime) -> str:
    _, shown = await rt.call("POST", "/agents", {"agent": "steered", "mode": "machine"})
    path = f"/agents/{shown['id']}/settings"
    while not (await rt.call("GET", path))[1]["model"]["choices"]:
        pass
    return path


async def test_owner_changes_model_and_mode_once_the_agent_accepts() -> None:
    async with runtime(agents=(STEERED,)) as rt:
        path = await opened(rt)
        status, shown = await rt.call("PATCH", path, {"model": "fast"}, params=OWNER)
        assert (status, shown["model"]["now"]) == (200, "fast")
        assert shown["model"]["choices"] == [{"id": "default", "label": "Default [2J"}]
        _, shown = await rt.call("PATCH", path, {"permission_mode": "plan"}, params=OWNER)
        assert shown["permission_mode"]["now"] == "plan"
        _, agent = await rt.call("GET", path.removesuffix("/settings"))
        assert (agent["model"], agent["permission_mode"]) == ("fast", "plan")
        status, problem = await rt.call("PATCH", path, {"model": "gone"}, params=OWNER)
        assert (status, problem["code"]) == (409, "refused")
        assert problem["detail"].endswith("the agent refused: no such model")
        changes = [one for one in rt.journal.read(0, 100).entries if one.kind == "agent.changed"]
        told = [(one.payload["setting"], one.payload["value"]) for one in changes]
        assert told == [("model", "fast"), ("permission_mode", "plan")]


async def test_change_of_nobody_but_the_owner_or_of_nothing_known_is_refused() -> None:
    async with runtime(agents=(STEERED,)) as rt:
        path = await opened(rt)
        for role in ("viewer", "controller", ""):
            params = {"role": role}
            assert (await rt.call("PATCH", path, {"model": "m"}, params=params))[0] == 403
        for body in ({}, {"model": "m", "permission_mode": "plan"}, {"permission_mode": "no"}):
            assert (await rt.call("PATCH", path, body, params=OWNER))[0] == 422
    async with runtime(agents=AGENTS) as rt, at(rt, "mute") as (agent_id, _):
        path = f"/agents/{agent_id}/settings"
        assert (await rt.call("PATCH", path, {"model": "m"}, params=OWNER))[0] == 422


async def test_owner_types_on_after_lifting_a_strict_lock() -> None:
    async with runtime(agents=AGENTS) as rt:
        body = {"agent": "mute", "softlock": "strict"}
        _, shown = await rt.call("POST", "/agents", body)
        agent_id = shown["id"]
        await act(rt, agent_id, "start")
        path = f"/sessions/{agent_id}/agent"
        guest = {"role": "controller"}
        assert (await rt.call("POST", path, {"action": "unlock"}, params=guest))[0] == 403
        status, shown = await rt.call("POST", path, {"action": "unlock"}, params=OWNER)
        assert (status, shown["softlock"], shown["turn"]) == (200, "owner", "working")


async def test_agent_that_does_not_answer_is_not_waited_for_long() -> None:
    settings = AgentSettings()
    settings.apply(Step(settings=SettingsRecord(model=setting("a", [("a", "A"), ("b", "B")]))))
    setting_change.ANSWER_SECONDS, before = 0.01, setting_change.ANSWER_SECONDS
    try:
        with settings.changing("model", "b") as settled:
            try:
                with settings.changing("model", "a"):
                    raise AssertionError
            except Conflict as problem:
                assert problem.code == "changing"
            try:
                await settled
                raise AssertionError
            except Conflict as problem:
                assert problem.code == "no_answer"
    finally:
        setting_change.ANSWER_SECONDS = before
    assert settings.value("model") == "a"
