"""Claude Code: onboarding answered, permission prompts off (the sandbox is the wall)."""

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
from atoll.domain.broker.provider import ANTHROPIC, placeholder

_KEY = placeholder(ANTHROPIC)

# Claude asks once about a key it finds in the environment and remembers its last 20 characters.
_ONBOARDING = (
    '{"hasCompletedOnboarding":true,"theme":"dark","bypassPermissionsModeAccepted":true,'
    f'"customApiKeyResponses":{{"approved":["{_KEY[-20:]}"],"rejected":[]}},'
    '"projects":{"/workspace":{"hasTrustDialogAccepted":true,'
    '"hasCompletedProjectOnboarding":true,"allowedTools":[]}}}\n'
)

_EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PermissionRequest",
    "Notification", "Stop", "SessionEnd",
)  # fmt: skip
_HOOK = {"matcher": "", "hooks": [{"type": "command", "timeout": 5, "command": HOOK_COMMAND}]}
_WATCH = json.dumps({"hooks": {event: [_HOOK] for event in _EVENTS}})
_TOOLS = json.dumps({"mcpServers": {"atoll": {"type": "http", "url": TOOLS_URL}}})
_TOOLS_STDIO = json.dumps(
    {"mcpServers": {"atoll": {"type": "stdio", "command": TOOLS_PROGRAM, "args": []}}}
)

AGENT = Agent(
    name="claude-code",
    command="claude",
    argv=("claude", "--dangerously-skip-permissions"),
    task_argv=(
        "claude", "-p", "--output-format", "stream-json", "--verbose",
        "--dangerously-skip-permissions",
    ),
    resume_argv=("claude", "--continue", "--dangerously-skip-permissions"),
    conversation_argv=("claude", "--dangerously-skip-permissions", "--resume"),
    package=Package(
        registry="npm",
        name="@anthropic-ai/claude-code",
        version="2.1.197",
        programs=("node_modules/@anthropic-ai/claude-code-linux-*/claude",),
        about_mib=234,
    ),
    providers=("anthropic",),
    state=(".claude",),
    transcripts=".claude/projects/*/*.jsonl",
    env=(
        ("IS_SANDBOX", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL", "1"),
    ),
    seeds=(Seed(".claude/.claude.json", _ONBOARDING),),
    aliases=("claude",),
    watch_argv=("--settings", _WATCH),
    transcript="claude",
    prompt_argv=("--",),
    machine=Machine(
        protocol="claude",
        argv=(
            "claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json",
            "--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio",
        ),
        allow_argv=("--dangerously-skip-permissions",),
        resume_argv=("--continue",),
        conversation_argv=("--resume",),
        fresh_argv=("--session-id",),
    ),
    own_hosts=("downloads.claude.ai",),
    mcp=AgentTools(argv=("--mcp-config", _TOOLS)),
    mcp_stdio=AgentTools(argv=("--mcp-config", _TOOLS_STDIO)),
)  # fmt: skip
