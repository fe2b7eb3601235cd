"""Cursor's agent: configuration only. It is on no registry Atoll installs from, and speaks to
Cursor's own servers with a login of its own, which the broker does not cover.
"""

import json

from atoll.domain.agents.agent import TOOLS_PROGRAM, Agent, AgentTools, Seed
from atoll.domain.broker.control_plane import TOOLS_URL

_CONFIG = (
    '{"version":1,"editor":{"vimMode":false},'
    '"permissions":{"allow":["Shell(*)","Read(**)","Write(**)"],"deny":[]}}\n'
)

_TOOLS = json.dumps({"mcpServers": {"atoll": {"url": TOOLS_URL}}})
_TOOLS_STDIO = json.dumps({"mcpServers": {"atoll": {"command": TOOLS_PROGRAM}}})

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
    mcp=AgentTools(seeds=(Seed(".cursor/mcp.json", _TOOLS),)),
    mcp_stdio=AgentTools(seeds=(Seed(".cursor/mcp.json", _TOOLS_STDIO),)),
    hint="install it for everyone on this machine (it must be in /usr/local/bin or /usr/bin)",
)
