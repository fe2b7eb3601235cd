"""Every installed agent of the catalogue is inside; any other is refused before it starts."""

import asyncio
from typing import Any

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.agents.acp.added import AcpDefinition
from atoll.domain.errors import AtollError, Conflict, Forbidden, Invalid
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, Sandbox
from atoll.ports import Capabilities
from atoll.services.provisioning.seeds import SEED
from atoll.wire.contract.agents import OpenAgentBody
from atoll.wire.contract.execs import ExecBody
from atoll.wire.contract.terminals import OpenBody
from atoll.wire.words.walls import IsolationLevel
from tests.peers.contract import AGENT, EXEC, SESSION
from tests.services.scene import BARE, Scene, body_of, scene


async def open_agent(s: Scene, sandbox: Sandbox, agent: str | None, *, terminal: bool) -> None:
    """Start an agent, or a shell, by the one surface or the other."""
    s.runtime.answers["POST", "/agents"] = (201, AGENT)
    s.runtime.answers["POST", "/sessions"] = (201, SESSION)
    terminals = s.terminals
    if terminal:
        await terminals.open(LOCAL_PERSON, sandbox.id, OpenBody(agent=agent))
    elif agent is not None:
        body = OpenAgentBody(agent=agent)
        await s.agents.open(LOCAL_PERSON, sandbox.id, body)


def starts(s: Scene) -> list[Any]:
    """What the runtime was asked to start."""
    return [body_of(one) for one in s.runtime.calls if one.path in ("/agents", "/sessions")]


def folders_laid_out(s: Scene) -> list[set[str]]:
    """The folders of files that were laid out, for each time."""
    found = []
    for call in s.runtime.calls:
        argv = body_of(call).get("argv", ()) if call.path == "/execs" else ()
        if argv[2:3] == [SEED.text]:
            found.append({path.partition("/")[0] for path in argv[6::4]})
    return found


def shown_layers(s: Scene) -> dict[str, bool]:
    """The agents' layers that the backend was asked to show, and whether it can do without."""
    mounts = s.extension.provisioned[-1].mounts
    return {mount.target.rpartition("/")[2]: mount.spare for mount in mounts}


@pytest.mark.parametrize("own", [None, "claude-code"])
async def test_every_installed_agent_is_shown_and_its_own_is_needed(own: str | None) -> None:
    async with scene() as s:
        made = await s.ready(agent=own)
        assert shown_layers(s) == {
            name: name != own for name in ("codex", "claude-code", "opencode")
        }
        names = {"codex@1.0", "claude-code@2.0", "opencode@3.0"}
        assert set(made.attachment.agents or ()) == names
        env = dict(s.extension.provisioned[-1].env)
        assert env["IS_SANDBOX"] == "1" and env["OPENCODE_DISABLE_AUTOUPDATE"] == "1"


ASKER = AcpDefinition(
    "asker", ("asker", "--acp"), "npm", "asker", "1.0.0", (("OPENAI_MODEL", "its"),)
)


async def test_added_agent_is_inside_every_sandbox_and_its_variables_are_its_own() -> None:
    async with scene() as s:
        s.layers.definitions = (ASKER,)
        s.layers.installed["acp:asker"] = ("1.0.0",)
        s.runtime.programs.add("acp:asker")
        made = await s.ready(agent="codex", name="box")
        assert shown_layers(s)["acp-asker"] is True
        assert "acp:asker@1.0.0" in (made.attachment.agents or ())
        provision = s.extension.provisioned[-1]
        assert [one.name for one in provision.added] == ["acp:asker"]
        assert "OPENAI_MODEL" not in dict(provision.env)
        await open_agent(s, made, "acp:asker", terminal=False)
        assert [one["agent"] for one in starts(s)] == ["acp:asker"]
        await s.ready(agent="acp:asker", name="own")
        assert shown_layers(s)["acp-asker"] is False
        assert dict(s.extension.provisioned[-1].env)["OPENAI_MODEL"] == "its"
        await s.ready(name="closed", agent_catalogue=("codex",))
        assert set(shown_layers(s)) == {"codex"}


async def test_catalogue_leaves_out_what_it_does_not_name() -> None:
    async with scene() as s:
        made = await s.ready(agent_catalogue=("codex",))
        assert shown_layers(s) == {"codex": True}
        for terminal in (True, False):
            with pytest.raises(Forbidden, match="allows codex"):
                await open_agent(s, made, "claude", terminal=terminal)
        assert starts(s) == []


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(
    ("agent", "kind", "words"),
    [
        ("nobody", Invalid, "known: aider"),
        ("gemini-cli", Invalid, "atoll agent install gemini-cli"),
        ("codex@9.9", Conflict, "has codex 1.0, not 9.9"),
    ],
)
async def test_agent_that_is_not_inside_is_refused_with_what_to_do(
    agent: str, kind: type[AtollError], words: str, terminal: bool
) -> None:
    async with scene() as s:
        made = await s.ready(agent="codex")
        with pytest.raises(kind, match=words) as refused:
            await open_agent(s, made, agent, terminal=terminal)
        assert refused.value.field == "agent" and starts(s) == []


