import pytest
from pydantic import ValidationError

from atoll.surfaces.http.agents.bodies import AgentBody


def test_agent_is_opened_in_a_conversation_by_its_id() -> None:
    body = AgentBody.model_validate({"agent": "codex", "conversation": "0199-ab_c"})
    assert body.conversation == "0199-ab_c"


@pytest.mark.parametrize("conversation", ["", "--help", "../x", "a b", "a" * 81, 7])
def test_word_that_can_be_no_conversation_is_refused(conversation: object) -> None:
    with pytest.raises(ValidationError):
        AgentBody.model_validate({"agent": "codex", "conversation": conversation})
