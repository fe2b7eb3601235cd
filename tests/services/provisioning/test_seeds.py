"""Configuration that is kept on this machine for a sandbox, by its name."""

from dataclasses import replace

from atoll.domain.agents.agent import Seed
from atoll.domain.ids import OrgId, PrincipalId
from atoll.services.provisioning.seeds import config_of
from atoll.testing import FakeAgentConfigs
from tests.services.scene import scene

SEED = Seed(".claude/settings.json", "{}")


async def test_configuration_is_of_who_runs_the_installation_whoever_takes_the_name() -> None:
    configs = FakeAgentConfigs({"review": (SEED,)})
    async with scene(run=False) as s:
        made = await s.ready(name="review")
    assert await config_of(configs, made) == (SEED,)
    assert await config_of(None, made) == ()
    for other in (
        replace(made, owner=PrincipalId("mel")),
        replace(made, org_id=OrgId("org_2")),
        replace(made, name="other"),
    ):
        assert await config_of(configs, other) == ()
