"""`atoll agent login|logins|logout`: a person's logins of agents at their vendors.

The tokens stay with the server. Here are a code and an address for the person, and for a key its
way in: by standard input or a hidden prompt, never as an argument.
"""

import sys
import time
from collections.abc import Callable
from typing import Final

import click

from atoll.client.login.agent_logins import (
    BROWSER,
    DEVICE,
    KEY,
    OPEN,
    AgentLogin,
    AgentLoginBody,
    AgentLogins,
)
from atoll.domain.errors import Conflict, Failed, Invalid, NotFound
from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.invocation import Invocation, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import clean, note, say, show_json, show_table

PAUSE_SECONDS: Final = 1.0
MAX_PASTED: Final = 8192

_METHODS: Final = {"device": DEVICE, "browser": BROWSER, "key": KEY}
_LATER: Final = "no sandbox uses it yet; once your plan allows it: atoll agent logins --on {id}"


@click.command("login")
@click.argument("agent", required=False, default="codex", shell_complete=candidates.agents())
@click.option("--browser", "how", flag_value="browser", help="In a browser, and paste its address.")
@click.option("--key", "how", flag_value="key", help="By an API key, from stdin or a prompt.")
@click.option("--use", is_flag=True, help="Turn it on, too: your plan must allow it.")
@json_option()
@pass_invocation
def login(invocation: Invocation, agent: str, *, how: str | None, use: bool, as_json: bool) -> None:
    """Log an agent in at its vendor; its tokens enter no sandbox  [default: codex]."""
    logins = AgentLogins(invocation.api().transport)
    body: AgentLoginBody = {"agent": agent, "method": _METHODS[how or "device"]}
    if how == "key":
        body["api_key"] = _text(f"API key of {agent}")
    found = _finished(logins, logins.begin(body))
    if use:
        found = logins.turn(found.id, in_use=True)
    if as_json:
        show_json(found.value)
        return
    say(f"{clean(found.agent)} is logged in: {found.id}")
    if not found.in_use:
        note(_LATER.format(id=found.id))


@click.command("logins")
@click.option("--on", default=None, metavar="LOGIN", help="Let sandboxes use it.")
@click.option("--off", default=None, metavar="LOGIN", help="Let sandboxes use it no more.")
@json_option()
@pass_invocation
def logins_(invocation: Invocation, *, on: str | None, off: str | None, as_json: bool) -> None:
    """List your logins of agents, or turn one on or off."""
    logins = AgentLogins(invocation.api().transport)
    for login_id, in_use in ((on, True), (off, False)):
        if login_id is not None:
            logins.turn(login_id, in_use=in_use)
    found = logins.list()
    if as_json:
        show_json({"logins": [one.value for one in found.logins]})
    elif found.logins:
        header = ("LOGIN", "AGENT", "METHOD", "STATUS", "IN USE", "TOKEN")
        show_table(header, map(_row, found.logins))
    else:
        note("no logins: atoll agent login")


@click.command("logout")
@click.argument("which", metavar="AGENT|LOGIN", required=False, default="codex")
@json_option()
@pass_invocation
def logout(invocation: Invocation, which: str, *, as_json: bool) -> None:
    """End the logins of an agent, or one by its id, here and at its vendor  [default: codex]."""
    logins = AgentLogins(invocation.api().transport)
    chosen = [one for one in logins.list().logins if which in (one.id, one.agent)]
    alive = [one for one in chosen if one.status in OPEN]
    if not chosen:
        raise NotFound(f"you have no login {which[:80]!r}: atoll agent logins")
    ended = [logins.revoke(one.id) for one in alive]
    if as_json:
        show_json({"logins": [one.value for one in ended]})
        return
    for one in ended:
        say(f"logged out: {clean(one.agent)} ({one.id})")
    if not ended:
        note("it had ended already")


LOGINS: Final = (login, logins_, logout)


def _finished(logins: AgentLogins, begun: AgentLogin) -> AgentLogin:
    """Return a login once its person has confirmed it. Raises `Conflict` when it ended instead."""
    found = begun
    if begun.method == BROWSER:
        note(f"open {clean(begun.page)}")
        note("log in, and paste the whole address that the browser ends at")
        found = logins.paste(begun.id, _text("Address"))
    elif begun.status == "pending":
        note(f"open {clean(begun.page)} and enter the code {clean(begun.user_code)}")
    return _ready(logins, found)


def _ready(
    logins: AgentLogins, found: AgentLogin, sleep: Callable[[float], None] = time.sleep
) -> AgentLogin:
    while found.status in OPEN and found.status != "ready":
        sleep(PAUSE_SECONDS)
        found = logins.get(found.id)
    if found.status != "ready":
        why = f": {clean(found.reason)}" if found.reason else ""
        raise Conflict(f"the login is {clean(found.status)}{why}", code="login_not_ready")
    return found


def _text(name: str) -> str:
    """Read a hidden prompt, or one line of standard input."""
    if sys.stdin.isatty():
        prompted: str = click.prompt(name, hide_input=True, err=True)
        return prompted.strip()
    data = sys.stdin.buffer.readline(MAX_PASTED + 1)
    if len(data) > MAX_PASTED:
        raise Invalid(f"what came on stdin is too long: at most {MAX_PASTED} bytes")
    text = data.decode("ascii", errors="replace").strip()
    if not text:
        raise Failed("nothing came on stdin: pipe it in, or run this at a terminal")
    return text


def _row(one: AgentLogin) -> tuple[str, ...]:
    methods = {number: name for name, number in _METHODS.items()}
    method = methods.get(one.method, str(one.method))
    return one.id, one.agent, method, one.status, "yes" if one.in_use else "no", one.token_ref
