"""Gemini CLI: its key's kind is chosen beforehand, folders are trusted, nothing is reported.

Defaults below /etc say so beside a person's own settings, which take precedence. Its home has the
same where it has no settings, for a wall that has the /etc of its image.
"""

import json

from atoll.domain.agent.agent import (
    TOOLS_PROGRAM,
    Agent,
    AgentTools,
    Machine,
    Package,
    Seed,
    WatchFile,
)
from atoll.domain.agent.hooks import HOOK_SECONDS, write_hooks
from atoll.domain.broker.control_plane import TOOLS_URL

_EVENTS = (
    "SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "AfterAgent",
    "SessionEnd",
)  # fmt: skip
# Its timeouts are milliseconds. Hooks of several settings are added up.
_WATCH = json.dumps({"hooks": write_hooks(_EVENTS, timeout=HOOK_SECONDS * 1000)})
_SETTINGS = (
    json.dumps({
        "security": {
            "auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False},
        },
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    })
    + "\n"
)  # fmt: skip
# An extension, which it loads in every mode: a person's settings stay theirs.
_EXTENSION = {"name": "atoll", "version": "1.0.0"}
_TOOLS = json.dumps({**_EXTENSION, "mcpServers": {"atoll": {"httpUrl": TOOLS_URL}}})
_TOOLS_STDIO = json.dumps({**_EXTENSION, "mcpServers": {"atoll": {"command": TOOLS_PROGRAM}}})
_MANIFEST = ".gemini/extensions/atoll/gemini-extension.json"

_GEMINI = ("gemini", "--approval-mode", "yolo", "--skip-trust")

AGENT = Agent(
    name="gemini-cli",
    command="gemini",
    argv=_GEMINI,
    task_argv=(*_GEMINI, "--output-format", "stream-json", "-p"),
    resume_argv=(*_GEMINI, "--resume", "latest"),
    conversation_argv=(*_GEMINI, "--resume"),
    package=Package(
        registry="npm",
        name="@google/gemini-cli",
        version="0.61.0",
        programs=("node_modules/.bin/gemini",),
        about_mib=97,
    ),
    providers=("gemini",),
    state=(".gemini",),
    transcripts=".gemini/tmp/*/chats/session-*",
    seeds=(Seed(".gemini/settings.json", _SETTINGS),),
    etc=(Seed("gemini-cli/system-defaults.json", _SETTINGS),),
    aliases=("gemini",),
    watch_files=(WatchFile(".json", _WATCH, "GEMINI_CLI_SYSTEM_SETTINGS_PATH"),),
    transcript="gemini",
    prompt_argv=("--prompt-interactive",),
    machine=Machine(
        protocol="acp",
        # Atoll approves each request by itself where everything is allowed.
        argv=("gemini", "--approval-mode", "default", "--skip-trust", "--acp"),
        conversation_argv=(),
    ),
    mcp=AgentTools(seeds=(Seed(_MANIFEST, _TOOLS),)),
    mcp_stdio=AgentTools(seeds=(Seed(_MANIFEST, _TOOLS_STDIO),)),
)
