"""Qwen Code: any OpenAI-compatible model through the broker, every action allowed.

It sends even the broker's address through a proxy it finds in its environment, whatever
NO_PROXY says, so it starts without; the shells of its tools get the proxy back. Each start names
the approval mode: without, a model of its own judges every action.
The model is the person's choice: `OPENAI_MODEL` in `--env` or the profile.
"""

import json

from atoll.domain.agents.agent import (
    TOOLS_PROGRAM,
    Agent,
    AgentTools,
    Machine,
    Package,
    Seed,
    WatchFile,
)
from atoll.domain.agents.hooks import HOOK_SECONDS, write_hooks
from atoll.domain.broker.control_plane import FLAT_TOOLS_URL

_SETTINGS = (
    '{"security":{"auth":{"selectedType":"openai"}},'
    '"privacy":{"usageStatisticsEnabled":false},'
    '"general":{"disableAutoUpdate":true,"enableAutoUpdate":false}}\n'
)

_PROXIES = ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy")
_QWEN = (
    "env", *(word for name in _PROXIES for word in ("-u", name)), "qwen",
    "--auth-type", "openai", "--approval-mode",
)  # fmt: skip
_ALLOWED = (*_QWEN, "yolo")
_PROXIED = "".join(f'export {name}="${{{name}-http://127.0.0.1:3128}}"\n' for name in _PROXIES)

_EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
    "PermissionRequest", "Notification", "Stop", "StopFailure", "SessionEnd",
)  # fmt: skip
# Its timeouts are milliseconds. Defaults are the least of its settings: a person's own win.
_HOOKS = {"hooks": write_hooks(_EVENTS, timeout=HOOK_SECONDS * 1000)}
_WATCH = json.dumps(_HOOKS)
# It passes names of tools on as they are, and OpenAI's API admits no dots.
# A remote server has five seconds to list its tools, and is given up for the whole conversation
# after them: too few on a busy machine. A program has thirty.
_SERVER = {"httpUrl": FLAT_TOOLS_URL, "trust": True, "discoveryTimeoutMs": 120_000}
_TOOLS = json.dumps({**_HOOKS, "mcpServers": {"atoll": _SERVER}})
_PROGRAM = {"command": TOOLS_PROGRAM, "args": ["--flat"], "trust": True}
_TOOLS_STDIO = json.dumps({**_HOOKS, "mcpServers": {"atoll": _PROGRAM}})

AGENT = Agent(
    name="qwen-code",
    command="qwen",
    argv=_ALLOWED,
    task_argv=(*_ALLOWED, "--output-format", "stream-json", "-p"),
    resume_argv=(*_ALLOWED, "--continue"),
    conversation_argv=(*_ALLOWED, "--resume"),
    package=Package(
        registry="npm",
        name="@qwen-code/qwen-code",
        version="0.24.4",
        programs=("node_modules/.bin/qwen",),
        about_mib=140,
    ),
    providers=("openai",),
    state=(".qwen",),
    transcripts=".qwen/projects/*/chats/*.jsonl",
    env=(("BASH_ENV", "/home/agent/.qwen/tools.sh"),),
    seeds=(Seed(".qwen/settings.json", _SETTINGS), Seed(".qwen/tools.sh", _PROXIED)),
    aliases=("qwen",),
    watch_files=(WatchFile(".json", _WATCH, "QWEN_CODE_SYSTEM_DEFAULTS_PATH"),),
    transcript="qwen",
    menus=True,
    ask_words=(("yolo", "default"),),
    prompt_argv=("--prompt-interactive",),
    machine=Machine(protocol="acp", argv=(*_QWEN, "default", "--acp"), conversation_argv=()),
    mcp=AgentTools(
        files=(WatchFile(".json", _TOOLS, "QWEN_CODE_SYSTEM_DEFAULTS_PATH"),),
        # No such time can be named in a session of the protocol.
        machine_argv=(TOOLS_PROGRAM, "--flat"),
    ),
    mcp_stdio=AgentTools(
        files=(WatchFile(".json", _TOOLS_STDIO, "QWEN_CODE_SYSTEM_DEFAULTS_PATH"),),
        machine_argv=(TOOLS_PROGRAM, "--flat"),
    ),
)
