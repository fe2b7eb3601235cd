"""`python -m atoll.testing.agent_check NAME`: try one version of an agent and say what works.

Started by `atoll agent check`. The agent runs in a sandbox of a throw-away Atoll, against a model
server that does what prompts say; no key and no network are needed. Ends with 0 when all of it
works, with 1 when something does not, and with 2 when nothing could be tried.
"""

import argparse
import asyncio
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from atoll.adapters.agents.pins import write_pin
from atoll.adapters.agents.shelf import LayerShelf
from atoll.domain.agents.agent import Agent, layer_name, split_reference
from atoll.domain.broker.provider import PROVIDERS
from atoll.domain.errors import AtollError, Failed
from atoll.testing.agent_trial import TOOLS, AgentTrial, TrialLine
from atoll.testing.model_server import ModelServer, model_server
from atoll.testing.server import TestServer, test_server
from atoll.zygote.host.home import Home
from atoll.zygote.jobs.programs import find_bwrap

KEY = "sk-of-the-agent-check"


def main(words: list[str]) -> int:
    """Run one check; see the module."""
    options = _parser().parse_args(words)
    try:
        agent, version, outcomes = _try_agent(options)
    except (AtollError, RuntimeError) as error:
        print(f"atoll: {getattr(error, 'message', error)}", file=sys.stderr)
        return 2
    works = all(outcome.works is not False for outcome in outcomes)
    if options.json:
        lines = [{"check": o.check, "works": o.works, "detail": o.detail} for o in outcomes]
        report = {"agent": agent.name, "version": version, "works": works, "checks": lines}
        print(json.dumps(report))
    if options.pin:
        _pin_version(options.home, agent, version, works=works)
    return 0 if works else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="atoll agent check", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--version", help="this version  [default: the pinned one]")
    parser.add_argument("--home", type=Path, required=True, help="where its layer is installed")
    parser.add_argument("--tool", default="", help="a call of its shell tool, with {command}")
    parser.add_argument("--pin", action="store_true", help="take this version from now on")
    parser.add_argument("--json", action="store_true")
    return parser


def _try_agent(options: argparse.Namespace) -> tuple[Agent, str, list[TrialLine]]:
    """Install a version and try it. Returns the agent, the version, and each outcome."""
    shelf = _shelf(options.home)
    plain, named = split_reference(options.name)
    layer = shelf.install(plain, options.version or named, _note)
    agent = next(program.agent for program in shelf.list() if program.agent.name == layer.agent)
    tool = options.tool or TOOLS.get(agent.name, "")
    with _run_model() as model, test_server(keys=_keys(model), start=False) as server:
        _lay_out_layer(server, agent, Path(layer.path))
        server.start()
        trial = AgentTrial(server, model, agent, layer.version, tool)
        outcomes = []
        for outcome in trial.run():
            outcomes.append(outcome)
            if not options.json:
                print(outcome.line, flush=True)
    return agent, layer.version, outcomes


def _shelf(home: Path) -> LayerShelf:
    places = Home(home.resolve())
    return LayerShelf(places.agents, further=(places.installed,), bwrap=find_bwrap())


def _note(line: str) -> None:
    print(f"atoll: {line}", file=sys.stderr)


def _keys(model: ModelServer) -> str:
    tables = [f'[{name}]\nkey = "{KEY}"\nbase_url = "{model.url}"\n' for name in PROVIDERS]
    return "\n".join(tables)


@contextmanager
def _run_model() -> Iterator[ModelServer]:
    """Run the model server in a thread of its own."""
    made: list[ModelServer] = []
    ready, over = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        async with model_server(KEY) as model:
            made.append(model)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()), daemon=True)
    thread.start()
    if not ready.wait(30):
        raise Failed("the model server did not start")
    try:
        yield made[0]
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)


def _lay_out_layer(server: TestServer, agent: Agent, layer: Path) -> None:
    """Show the layer, and the definition of an added agent, to the throw-away home."""
    place = server.home / "agents" / layer_name(agent) / layer.name
    place.parent.mkdir(parents=True)
    for folder in (place.parent.parent, place.parent):
        folder.chmod(0o755)
    shutil.copytree(layer, place, symlinks=True, copy_function=_link)
    definition = layer.parent / "agent.json"
    if definition.exists():
        shutil.copy2(definition, place.parent / definition.name)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _pin_version(home: Path, agent: Agent, version: str, *, works: bool) -> None:
    if not works:
        _note(f"{agent.name} {version} is not pinned: not all of it works")
        return
    write_pin(Home(home.resolve()).agents, agent, version)
    _note(f"{agent.name} {version} is taken from now on, unless another is named")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