async def test_agent_installed_later_is_refused_with_the_restart_that_brings_it() -> None:
    async with scene() as s:
        made = await s.ready(name="box")
        s.layers.installed["aider"] = ("0.86.2",)
        with pytest.raises(Invalid, match="atoll stop box` and `atoll start box` bring it in"):
            await open_agent(s, made, "aider", terminal=True)
        # A person put the program there: the look finds it.
        s.runtime.programs.add("aider")
        await open_agent(s, made, "aider", terminal=True)
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        again = await s.sandboxes.wait(LOCAL_PERSON, made.id)
        assert "aider@0.86.2" in (again.attachment.agents or ())


async def test_sandbox_starts_again_without_an_agent_that_is_gone() -> None:
    async with scene() as s:
        made = await s.ready(agent="codex@1.0", name="box")
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        s.layers.catalogue = {"claude-code"}
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        again = await s.sandboxes.wait(LOCAL_PERSON, made.id)
        assert again.attachment.agents == ("claude-code@2.0",)
        lines = [line.text for line in await s.sandboxes.logs(LOCAL_PERSON, made.id)]
        assert any("starts without codex@1.0" in line for line in lines)
        with pytest.raises(Forbidden):
            await open_agent(s, again, "codex", terminal=False)


async def test_agents_beside_are_laid_out_before_the_first_start_and_once() -> None:
    async with scene() as s:
        made = await s.ready(agent="codex")
        assert folders_laid_out(s) == [{".codex"}]
        await open_agent(s, made, "claude-code", terminal=False)
        assert folders_laid_out(s)[1] == {".claude", ".config"}
        await asyncio.gather(
            *(open_agent(s, made, agent, terminal=True) for agent in (None, "codex", "opencode"))
        )
        assert len(folders_laid_out(s)) == 2
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.sandboxes.wait(LOCAL_PERSON, made.id, settled=True)
        s.clock.turn(1)
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        again = await s.sandboxes.wait(LOCAL_PERSON, made.id)
        # Its home is new.
        await open_agent(s, again, None, terminal=True)
        assert folders_laid_out(s)[2:] == [{".codex"}, {".claude", ".config"}]


async def test_command_that_names_an_agent_finds_it_laid_out() -> None:
    async with scene() as s:
        made, calls = await s.ready(), s.calls
        s.runtime.answers["POST", "/execs"] = (200, EXEC)
        await calls.run(LOCAL_PERSON, made.id, ExecBody(argv=["make", "test"]))
        assert folders_laid_out(s) == []
        await calls.run(LOCAL_PERSON, made.id, ExecBody(argv=["sh", "-c", "codex exec hi"]))
        assert len(folders_laid_out(s)) == 1


async def test_backend_that_sends_layers_for_each_sandbox_shows_its_own_alone() -> None:
    able = Capabilities(IsolationLevel.NONE, spare_layers=False)
    async with scene(others=(far := InMemory(called="ext.elsewhere", able=able),)) as s:
        made = await s.ready(profile="foreign", agent="codex")
        assert [mount.target for mount in far.provisioned[-1].mounts] == ["/opt/atoll/agents/codex"]
        assert made.attachment.agents == ("codex@1.0",)
        s.runtime.programs = {"codex"}
        with pytest.raises(Invalid, match="brings only the agent"):
            await open_agent(s, made, "claude-code", terminal=True)


@pytest.mark.parametrize(
    ("image", "installed", "reason"),
    [
        ("debian:12", {"codex": ()}, "the image debian:12 does not have the agent codex"),
        (
            "debian:12",
            {"aider": ("1.0",)},
            "the agent aider runs on python3, git, which the image debian:12",
        ),
        ("host", {"codex": ()}, "a sandbox of ext.in-memory does not have the agent codex"),
        ("debian:12", {"codex": ("1.0",)}, None),
    ],
)
async def test_agent_that_the_image_lacks_ends_the_first_start_with_words(
    image: str, installed: dict[str, tuple[str, ...]], reason: str | None
) -> None:
    async with scene() as s:
        await s.profiles.save(LOCAL_PERSON, "it", BARE.replace("bare", "it") + f"image: {image}\n")
        s.layers.installed, s.runtime.programs = installed, {"shell"}
        request = CreateSandbox("it", agent=next(iter(installed)))
        made = await s.sandboxes.create(LOCAL_PERSON, request)
        failed = await s.sandboxes.wait(LOCAL_PERSON, made.id)
        assert failed.state == ("failed" if reason else "ready")
        assert (failed.reason or "").startswith(reason or "")


async def test_agent_that_a_later_image_lacks_is_said_and_the_sandbox_starts() -> None:
    async with scene() as s:
        s.layers.installed = {"codex": ()}
        made = await s.ready(agent="codex")
        await s.sandboxes.stop(LOCAL_PERSON, made.id)
        await s.until(made, "stopped")
        s.runtime.programs = {"shell"}
        await s.sandboxes.start(LOCAL_PERSON, made.id)
        assert (await s.until(made, "ready")).attachment.agents == ()
