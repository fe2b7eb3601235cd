import pytest

from atoll.surfaces.http.serving.reading import read_value
from atoll.wire.api.agents.sandbox_agents import AgentBody


def test_agent_is_opened_in_a_conversation_by_its_id() -> None:
    body, _ = read_value(AgentBody, {"agent": "codex", "conversation": "0199-ab_c"}, ())
    assert body.conversation == "0199-ab_c"


@pytest.mark.parametrize("conversation", ["", "--help", "../x", "a b", "a" * 81, 7])
def test_word_that_can_be_no_conversation_is_refused(conversation: object) -> None:
    _, findings = read_value(AgentBody, {"agent": "codex", "conversation": conversation}, ())
    assert [one.path for one in findings] == [("conversation",)]
