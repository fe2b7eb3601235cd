"""`atoll agent start|begin|pause|resume|interrupt|stop|ask|cards|answer`: the agents in sandboxes.

`agent` itself looks after the programs installed on this machine; these are put beside them.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import ParamSpec, TypeVar, Unpack

import click

from atoll.client.client import Client
from atoll.client.made.agents.sandbox_agents import Agent, AgentBody, AnswerBody, Card
from atoll.client.projects import Projects
from atoll.client.sandboxes import Action
from atoll.client.transport import omit_empty
from atoll.domain.errors import Conflict, Failed, Invalid
from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, sandbox_argument
from atoll.surfaces.cli.console.output import say, show_json

P = ParamSpec("P")
R = TypeVar("R")

STOP_SECONDS = 120.0
ASK_AGAIN_SECONDS = 1.0
_WORTH_WAITING = frozenset({"agent_running", "agent_paused", "draft"})
_CARD_LINE = 160


def agent_option() -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return the option `--id`, which names an agent of the sandbox."""
    return click.option(
        "--id", "agent_id", default=None, metavar="ID", help="Which agent, by its id or name."
    )


@needs("agent.use")
@click.command("start")
@sandbox_argument()
@click.argument("agent", required=False, shell_complete=candidates.agents())
@click.option("--machine", is_flag=True, help="Without a terminal, driven by its own protocol.")
@click.option("--prompt", default=None, help="Its first prompt.")
@click.option("--resume", is_flag=True, help="Resume its last conversation.")
@click.option("--ask-first", is_flag=True, help="Ask before it acts.")
@json_option()
@pass_invocation
def start(
    invocation: Invocation, /, name: str, agent: str | None, *, as_json: bool, **options: object
) -> None:
    """Start an agent in a sandbox; AGENT is the sandbox's own if left out."""
    api = invocation.api()
    wanted = agent or api.sandboxes.get(name).agent
    if not wanted:
        raise Invalid(f"{name} was created without an agent: name the one to start", field="agent")
    body: AgentBody = {
        "agent": wanted,
        "resume": options["resume"] is True,
        "permissions": "ask" if options["ask_first"] else "allow",
    }
    if options["machine"]:
        body["mode"] = "machine"
    if isinstance(options["prompt"], str):
        body["prompt"] = options["prompt"]
    try:
        started = api.agents.start(name, body)
    except Invalid as problem:
        if problem.code != "no_such_program":
            raise
        raise Invalid(
            f"{wanted} is not inside {name}: `atoll info {name}` shows which agents are; one that "
            f"was installed later comes in with `atoll stop {name}` and `atoll start {name}`",
            field="agent",
        ) from problem
    _show(started, as_json=as_json)


@needs("sandbox.manage")
@click.command("begin")
@sandbox_argument()
@json_option()
@pass_invocation
def begin(invocation: Invocation, name: str, *, as_json: bool) -> None:
    """Start the task of NAME, whose set-up failed or still runs."""
    begun = Projects(invocation.api().transport).begin_task(name)
    if as_json:
        show_json(begun.value)
    elif begun.task.state == "failed":
        raise Failed(f"the task was not started: {begun.task.reason}")
    else:
        say(f"{begun.agent} is at work on its task")


@needs("agent.use")
@click.command("pause")
@sandbox_argument()
@agent_option()
@json_option()
@pass_invocation
def pause(invocation: Invocation, name: str, *, agent_id: str | None, as_json: bool) -> None:
    """Pause an agent's processes."""
    _act(invocation.api(), name, agent_id, action="pause", as_json=as_json)


@needs("agent.use")
@click.command("resume")
@sandbox_argument()
@agent_option()
@json_option()
@pass_invocation
def resume(invocation: Invocation, name: str, *, agent_id: str | None, as_json: bool) -> None:
    """Resume a paused agent."""
    _act(invocation.api(), name, agent_id, action="resume", as_json=as_json)


@needs("agent.use")
@click.command("interrupt")
@sandbox_argument()
@agent_option()
@json_option()
@pass_invocation
def interrupt(invocation: Invocation, name: str, *, agent_id: str | None, as_json: bool) -> None:
    """Interrupt what an agent does now."""
    _act(invocation.api(), name, agent_id, action="interrupt", as_json=as_json)


@needs("agent.use")
@click.command("stop")
@sandbox_argument()
@agent_option()
@json_option()
@pass_invocation
def stop(invocation: Invocation, name: str, *, agent_id: str | None, as_json: bool) -> None:
    """Stop an agent and everything it started."""
    _act(invocation.api(), name, agent_id, action="stop", as_json=as_json)


