"""opencode: no update, no sharing, models and plugins as they are, edits allowed."""

from atoll.domain.agent import Agent, Machine, Package, Seed

_CONFIG = (
    '{"$schema":"https://opencode.ai/config.json","autoupdate":false,"share":"disabled",'
    '"permission":{"edit":"allow","bash":"allow"},"provider":{'
    '"openai":{"options":{"baseURL":"http://127.0.0.1:8082/broker/openai/v1"}},'
    '"anthropic":{"options":{"baseURL":"http://127.0.0.1:8082/broker/anthropic/v1"}}}}\n'
)

OPENCODE = Agent(
    name="opencode",
    command="opencode",
    argv=("opencode",),
    task_argv=("opencode", "run", "--format", "json"),
    resume_argv=("opencode", "--continue"),
    conversation_argv=("opencode", "--session"),
    package=Package(
        registry="npm",
        name="opencode-ai",
        version="1.18.33",
        # The baseline build runs on every processor of its kind.
        programs=(
            "node_modules/opencode-linux-*-baseline/bin/opencode",
            "node_modules/opencode-linux-*/bin/opencode",
        ),
        about_mib=353,
    ),
    providers=("openai", "anthropic"),
    state=(".local/share/opencode", ".config/opencode"),
    transcripts=".local/share/opencode/opencode.db",
    env=(
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
    ),
    seeds=(Seed(".config/opencode/opencode.json", _CONFIG),),
    prompt_argv=("--prompt",),
    machine=Machine(protocol="acp", argv=("opencode", "acp")),
)
