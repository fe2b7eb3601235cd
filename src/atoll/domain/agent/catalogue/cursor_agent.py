"""Cursor's agent: configuration only. It is on no registry Atoll installs from, and speaks to
Cursor's own servers with a login of its own, which the broker does not cover.
"""

from atoll.domain.agent.agent import Agent, Seed

_CONFIG = (
    '{"version":1,"editor":{"vimMode":false},'
    '"permissions":{"allow":["Shell(*)","Read(**)","Write(**)"],"deny":[]}}\n'
)

AGENT = Agent(
    name="cursor-agent",
    command="cursor-agent",
    argv=("cursor-agent", "--force"),
    task_argv=("cursor-agent", "--print", "--force", "--output-format", "stream-json"),
    resume_argv=("cursor-agent", "resume"),
    state=(".cursor",),
    seeds=(Seed(".cursor/cli-config.json", _CONFIG),),
    aliases=("cursor",),
    prompt_argv=(),
    hint="install it for everyone on this machine (it must be in /usr/local/bin or /usr/bin)",
)
