"""OpenAI Codex: quiet, pointed at the broker, trusting the wall instead of its own."""

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

_CONFIG = """\
# Written by Atoll when this file was absent; yours to change.
{chosen}approval_policy = "never"                # the sandbox is the wall
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
{more}
[analytics]
enabled = false

[features]                               # they call github.com and chatgpt.com at each start
plugins = false
remote_plugin = false
apps = false
{provider}
[projects."/workspace"]
trust_level = "trusted"
"""
_CHOSEN = 'model_provider = "atoll"\n'
_PROVIDER = """
[model_providers.atoll]
name = "OpenAI through Atoll's broker"
base_url = "http://127.0.0.1:8082/broker/{path}"
{credential}
wire_api = "responses"
"""

CONFIG = _CONFIG.format(
    chosen=_CHOSEN,
    more="",
    provider=_PROVIDER.format(path="openai/v1", credential='env_key = "OPENAI_API_KEY"'),
)
"""The configuration of a Codex that has a key."""

LOGIN_CONFIG = _CONFIG.format(
    chosen=_CHOSEN,
    more='chatgpt_base_url = "http://127.0.0.1:8082/broker/chatgpt/backend-api/"\n',
    provider=_PROVIDER.format(
        path="chatgpt/backend-api/codex", credential="requires_openai_auth = true"
    ),
)
"""The configuration of a Codex whose person is logged in."""

EXPOSED_CONFIG = _CONFIG.format(chosen="", more="", provider="")
"""The configuration of a Codex that calls its vendor itself, with a token that is inside."""

_EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest", "Stop",
)  # fmt: skip
# A JSON text is a TOML text too; TOML's own syntax is needed around it only.
_HOOK = f'{{type="command",timeout=5,command={json.dumps(HOOK_COMMAND)}}}'
_WATCH = tuple(word for event in _EVENTS for word in ("-c", f"hooks.{event}=[{{hooks=[{_HOOK}]}}]"))
_APPROVED = 'mcp_servers.atoll.default_tools_approval_mode="approve"'
_TOOLS = ("-c", f'mcp_servers.atoll.url="{TOOLS_URL}"', "-c", _APPROVED)
_TOOLS_STDIO = ("-c", f'mcp_servers.atoll.command="{TOOLS_PROGRAM}"', "-c", _APPROVED)

AGENT = Agent(
    name="codex",
    command="codex",
    argv=("codex", "--no-daemon"),
    task_argv=("codex", "exec", "--json", "--skip-git-repo-check", "--disable", "plugins"),
    resume_argv=("codex", "resume", "--last", "--no-daemon"),
    conversation_argv=("codex", "resume", "--no-daemon"),
    package=Package(
        registry="npm",
        name="@openai/codex",
        version="0.169.0",
        programs=(
            "node_modules/@openai/codex-linux-*/vendor/*/bin/codex",
            "node_modules/.bin/codex",
        ),
        about_mib=403,
    ),
    providers=("openai",),
    state=(".codex",),
    transcripts=".codex/sessions/*/*/*/rollout-*.jsonl",
    seeds=(Seed(".codex/config.toml", CONFIG),),
    # Ours are not in its list of trusted hooks; the sandbox is the wall around any other.
    watch_argv=("--dangerously-bypass-hook-trust", *_WATCH),
    transcript="codex",
    prompt_argv=("--",),
    machine=Machine(protocol="codex", argv=("codex", "app-server"), conversation_argv=()),
    own_hosts=("ab.chatgpt.com", "chatgpt.com", "raw.githubusercontent.com"),
    mcp=AgentTools(argv=_TOOLS),
    mcp_stdio=AgentTools(argv=_TOOLS_STDIO),
)
