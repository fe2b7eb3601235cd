"""`atoll agent login|logins|logout`: a person's logins of agents at their vendors.

The tokens stay with the server. Here are a code and an address for the person, and for a key its
way in: by standard input or a hidden prompt, never as an argument.
"""

import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

import click

from atoll.client.made.agents.logins import AgentLogin, AgentLoginBody, AgentLogins
from atoll.domain.errors import Conflict, Failed, Invalid, NotFound
from atoll.domain.profile.schema import profile_id
from atoll.surfaces.cli.console import candidates
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option
from atoll.surfaces.cli.console.output import clean, note, say, show_json, show_table
from atoll.surfaces.cli.console.references import LOGIN, pick_id, whole_name
from atoll.wire.words.agents import LoginMethod

PAUSE_SECONDS: Final = 1.0
MAX_PASTED: Final = 8192

_METHODS: Final[Mapping[str, int]] = {
    "device": LoginMethod.DEVICE,
    "browser": LoginMethod.BROWSER,
    "key": LoginMethod.API_KEY,
}
_OPEN: Final = ("requested", "pending", "ready")
_EXPOSED: Final = (
    "what runs there reads the access token of {agent}, and may use it anywhere until {ends}, also "
    "after you take it back; it gets each new one, and never the refresh token"
)
_CONCEALED: Final = "no new token goes inside; one that is there works until its end"
_LATER: Final = "no sandbox uses it yet; once your plan allows it: atoll agent logins --on {id}"


@needs("secret.manage")
@click.command("login")
@click.argument("agent", required=False, default="codex", shell_complete=candidates.agents())
@click.option("--browser", "how", flag_value="browser", help="In a browser, and paste its address.")
@click.option("--key", "how", flag_value="key", help="By an API key, from stdin or a prompt.")
@click.option("--provider", default=None, help="The provider of the key [default: the first].")
@click.option("--use", is_flag=True, help="Turn it on, too: your plan must allow it.")
@json_option()
@pass_invocation
def login(
    invocation: Invocation,
    agent: str,
    *,
    how: str | None,
    provider: str | None,
    use: bool,
    as_json: bool,
) -> None:
    """Log an agent in at its vendor; its tokens enter no sandbox  [default: codex]."""
    logins = AgentLogins(invocation.api().transport)
    body: AgentLoginBody = {"agent": agent, "method": _METHODS[how or "device"]}
    if provider is not None:
        body["provider"] = provider
    if how == "key":
        body["api_key"] = _read_hidden_input(f"API key of {agent}")
    agent_login = _complete(logins, logins.begin(body))
    if use:
        agent_login = logins.turn(agent_login.id, in_use=True)
    if as_json:
        show_json(agent_login.value)
        return
    say(f"{clean(agent_login.agent)} is logged in: {agent_login.id}")
    if not agent_login.in_use:
        note(_LATER.format(id=agent_login.id))


@needs("secret.read")
@click.command("logins")
@click.option("--on", default=None, metavar="LOGIN", help="Let sandboxes use it.")
@click.option("--off", default=None, metavar="LOGIN", help="Let sandboxes use it no more.")
@click.option("--expose", default=None, metavar="LOGIN", help="Put its access token into --to.")
@click.option("--to", "places", multiple=True, metavar="PLACE", help="A sandbox, or profile:NAME.")
@click.option("--conceal", default=None, metavar="LOGIN", help="Expose it nowhere any more.")
@json_option()
@pass_invocation
def logins_(
    invocation: Invocation,
    *,
    on: str | None,
    off: str | None,
    expose: str | None,
    places: tuple[str, ...],
    conceal: str | None,
    as_json: bool,
) -> None:
    """List your logins of agents, turn one on or off, or expose its token where no doors are."""
    logins = AgentLogins(invocation.api().transport)
    if (expose is None) is not (not places):
        raise Invalid("--expose LOGIN and --to PLACE go together")
    for chosen, in_use in ((on, True), (off, False)):
        if chosen is not None:
            logins.turn(_login_id(logins, chosen), in_use=in_use)
    if expose is not None:
        _expose(invocation, logins, _login_id(logins, expose), places)
    if conceal is not None:
        logins.expose(_login_id(logins, conceal), ())
        note(_CONCEALED)
    listing = logins.list()
    if as_json:
        show_json({"logins": [entry.value for entry in listing.logins]})
    elif listing.logins:
        header = ("LOGIN", "AGENT", "METHOD", "STATUS", "IN USE", "TOKEN", "EXPOSED TO")
        show_table(header, map(_login_row, listing.logins))
    else:
        note("no logins: atoll agent login")


