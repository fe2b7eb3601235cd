"""Writing configuration of agents into a sandbox's home.

Seeds are an agent's first configuration, written where none is there yet: a person's own
changes stay. What a person keeps on this machine for a sandbox is laid over what is there. Files of
a login say that an agent is logged in. They hold no token, unless its owner exposes it to a sandbox
without doors.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from atoll.domain.agents.agent import Agent, Seed
from atoll.domain.agents.login_use import LOGIN_USES, PLACEHOLDER_REFRESH, LoginFile, LoginInside
from atoll.domain.errors import Failed
from atoll.domain.logins.agent_login import NAMED_LOGIN
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.domain.tools.rule import chosen_setup
from atoll.ports import AgentConfigs
from atoll.ports.runtime import RuntimeClient
from atoll.services.policies.policies import ComposedPolicy
from atoll.services.provisioning.inside_agents import inside_names
from atoll.services.scripts import Script, run_inside

AT_ONCE = 4
"""Files of 64 KiB at most, as arguments of one command."""

# A mark of files that are ours; then fours: how, a path below the home, what the file is to hold,
# and what else of ours it may hold now. "keep" writes it if it is absent, "replace" always, "turn"
# also in place of what is ours, and "drop" removes what is ours.
SEED = Script(
    "write the agents' configuration",
    r"""
set -eu
umask 077
mark=$1; shift
ours() {
  [ -f "$1" ] || return 1
  held=$(head -c 65536 "$1")
  case $held in *"$mark"*) return 0 ;; esac
  [ -n "$2" ] && [ "$held" = "$(printf %s "$2")" ]
}
while [ $# -ge 4 ]; do
  file=$HOME/$2 write=no
  case $1 in
    keep) [ -e "$file" ] || write=yes ;;
    replace) write=yes ;;
    turn) if [ ! -e "$file" ] || ours "$file" "$4"; then write=yes; fi ;;
    drop) if ours "$file" "$4"; then rm -f "$file"; fi ;;
  esac
  if [ $write = yes ]; then
    mkdir -p "${file%/*}"
    printf %s "$3" > "$file"
  fi
  shift 4
done
""",
    seconds=20.0,
)


_QUIET = replace(SEED, unrecorded=True)
"""No event names its arguments: one holds a token."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A file to write. `other` is what else of ours it may hold now."""

    how: Literal["keep", "replace", "turn", "drop"]
    path: str
    content: str = ""
    other: str = ""


async def lay_agents(
    client: RuntimeClient, sandbox: Sandbox, agents: Iterable[Agent], composed: ComposedPolicy
) -> None:
    """Lay out the first configuration of agents: each file that is absent, and the files of a login
    where one is in use. What is left of an earlier login is removed. Raises `Failed` with the
    shell's message."""
    files: list[_Written] = []
    for agent in agents:
        setup = chosen_setup(sandbox.profile.mcp, agent.mcp, agent.mcp_stdio)
        seeds = (*agent.seeds, *(setup.seeds if setup is not None else ()))
        use, login = LOGIN_USES.get(agent.name), composed.logins.get(agent.name)
        files += [made for file in (use.files if use else ()) for made in _login_file(file, login)]
        files += [_Written("keep", seed.path, seed.content) for seed in seeds]
    await _write(client, files, _script(composed.logins.values()))


async def lay_login(client: RuntimeClient, sandbox: Sandbox, composed: ComposedPolicy) -> None:
    """Write the files of an exposed login with its newest token, or remove those of one that is
    exposed no more. Raises `Failed`."""
    before = any(name.startswith(NAMED_LOGIN) for name in sandbox.exposed_secrets)
    if not (before or composed.exposed_logins):
        return
    turned = [
        written
        for name, use in LOGIN_USES.items()
        if name in inside_names(sandbox)
        for file in use.files
        for written in _login_file(file, composed.logins.get(name))
    ]
    await _write(client, turned, _QUIET)


async def config_of(configs: AgentConfigs | None, sandbox: Sandbox) -> tuple[Seed, ...]:
    """Return what the person who runs the installation keeps for a sandbox of their own. Others,
    who may give theirs the same name, get none. Raises as the port."""
    whose = (sandbox.org_id, sandbox.owner)
    if configs is None or whose != (LOCAL_PERSON.org_id, LOCAL_PERSON.id):
        return ()
    return await configs.config_for(sandbox.name)


async def write_files(client: RuntimeClient, files: tuple[Seed, ...]) -> None:
    """Write each file, also over one that is there. Raises `Failed` with what the shell said."""
    for at in range(0, len(files), AT_ONCE):
        some = files[at : at + AT_ONCE]
        await _write(client, [_Written("replace", file.path, file.content) for file in some])


def _login_file(file: LoginFile, login: LoginInside | None) -> list[_Written]:
    """Return what to do with a file of a login. One with our mark is known by that; any other of
    ours is dropped first where it has another form."""
    if login is None:
        how: Literal["drop", "turn"] = "drop" if file.without is None else "turn"
        return [_Written(how, file.path, file.without or "", form) for form in file.forms]
    wanted = file.of(login)
    stale = [form for form in file.forms if form != wanted and PLACEHOLDER_REFRESH not in form]
    dropped = [_Written("drop", file.path, other=form) for form in stale]
    return [*dropped, _Written("turn", file.path, wanted, file.without or "")]


def _script(logins: Iterable[LoginInside]) -> Script:
    return _QUIET if any(login.token for login in logins) else SEED


async def _write(client: RuntimeClient, files: Iterable[_Written], script: Script = SEED) -> None:
    words = [word for file in files for word in (file.how, file.path, file.content, file.other)]
    if not words:
        return
    outcome = await run_inside(client, script, (PLACEHOLDER_REFRESH, *words))
    if outcome.code:
        raise Failed(f"The agents' configuration could not be written: {outcome.said}")
