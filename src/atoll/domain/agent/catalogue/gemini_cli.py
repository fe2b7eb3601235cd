"""Gemini CLI: its key's kind is chosen beforehand, folders are trusted, nothing is reported.

Its hooks stand in its settings: others it reads from folders of root alone. Outside an agent's
terminal they do nothing.
"""

import json

from atoll.domain.agent.agent import (
    HOOK_COMMAND,
    TOOLS_PROGRAM,
    Agent,
    AgentTools,
    Machine,
    Package,
    Seed,
)
from atoll.domain.broker.control_plane import TOOLS_URL

_EVENTS = (
    "SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "AfterAgent",
    "SessionEnd",
)  # fmt: skip
# Its timeouts are milliseconds.
_HOOK = {"hooks": [{"type": "command", "timeout": 5000, "command": HOOK_COMMAND}]}
_SETTINGS = (
    json.dumps({
        "security": {
            "auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False},
        },
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
        "hooks": {event: [_HOOK] for event in _EVENTS},
    })
    + "\n"
)  # fmt: skip
# An extension, which it loads in every mode: a person's settings stay theirs.
_EXTENSION = {"name": "atoll", "version": "1.0.0"}
_TOOLS = json.dumps({**_EXTENSION, "mcpServers": {"atoll": {"httpUrl": TOOLS_URL}}})
_TOOLS_STDIO = json.dumps({**_EXTENSION, "mcpServers": {"atoll": {"command": TOOLS_PROGRAM}}})
_MANIFEST = ".gemini/extensions/atoll/gemini-extension.json"

AGENT = Agent(
    name="gemini-cli",
    command="gemini",
    argv=("gemini", "--yolo", "--skip-trust"),
    task_argv=("gemini", "--yolo", "--skip-trust", "--output-format", "stream-json", "-p"),
    resume_argv=("gemini", "--yolo", "--skip-trust", "--resume", "latest"),
    conversation_argv=("gemini", "--yolo", "--skip-trust", "--resume"),
    package=Package(
        registry="npm",
        name="@google/gemini-cli",
        version="0.61.0",
        programs=("node_modules/.bin/gemini",),
        needs=("node",),
        about_mib=97,
    ),
    providers=("gemini",),
    state=(".gemini",),
    transcripts=".gemini/tmp/*/chats/session-*",
    seeds=(Seed(".gemini/settings.json", _SETTINGS),),
    aliases=("gemini",),
    transcript="gemini",
    prompt_argv=("--prompt-interactive",),
    machine=Machine(protocol="acp", argv=("gemini", "--skip-trust", "--acp"), conversation_argv=()),
    mcp=AgentTools(seeds=(Seed(_MANIFEST, _TOOLS),)),
    mcp_stdio=AgentTools(seeds=(Seed(_MANIFEST, _TOOLS_STDIO),)),
)
