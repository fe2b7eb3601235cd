"""Agents behind a wall: their configuration is written, and those that ran before are resumed."""

from atoll.domain.interior.entry import MECHANISMS, entry_steps
from atoll.services.provisioning.bring_up import BringUp
from atoll.services.provisioning.requests import Layers
from atoll.services.provisioning.resumption import resume_agents
from atoll.services.provisioning.seeds import config_of, lay_agents, write_files


class AgentStart:
    """Files of agents in a sandbox's home, and the agents that go on."""

    def __init__(self, layers: Layers) -> None:
        self._layers = layers

    async def run(self, up: BringUp) -> None:
        """Write the files, then resume. Raises `Failed` for files that could not be written."""
        with up.phase("agents"):
            await self._write_config(up)
            await lay_agents(up.client, up.sandbox, up.inside.starting(up.sandbox), up.policy)
            await resume_agents(up.sandbox, up.client, up.report)

    async def _write_config(self, up: BringUp) -> None:
        """Write the config files of agents and log which ones."""
        env = dict(self._layers.env_of(up.sandbox, up.inside))
        config = await config_of(self._layers.configs, up.sandbox)
        await write_files(up.client, config)
        if up.reach.isolation.mechanism in MECHANISMS:
            for line in entry_steps(env, [file.path for file in config]):
                up.report(line)
