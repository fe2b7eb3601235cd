"""Model and permission mode of agents in machine mode, over each protocol."""

from typing import Any

import pytest

from atoll.domain.agents.acp.conversation import AcpConversation
from atoll.domain.agents.acp.settings import ALLOW_ALL
from atoll.domain.agents.card import CardState, Draft
from atoll.domain.agents.claude_code.conversation import ClaudeConversation
from atoll.domain.agents.codex.conversation import CodexConversation
from atoll.domain.agents.conversation import Conversation, Step, Terms
from atoll.domain.agents.settings import MAX_CHOICES, NO_SETTINGS, chosen_value, setting, with_value
from atoll.domain.errors import Invalid
from atoll.wire.contract.agents import SettingRecord, SettingsRecord

ASKS, ALLOWS = Terms("/w", ask=True), Terms("/w")
MODES = {
    "currentModeId": "default",
    "availableModes": [{"id": "default", "name": "Default"}, {"id": "plan", "name": "Plan"}],
}
MODELS = {"currentModelId": "m1", "availableModels": [{"modelId": "m1"}, {"modelId": "m2"}]}


def known(step: Step) -> SettingsRecord:
    assert step.settings is not None
    return step.settings


def present(step: Step) -> tuple[str, str]:
    """The model and the permission mode after a step."""
    record = known(step)
    return record.model.now if record.model else "-", mode_of(step)


def mode_of(step: Step) -> str:
    record = known(step).permission_mode
    assert record is not None
    return record.now


def answers(step: Step, **fields: Any) -> dict[str, Any]:
    return {"id": step.send[-1]["id"], **fields}


# What may be named.


def test_choices_of_an_agent_are_bounded_and_harmless() -> None:
    many = [(f"m{n}", "") for n in range(MAX_CHOICES * 2)]
    assert len(setting("m1", many).choices) == MAX_CHOICES
    (only,) = setting("", [("a\x1b[2J", "bad"), ("a", "A\u202eB\x1b]0;x"), ("a", "twice")]).choices
    assert (only.id, only.label) == ("a", "A B ]0;x")
    assert setting("x\ny", []).now == ""
    assert setting("m1", [("m1", "")]).choices[0].label == "m1"


def test_value_outside_the_choices_is_refused_unless_any_is_accepted() -> None:
    record = SettingsRecord(setting("a", [("a", "A")], free=True), setting("a", [("a", "A")]))
    assert chosen_value(record, "model", "claude-x[1m]") == "claude-x[1m]"
    for bad in ("", " a", "a\nb", "x" * 201):
        with pytest.raises(Invalid, match="no model"):
            chosen_value(record, "model", bad)
    assert chosen_value(record, "permission_mode", "a") == "a"
    with pytest.raises(Invalid, match="its choices: a"):
        chosen_value(record, "permission_mode", "b")
    with pytest.raises(Invalid, match="cannot be changed from here"):
        chosen_value(NO_SETTINGS, "model", "a")


def test_report_of_an_unusable_value_changes_nothing() -> None:
    record = SettingsRecord(None, SettingRecord("a"))
    assert with_value(record, "model", "\x00") is record
    assert with_value(record, "permission_mode", "") is record
    assert with_value(NO_SETTINGS, "permission_mode", "a") is NO_SETTINGS
    assert with_value(NO_SETTINGS, "model", "m").model == SettingRecord("m", (), True)


# Claude Code.


def claude_reply(step: Step, **response: Any) -> dict[str, Any]:
    name = step.send[-1]["request_id"]
    return {"type": "control_response", "response": {"request_id": name, **response}}


OFFER = {"models": [
    {"value": "default", "resolvedModel": "opus-4", "displayName": "Default"},
    {"value": "opus", "resolvedModel": "opus-4", "displayName": "Opus"},
    {"value": "sonnet", "resolvedModel": "sonnet-5", "displayName": "Sonnet"},
]}  # fmt: skip


