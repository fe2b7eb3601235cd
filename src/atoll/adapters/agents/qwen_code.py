"""Qwen Code: any OpenAI-compatible model through the broker, every action allowed.

The model is the person's choice: `OPENAI_MODEL` in `--env` or the profile.
"""

from atoll.domain.agent import Agent, Package, Seed

_SETTINGS = (
    '{"security":{"auth":{"selectedType":"openai"}},'
    '"privacy":{"usageStatisticsEnabled":false},'
    '"general":{"disableAutoUpdate":true,"enableAutoUpdate":false}}\n'
)

QWEN_CODE = Agent(
    name="qwen-code",
    command="qwen",
    argv=("qwen", "--auth-type", "openai", "--yolo"),
    task_argv=("qwen", "--auth-type", "openai", "--yolo", "--output-format", "stream-json", "-p"),
    resume_argv=("qwen", "--auth-type", "openai", "--yolo", "--continue"),
    package=Package(
        registry="npm",
        name="@qwen-code/qwen-code",
        version="0.15.10",
        programs=("node_modules/.bin/qwen",),
        needs=("node",),
    ),
    providers=("openai",),
    state=(".qwen",),
    transcripts=".qwen/projects/*/chats/*.jsonl",
    seeds=(Seed(".qwen/settings.json", _SETTINGS),),
    aliases=("qwen",),
)
