"""Aider: edits by text blocks and commits them; its histories stay out of the repository.

The model is the person's choice: `AIDER_MODEL` in `--env`, the profile or `.aider.conf.yml`.
"""

from atoll.domain.agents.agent import Agent, Package, Seed

_QUIET = (
    "--no-check-update", "--analytics-disable", "--no-show-model-warnings",
    "--no-show-release-notes", "--no-gitignore",
)  # fmt: skip

AGENT = Agent(
    name="aider",
    command="aider",
    argv=("aider", *_QUIET),
    task_argv=("aider", *_QUIET, "--yes-always", "--no-pretty", "--no-stream", "--message"),
    resume_argv=("aider", *_QUIET, "--restore-chat-history"),
    package=Package(
        registry="pip",
        name="aider-chat",
        version="0.86.2",
        programs=("venv/bin/aider",),
        needs=("python3", "git"),
        about_mib=634,
    ),
    providers=("openai", "anthropic"),
    state=(".aider",),
    transcripts=".aider/chat.history.md",
    env=(
        ("OPENAI_API_BASE", "http://127.0.0.1:8082/broker/openai/v1"),
        ("ANTHROPIC_API_BASE", "http://127.0.0.1:8082/broker/anthropic"),
        ("AIDER_CHAT_HISTORY_FILE", "/home/agent/.aider/chat.history.md"),
        ("AIDER_INPUT_HISTORY_FILE", "/home/agent/.aider/input.history"),
        ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
    ),
    # Its cache of tags has no other place than the repository: at least git need not see it.
    seeds=(Seed(".config/git/ignore", ".aider*\n"),),
)