@needs("agent.use")
@click.command("ask")
@sandbox_argument()
@click.argument("prompt")
@agent_option()
@click.option("--wait", "waits", is_flag=True, help="Wait until it accepts a prompt.")
@json_option()
@pass_invocation
def ask(
    invocation: Invocation,
    /,
    name: str,
    prompt: str,
    *,
    agent_id: str | None,
    waits: bool,
    as_json: bool,
) -> None:
    """Give an agent that waits a prompt. On a line somebody has half typed it is refused."""
    api = invocation.api()
    which = pick_agent(api, name, agent_id).id
    asked = partial(api.agents.ask, name, which, prompt)
    _show(_send_prompt(asked, waits=waits), as_json=as_json)


@needs("agent.read")
@click.command("cards")
@sandbox_argument()
@agent_option()
@click.option("--since", type=click.IntRange(0), default=0, help="Only cards changed after this.")
@json_option()
@pass_invocation
def cards(
    invocation: Invocation, name: str, *, agent_id: str | None, since: int, as_json: bool
) -> None:
    """Show what an agent did, card by card."""
    api = invocation.api()
    which = pick_agent(api, name, agent_id).id
    page = api.agents.cards(name, which, since=since)
    if as_json:
        show_json(page.value)
        return
    for card in page.cards:
        say(_card_line(card))


@needs("agent.use")
@click.command("answer")
@sandbox_argument()
@click.argument("card")
@click.option("--option", default=None, help="One of the card's options, by its id.")
@click.option("--text", default=None, help="An answer as text.")
@agent_option()
@json_option()
@pass_invocation
def answer(
    invocation: Invocation,
    /,
    name: str,
    card: str,
    *,
    agent_id: str | None,
    as_json: bool,
    **body: Unpack[AnswerBody],
) -> None:
    """Answer an agent's question on a card."""
    api = invocation.api()
    which = pick_agent(api, name, agent_id).id
    done = api.agents.answer(name, which, card, omit_empty(body))
    if as_json:
        show_json(done.value)
    else:
        say(_card_line(done))


CONTROLS = (start, begin, pause, resume, interrupt, stop, ask, cards, answer)
"""The commands beside those of `agent` itself."""


def _act(api: Client, name: str, agent_id: str | None, *, action: Action, as_json: bool) -> None:
    which = pick_agent(api, name, agent_id).id
    done = api.agents.act(name, which, action=action, seconds=STOP_SECONDS)
    _show(done, as_json=as_json)


def _send_prompt(ask_once: Callable[[], Agent], *, waits: bool) -> Agent:
    """Send a prompt, and retry while the refusal may pass."""
    while True:
        try:
            return ask_once()
        except Conflict as problem:
            if not waits or problem.code not in _WORTH_WAITING:
                raise
        time.sleep(ASK_AGAIN_SECONDS)


def pick_agent(api: Client, name: str, wanted: str | None) -> Agent:
    """Return the agent by id or name, else the only one that has not ended."""
    agents = api.agents.list(name).agents
    if wanted is not None:
        matches = [agent for agent in agents if wanted in (agent.id, agent.agent)]
        if not matches:
            raise Conflict(f"no agent of {name} is {wanted}: see `atoll info {name}`")
        return matches[-1]
    alive = [agent for agent in agents if agent.agent_state != "stopped"] or agents[-1:]
    if not alive:
        raise Conflict(f"no agent runs in {name}: `atoll agent start {name}` starts one")
    if len(alive) > 1:
        listed = ", ".join(f"{agent.id} ({agent.agent})" for agent in alive)
        raise Conflict(f"{name} has several agents: name one by --id: {listed}")
    return alive[0]


def _show(agent: Agent, *, as_json: bool) -> None:
    if as_json:
        show_json(agent.value)
        return
    known = agent.agent_state == "running" and agent.value.get("watched") is not False
    turn = f", {agent.turn}" if known else ""
    say(f"{agent.agent} {agent.id} is {agent.agent_state}{turn}")


def _card_line(card: Card) -> str:
    """Return one card on one line, with its options when it waits."""
    words = " ".join(filter(None, (card.title, card.text)))
    line = f"{card.id}  {card.kind}  {card.state}  {' '.join(words.split())}"
    options = ", ".join(option.id for option in card.options)
    asks = f"  [{options}]" if card.state == "pending" and options else ""
    return line[:_CARD_LINE].rstrip() + asks
