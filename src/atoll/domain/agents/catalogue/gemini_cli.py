"""Gemini CLI: its key's kind is chosen beforehand, folders are trusted, nothing is reported.

Its settings stand in its home, where it has none: a file of the system has to be of root, all the
way up, and inside nothing is. It would skip one with a warning on its screen.
"""

import json

from atoll.domain.agents.agent import (
    TOOLS_PROGRAM,
    Agent,
    AgentTools,
    Machine,
    Package,
    Seed,
)
from atoll.domain.agents.hooks import HOOK_SECONDS, write_hooks
from atoll.domain.broker.control_plane import TOOLS_URL

_EVENTS = (
    "SessionStart", "BeforeAgent", "BeforeTool", "AfterTool", "Notification", "AfterAgent",
    "SessionEnd",
)  # fmt: skip
# Its timeouts are milliseconds.
_HOOKS = json.dumps({"hooks": write_hooks(_EVENTS, timeout=HOOK_SECONDS * 1000)})
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
# Extensions, which it loads in every mode: a person's settings stay theirs. Hooks have one of their
# own, as not every sandbox has tools of Atoll.
_EXTENSION = {"name": "atoll", "version": "1.0.0"}
_REPORTS = json.dumps({**_EXTENSION, "name": "atoll-reports"})
_REPORTS_FOLDER = ".gemini/extensions/atoll-reports"
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
    seeds=(
        Seed(".gemini/settings.json", _SETTINGS),
        Seed(f"{_REPORTS_FOLDER}/gemini-extension.json", _REPORTS),
        Seed(f"{_REPORTS_FOLDER}/hooks/hooks.json", _HOOKS),
    ),
    aliases=("gemini",),
    transcript="gemini",
    menus=True,
    ask_words=(("yolo", "default"),),
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
