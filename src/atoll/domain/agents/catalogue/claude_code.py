"""Claude Code: onboarding answered, permission prompts off (the sandbox is the wall).

Without a mode it begins in `auto`, whose check is made by its vendor's server: behind a base URL
of one's own it never passes. So each start names the mode, and the policy below /etc, which no
dialog asks about, takes `auto` away. Its home holds only the answers of its first start, which it
reads from nowhere else.
"""

import json

from atoll.domain.agents.agent import TOOLS_PROGRAM, Agent, AgentTools, Machine, Package, Seed
from atoll.domain.agents.held_hooks import HOLD_COMMAND, HOLD_SECONDS
from atoll.domain.agents.hooks import write_hooks
from atoll.domain.broker.control_plane import TOOLS_URL
from atoll.domain.broker.provider import ANTHROPIC, placeholder

_KEY = placeholder(ANTHROPIC)

# Claude asks once about a key it finds in the environment and remembers its last 20 characters.
_ONBOARDING = (
    '{"hasCompletedOnboarding":true,"theme":"auto","bypassPermissionsModeAccepted":true,'
    f'"customApiKeyResponses":{{"approved":["{_KEY[-20:]}"],"rejected":[]}},'
    '"projects":{"/workspace":{"hasTrustDialogAccepted":true,'
    '"hasCompletedProjectOnboarding":true,"allowedTools":[]}}}\n'
)

_EVENTS = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
    "Elicitation", "ElicitationResult", "Notification", "Stop", "StopFailure",
    "SessionEnd",
)  # fmt: skip
# This one waits, beside the dialog: a person answers at the terminal or elsewhere.
_HELD = write_hooks(
    ("PermissionRequest",), timeout=HOLD_SECONDS, matched=True, command=HOLD_COMMAND
)
_POLICY = json.dumps({
    "permissions": {"disableAutoMode": "disable"},
    "hooks": {**write_hooks(_EVENTS, matched=True), **_HELD},
})  # fmt: skip
_ALLOW = ("--permission-mode", "bypassPermissions")
_TOOLS = json.dumps({"mcpServers": {"atoll": {"type": "http", "url": TOOLS_URL}}})
_TOOLS_STDIO = json.dumps(
    {"mcpServers": {"atoll": {"type": "stdio", "command": TOOLS_PROGRAM, "args": []}}}
)

AGENT = Agent(
    name="claude-code",
    command="claude",
    argv=("claude", *_ALLOW),
    task_argv=("claude", "-p", "--output-format", "stream-json", "--verbose", *_ALLOW),
    resume_argv=("claude", "--continue", *_ALLOW),
    conversation_argv=("claude", *_ALLOW, "--resume"),
    fork_argv=("claude", *_ALLOW, "--fork-session", "--resume"),
    package=Package(
        registry="npm",
        name="@anthropic-ai/claude-code",
        version="2.1.332",
        programs=("node_modules/@anthropic-ai/claude-code-linux-*/claude",),
        about_mib=384,
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
    etc=(Seed("claude-code/managed-settings.d/50-atoll.json", _POLICY),),
    aliases=("claude",),
    watch_argv=("--settings", _POLICY),
    transcript="claude",
    held="claude",
    prompt_argv=("--",),
    machine=Machine(
        protocol="claude",
        argv=(
            "claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json",
            "--verbose", "--include-partial-messages", "--permission-prompt-tool", "stdio",
        ),
        allow_argv=_ALLOW,
        ask_argv=("--permission-mode", "default"),
        resume_argv=("--continue",),
        conversation_argv=("--resume",),
        fork_argv=("--fork-session", "--resume"),
        fresh_argv=("--session-id",),
    ),
    own_hosts=("downloads.claude.ai",),
    mcp=AgentTools(argv=("--mcp-config", _TOOLS)),
    mcp_stdio=AgentTools(argv=("--mcp-config", _TOOLS_STDIO)),
)  # fmt: skip
