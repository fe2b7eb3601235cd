"""Gemini CLI: its key's kind is chosen beforehand, folders are trusted, nothing is reported."""

from atoll.domain.agent import Agent, Machine, Package, Seed

_SETTINGS = (
    '{"security":{"auth":{"selectedType":"gemini-api-key"},"folderTrust":{"enabled":false}},'
    '"privacy":{"usageStatisticsEnabled":false},"general":{"enableAutoUpdate":false}}\n'
)

GEMINI_CLI = Agent(
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
    prompt_argv=("--prompt-interactive",),
    machine=Machine(protocol="acp", argv=("gemini", "--skip-trust", "--acp")),
)