def test_claude_changes_model_and_mode_when_it_has_answered() -> None:
    talk = ClaudeConversation(ALLOWS)
    begun = talk.begin()
    assert present(begun) == ("", "bypassPermissions")
    offered = talk.take(claude_reply(begun, subtype="success", response=OFFER))
    assert present(offered) == ("default", "bypassPermissions")
    asked = talk.change("model", "sonnet")
    assert asked.send[0]["request"] == {"subtype": "set_model", "model": "sonnet"}
    assert asked.settled is None
    done = talk.take(claude_reply(asked, subtype="success"))
    assert (done.settled, present(done)) == ("", ("sonnet", "bypassPermissions"))
    asked = talk.change("permission_mode", "plan")
    assert asked.send[0]["request"] == {"subtype": "set_permission_mode", "mode": "plan"}
    refused = talk.take(claude_reply(asked, subtype="error", error="not now"))
    assert (refused.settled, refused.settings) == ("not now", None)
    # The same answer again, or one to nothing, settles nothing.
    assert talk.take(claude_reply(asked, subtype="success")) == Step()


def test_claude_without_the_flag_offers_no_bypass() -> None:
    step = ClaudeConversation(ASKS).begin()
    record = known(step).permission_mode
    assert record is not None and record.now == "default"
    assert "bypassPermissions" not in [one.id for one in record.choices]


def test_claude_reports_its_own_changes() -> None:
    talk = ClaudeConversation(ALLOWS)
    begun = talk.begin()
    talk.take(claude_reply(begun, subtype="success", response=OFFER))
    init = {"type": "system", "subtype": "init", "model": "opus-4", "permissionMode": "plan"}
    # Two choices stand for that model: the one that was chosen stays.
    assert present(talk.take(init)) == ("default", "plan")
    assert talk.take(init).settings is None
    assert present(talk.take({**init, "model": "sonnet-5"})) == ("sonnet", "plan")
    assert present(talk.take({**init, "model": "other"})) == ("other", "plan")
    status = {"type": "system", "subtype": "status", "permissionMode": "default"}
    assert mode_of(talk.take(status)) == "default"
    assert talk.take({"type": "system", "subtype": "status"}).settings is None


def test_claude_that_gives_no_reason_is_said_to_give_none() -> None:
    talk = ClaudeConversation(ALLOWS)
    asked = talk.change("model", "x")
    refused = talk.take(claude_reply(asked, subtype="error"))
    assert refused.settled == "Claude gave no reason"


# Codex.


def codex() -> tuple[CodexConversation, Step]:
    """A Codex whose thread is ready, and the step that was."""
    talk = CodexConversation(ALLOWS)
    started = talk.take(answers(talk.begin(), result={}))
    return talk, talk.take(answers(started, result={"thread": {"id": "t"}, "model": "gpt-a"}))


def test_codex_takes_a_change_with_its_next_turn() -> None:
    talk, ready = codex()
    assert present(ready) == ("gpt-a", "full-access")
    data = [{"model": "gpt-a", "displayName": "A"}, {"model": "gpt-h", "hidden": True}]
    listed = talk.take(answers(ready, result={"data": data}))
    record = known(listed).model
    assert record is not None and [one.id for one in record.choices] == ["gpt-a"]
    (plain,) = talk.ask("go").send
    assert set(plain["params"]) == {"threadId", "input"}  # type: ignore[arg-type]
    talk.take({"method": "turn/completed", "params": {}})
    assert talk.change("model", "gpt-b").settled == ""
    assert present(talk.change("permission_mode", "ask")) == ("gpt-b", "ask")
    (turn,) = talk.ask("go").send
    params = turn["params"]
    assert isinstance(params, dict)
    assert (params["model"], params["approvalPolicy"]) == ("gpt-b", "on-request")
    assert params["sandboxPolicy"] == {"type": "workspaceWrite"}


def test_codex_that_lists_no_models_works_on() -> None:
    talk, ready = codex()
    assert talk.take(answers(ready, error={"message": "no such method"})) == Step()
    assert talk.ask("go").send


# ACP.


def acp(terms: Terms = ALLOWS, **result: Any) -> tuple[AcpConversation, Step]:
    """A conversation whose session is ready, and the step that was."""
    talk = AcpConversation(terms)
    opened = talk.take(answers(talk.begin(), result={}))
    return talk, talk.take(answers(opened, result={"sessionId": "s", **result}))