@needs("secret.manage")
@click.command("logout")
@click.argument("which", metavar="AGENT|LOGIN", required=False, default="codex")
@json_option()
@pass_invocation
def logout(invocation: Invocation, which: str, *, as_json: bool) -> None:
    """End the logins of an agent, or one by its id, here and at its vendor  [default: codex]."""
    logins = AgentLogins(invocation.api().transport)
    there = logins.list().logins
    chosen = [entry for entry in there if which == entry.agent]
    if not chosen:
        login_id = pick_id(LOGIN, which, lambda: ((entry.id,) for entry in there))
        chosen = [entry for entry in there if entry.id == login_id]
    alive = [entry for entry in chosen if entry.status in _OPEN]
    if not chosen:
        raise NotFound(f"you have no login {which[:80]!r}: atoll agent logins")
    ended = [logins.revoke(entry.id) for entry in alive]
    if as_json:
        show_json({"logins": [entry.value for entry in ended]})
        return
    for entry in ended:
        say(f"logged out: {clean(entry.agent)} ({entry.id})")
    if not ended:
        note("it had ended already")


LOGINS: Final = (login, logins_, logout)


def _expose(
    invocation: Invocation, logins: AgentLogins, login_id: str, places: tuple[str, ...]
) -> None:
    """Expose a login to more places, and say what that means."""
    scopes = [_scope(invocation, place) for place in places]
    agent_login = logins.expose(login_id, (*logins.get(login_id).exposed_to, *scopes))
    ends = clean(agent_login.expires_at or "its end")
    note(_EXPOSED.format(agent=clean(agent_login.agent), ends=ends))


def _login_id(logins: AgentLogins, login: str) -> str:
    """Return the id of a login, which may be named by its agent where that has one that is
    open."""
    return pick_id(
        LOGIN,
        login,
        lambda: (
            (entry.id, entry.agent if entry.status in _OPEN else "")
            for entry in logins.list().logins
        ),
    )


def _scope(invocation: Invocation, place: str) -> str:
    kind, _, name = place.partition(":")
    if kind == "profile":
        return f"profile:{profile_id(name)}"
    sandbox = whole_name(invocation.api, name or place)
    return f"sandbox:{invocation.api().sandboxes.get(sandbox).sandbox_id}"


def _complete(logins: AgentLogins, begun: AgentLogin) -> AgentLogin:
    """Return a login once its person has confirmed it. Raises `Conflict` when it ended instead."""
    agent_login = begun
    if begun.method == LoginMethod.BROWSER:
        note(f"open {clean(begun.page)}")
        note("log in, and paste the whole address that the browser ends at")
        agent_login = logins.paste(begun.id, _read_hidden_input("Address"))
    elif begun.status == "pending":
        note(f"open {clean(begun.page)} and enter the code {clean(begun.user_code)}")
    return _await_ready(logins, agent_login)


def _await_ready(
    logins: AgentLogins, agent_login: AgentLogin, sleep: Callable[[float], None] = time.sleep
) -> AgentLogin:
    while agent_login.status in _OPEN and agent_login.status != "ready":
        sleep(PAUSE_SECONDS)
        agent_login = logins.get(agent_login.id)
    if agent_login.status != "ready":
        why = f": {clean(agent_login.reason)}" if agent_login.reason else ""
        raise Conflict(f"the login is {clean(agent_login.status)}{why}", code="login_not_ready")
    return agent_login


def _read_hidden_input(name: str) -> str:
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


def _login_row(entry: AgentLogin) -> tuple[str, ...]:
    methods = {number: name for name, number in _METHODS.items()}
    method = methods.get(entry.method, str(entry.method))
    if entry.provider:
        method = f"{method} of {entry.provider}"
    used, exposed = "yes" if entry.in_use else "no", " ".join(entry.exposed_to) or "-"
    return entry.id, entry.agent, method, entry.status, used, entry.token_ref, exposed
