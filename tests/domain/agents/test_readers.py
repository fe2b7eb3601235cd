"""Every reader of what agents say keeps the promises of its contract, on recordings of the real
agents."""

import json
from collections.abc import Callable

import pytest

from atoll.domain.agents.conversation import Conversation, Terms
from atoll.domain.agents.lenient_json import Message
from atoll.domain.agents.readers import CONVERSATIONS, TRANSCRIPTS, Transcript
from atoll.testing import ConversationContract, TranscriptContract
from tests.domain.agents.cards.replay import FIXTURES

WRITTEN = {
    "claude": "claude-transcript",
    "codex": "codex-rollout",
    "gemini": "gemini-transcript",
    "opencode": "opencode-events",
    "qwen": "qwen-transcript",
}
SPOKEN = {"acp": "gemini-acp", "claude": "claude-stream-json", "codex": "codex-app-server"}


def recorded(name: str) -> list[Message]:
    """Return the lines an agent wrote; in a recording of both sides, its own."""
    lines = [json.loads(line) for line in (FIXTURES / f"{name}.jsonl").read_text().splitlines()]
    return [one.get("msg", one) for one in lines if one.get("dir", "out") == "out"]


@pytest.mark.parametrize("name", TRANSCRIPTS)
class TestTranscripts(TranscriptContract):
    @pytest.fixture
    def make(self, name: str) -> Callable[[], Transcript]:
        return TRANSCRIPTS[name]

    @pytest.fixture
    def messages(self, name: str) -> list[Message]:
        return recorded(WRITTEN[name])


@pytest.mark.parametrize("name", CONVERSATIONS)
class TestConversations(ConversationContract):
    @pytest.fixture
    def make(self, name: str) -> Callable[[Terms], Conversation]:
        return CONVERSATIONS[name]

    @pytest.fixture
    def messages(self, name: str) -> list[Message]:
        return recorded(SPOKEN[name])
