"""OpenAI Codex: quiet, pointed at the broker, trusting the wall instead of its own.

Its hooks stand below /etc, where they need no trust, and so does what keeps it quiet beside a
person's own configuration. Its home holds the choice of a provider alone with it, because that
follows the login of its person, and is written where no configuration is.
"""

import json

from atoll.domain.agents.agent import TOOLS_PROGRAM, Agent, AgentTools, Machine, Package, Seed
from atoll.domain.agents.hooks import HOOK_COMMAND, HOOK_SECONDS
from atoll.domain.broker.control_plane import TOOLS_URL

_QUIET = """\
approval_policy = "never"                # the sandbox is the wall
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
_CONFIG = "# Written by Atoll when this file was absent; yours to change.\n{chosen}" + _QUIET
# No provider: Codex would add the variable of its key to the provider of a login.
_SYSTEM = "# Atoll's: what you set in ~/.codex/config.toml takes precedence.\n" + _QUIET
_CHOSEN = 'model_provider = "atoll"\n'
_PROVIDER = """
[model_providers.atoll]
name = "OpenAI through Atoll's broker"
base_url = "http://127.0.0.1:8082/broker/{path}"
{credential}
wire_api = "responses"
"""

_PROVIDERS = _PROVIDER.format(path="openai/v1", credential='env_key = "OPENAI_API_KEY"')

CONFIG = _CONFIG.format(chosen=_CHOSEN, more="", provider=_PROVIDERS)
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
    "Interrupt",
)  # fmt: skip
# A JSON text is a TOML text too; TOML's own syntax is needed around it only.
_HOOK = 'type="command",timeout={seconds},command=' + json.dumps(HOOK_COMMAND)
# It warns about an Interrupt that may take longer, in every conversation.
_TIMES = {event: 3 if event == "Interrupt" else HOOK_SECONDS for event in _EVENTS}
_HOOKS = tuple(
    f"{event}=[{{hooks=[{{{_HOOK.replace('{seconds}', str(seconds))}}}]}}]"
    for event, seconds in _TIMES.items()
)
_WATCH = tuple(word for hook in _HOOKS for word in ("-c", f"hooks.{hook}"))
_REQUIREMENTS = '[hooks]\nmanaged_dir="/etc/codex"\n' + "\n".join(_HOOKS) + "\n"
# An older model raises a screen about its successor, which would take the first keys.
_SUCCESSORS = {
    "gpt-5.5": "gpt-6-sol", "gpt-5.6-sol": "gpt-6-sol", "gpt-5.6-terra": "gpt-6-sol",
    "gpt-5.6-luna": "gpt-6-luna",
}  # fmt: skip
_SEEN = ",".join(f'"{old}"="{new}"' for old, new in _SUCCESSORS.items())
# The sandbox is the wall around the hooks of a person and a repository, too.
_AT_TERMINAL = (
    "--no-daemon", "--dangerously-bypass-hook-trust", "-c", f"notice.model_migrations={{{_SEEN}}}",
)  # fmt: skip
_APPROVED = 'mcp_servers.atoll.default_tools_approval_mode="approve"'
_TOOLS = ("-c", f'mcp_servers.atoll.url="{TOOLS_URL}"', "-c", _APPROVED)
_TOOLS_STDIO = ("-c", f'mcp_servers.atoll.command="{TOOLS_PROGRAM}"', "-c", _APPROVED)

AGENT = Agent(
    name="codex",
    command="codex",
    argv=("codex", *_AT_TERMINAL),
    task_argv=("codex", "exec", "--json", "--skip-git-repo-check", "--disable", "plugins"),
    resume_argv=("codex", "resume", "--last", *_AT_TERMINAL),
    conversation_argv=("codex", "resume", *_AT_TERMINAL),
    fork_argv=("codex", "fork", *_AT_TERMINAL),
    package=Package(
        registry="npm",
        name="@openai/codex",
        version="0.171.0",
        programs=(
            "node_modules/@openai/codex-linux-*/vendor/*/bin/codex",
            "node_modules/.bin/codex",
        ),
        about_mib=423,
    ),
    providers=("openai",),
    state=(".codex",),
    transcripts=".codex/sessions/*/*/*/rollout-*.jsonl",
    seeds=(Seed(".codex/config.toml", CONFIG),),
    etc=(
        Seed("codex/requirements.toml", _REQUIREMENTS),
        Seed("codex/config.toml", _SYSTEM.format(more="", provider="")),
    ),
    watch_argv=_WATCH,
    transcript="codex",
    server="codex",
    prompt_argv=("--",),
    machine=Machine(protocol="codex", argv=("codex", "app-server"), conversation_argv=()),
    own_hosts=("ab.chatgpt.com", "chatgpt.com", "raw.githubusercontent.com"),
    mcp=AgentTools(argv=_TOOLS),
    mcp_stdio=AgentTools(argv=_TOOLS_STDIO),
)
