"""Claude Code: onboarding answered, permission prompts off (the sandbox is the wall)."""

from atoll.domain.agent import Agent, Package, Seed
from atoll.domain.provider import ANTHROPIC, placeholder

_KEY = placeholder(ANTHROPIC)

# Claude asks once about a key it finds in the environment and remembers its last 20 characters.
_ONBOARDING = (
    '{"hasCompletedOnboarding":true,"theme":"dark","bypassPermissionsModeAccepted":true,'
    f'"customApiKeyResponses":{{"approved":["{_KEY[-20:]}"],"rejected":[]}},'
    '"projects":{"/workspace":{"hasTrustDialogAccepted":true,'
    '"hasCompletedProjectOnboarding":true,"allowedTools":[]}}}\n'
)

CLAUDE_CODE = Agent(
    name="claude-code",
    command="claude",
    argv=("claude", "--dangerously-skip-permissions"),
    task_argv=(
        "claude", "-p", "--output-format", "stream-json", "--verbose",
        "--dangerously-skip-permissions",
    ),
    resume_argv=("claude", "--continue", "--dangerously-skip-permissions"),
    package=Package(
        registry="npm",
        name="@anthropic-ai/claude-code",
        version="2.1.197",
        programs=("node_modules/@anthropic-ai/claude-code-linux-*/claude",),
    ),
    providers=("anthropic",),
    state=(".claude",),
    transcripts=".claude/projects/*/*.jsonl",
    env=(
        ("IS_SANDBOX", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
    ),
    seeds=(Seed(".claude/.claude.json", _ONBOARDING),),
    aliases=("claude",),
)  # fmt: skip
