"""No agent at all: a person's shell, under a name that can be asked for like the others."""

from atoll.domain.agents.agent import Agent

AGENT = Agent(
    name="shell",
    command="bash",
    argv=("/bin/bash",),
    task_argv=("/bin/bash", "-c"),
    hint="install bash",
)