def test_acp_changes_mode_and_model_by_their_methods() -> None:
    talk, ready = acp(ASKS, modes=MODES, models=MODELS)
    assert present(ready) == ("m1", "default")
    asked = talk.change("permission_mode", "plan")
    assert asked.send[0]["method"] == "session/set_mode"
    assert asked.send[0]["params"] == {"sessionId": "s", "modeId": "plan"}
    assert mode_of(talk.take(answers(asked, result={}))) == "plan"
    asked = talk.change("model", "m2")
    assert asked.send[0]["params"] == {"sessionId": "s", "modelId": "m2"}
    refused = talk.take(answers(asked, error={"message": "no"}))
    assert (refused.settled, refused.settings) == ("no", None)
    asked = talk.change("model", "m2")
    done = talk.take(answers(asked, result={}))
    assert (done.settled, present(done)) == ("", ("m2", "plan"))


def test_acp_that_is_allowed_everything_asks_again_in_another_mode() -> None:
    talk, ready = acp(modes=MODES)
    record = known(ready).permission_mode
    assert record is not None and record.now == ALLOW_ALL
    assert [one.id for one in record.choices] == [ALLOW_ALL, "default", "plan"]
    request: dict[str, Any] = {"id": 9, "method": "session/request_permission", "params": {
        "toolCall": {"toolCallId": "c"},
        "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]}}  # fmt: skip
    assert talk.take(request).send
    talk.take(answers(talk.change("permission_mode", "default"), result={}))
    waits = talk.take({**request, "id": 10})
    assert not waits.send
    assert any(isinstance(one, Draft) and one.state is CardState.PENDING for one in waits.said)
    assert mode_of(talk.change("permission_mode", ALLOW_ALL)) == ALLOW_ALL
    assert talk.take({**request, "id": 11}).send


def test_acp_without_modes_still_lets_its_person_be_asked() -> None:
    talk, ready = acp()
    assert present(ready) == ("-", ALLOW_ALL)
    step = talk.change("permission_mode", "ask")
    assert (step.send, step.settled, mode_of(step)) == ((), "", "ask")


OPTIONS: list[dict[str, Any]] = [
    {"id": "effort", "category": "thought", "type": "select"},
    {"id": "m", "category": "model", "type": "select", "currentValue": "a/1", "options": [
        {"name": "A", "options": [{"value": "a/1", "name": "One"}]}, {"value": "b", "name": "B"}]},
    {"id": "mode", "category": "mode", "type": "select", "currentValue": "build", "options": [
        {"value": "build", "name": "Build"}, {"value": "plan", "name": "Plan"}]},
]  # fmt: skip


def test_acp_options_are_changed_as_options_and_reported() -> None:
    talk, ready = acp(ASKS, configOptions=OPTIONS)
    assert present(ready) == ("a/1", "build")
    asked = talk.change("model", "b")
    assert asked.send[0]["method"] == "session/set_config_option"
    assert asked.send[0]["params"] == {"sessionId": "s", "configId": "m", "value": "b"}
    assert present(talk.take(answers(asked, result={}))) == ("b", "build")
    moved = [{**OPTIONS[2], "currentValue": "plan"}]
    update = {"sessionUpdate": "config_option_update", "configOptions": moved}
    note: dict[str, Any] = {"method": "session/update", "params": {"update": update}}
    assert present(talk.take(note)) == ("b", "plan")


def test_acp_modes_take_precedence_over_options_of_the_same_kind() -> None:
    talk, ready = acp(ASKS, configOptions=OPTIONS, modes=MODES)
    assert present(ready) == ("a/1", "default")
    assert talk.change("permission_mode", "plan").send[0]["method"] == "session/set_mode"
    update = {"sessionUpdate": "current_mode_update", "currentModeId": "plan"}
    note: dict[str, Any] = {"method": "session/update", "params": {"update": update}}
    assert mode_of(talk.take(note)) == "plan"


def test_answer_to_no_change_settles_nothing() -> None:
    talk, _ = acp(ASKS, modes=MODES)
    first = talk.change("permission_mode", "plan")
    talk.take(answers(first, result={}))
    second = talk.change("permission_mode", "default")
    third = talk.change("permission_mode", "plan")
    assert talk.take(answers(second, result={})).settled == ""
    assert talk.take(answers(third, result={})) == Step()


@pytest.mark.parametrize("make", [ClaudeConversation, CodexConversation, AcpConversation])
def test_settings_are_offered_before_the_first_prompt_or_with_the_session(
    make: type[Conversation],
) -> None:
    talk = make(ALLOWS)  # type: ignore[call-arg]
    begun = talk.begin()
    assert (begun.settings is None) == (make is AcpConversation)
