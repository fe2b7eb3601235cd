"""Completion candidates: names that the server, this home or Atoll itself knows.

A shell that completes must stay quiet: where names cannot be had, there are none.
"""

import re
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from atoll.client.client import Client
from atoll.client.made.library.kept import KeptList
from atoll.client.made.library.profiles import ProfileList
from atoll.client.made.sandboxes.sandboxes import SandboxPage
from atoll.client.made.secrets import SecretList
from atoll.client.transport import Call, S, at
from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.invocation import Invocation

COMPLETION_SECONDS = 1.0
MAX_OFFERED = 200

_PLAIN = re.compile(r"[\w.@%+=/-][\w.@%+=:/~-]*")
"""Names that mean nothing else to a shell, which inserts them into the next command."""

Query = tuple[tuple[str, str], ...]
Candidates = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def listed(
    kind: str, shape: type[S], names: Callable[[S], Iterable[str]], query: Query = ()
) -> Candidates:
    """Return candidates of `GET /v1/{kind}`: the names of what it answers."""

    def found(invocation: Invocation) -> Iterable[str]:
        call = Call("GET", at(kind), query, timeout=COMPLETION_SECONDS)
        return names(invocation.api().transport.read(shape, call))

    return _quietly(found)


def offered(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin so and mean nothing else to a shell, at most `MAX_OFFERED`."""
    found = [name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name)]
    return found[:MAX_OFFERED]


def sandboxes() -> Candidates:
    """Return the sandboxes, by name."""
    return _quietly(lambda found: sandbox_names(found.api(), seconds=COMPLETION_SECONDS))


def sandbox_names(api: Client, *, seconds: float) -> list[str]:
    """Return the names of the sandboxes on the first page. Raises what the API raises."""
    call = Call("GET", at("sandboxes"), timeout=seconds)
    found = api.transport.read(SandboxPage, call).sandboxes
    return [one.name or one.sandbox_id for one in found]


def secret_names(api: Client, *, seconds: float) -> list[str]:
    """Return the names of the secrets. Raises what the API raises."""
    found = api.transport.read(SecretList, Call("GET", at("secrets"), timeout=seconds))
    return [one.name for one in found.secrets]


def secrets() -> Candidates:
    """Return the secrets, by name."""
    return _quietly(lambda found: secret_names(found.api(), seconds=COMPLETION_SECONDS))


def kept() -> Candidates:
    """Return the kept worktrees, by id."""
    return listed("kept", KeptList, lambda found: (one.kept_id for one in found.kept))


def profile_names(api: Client, *, seconds: float) -> list[str]:
    """Return the short forms of the profiles' ids. Raises what the API raises."""
    found = api.transport.read(ProfileList, Call("GET", at("profiles"), timeout=seconds))
    return [one.id.removeprefix("profile.") for one in found.profiles]


def profiles() -> Candidates:
    """Return the profiles, by the short form of their ids."""
    return _quietly(lambda found: profile_names(found.api(), seconds=COMPLETION_SECONDS))


def agents() -> Candidates:
    """Return the agents Atoll knows, installed or not."""

    def names(invocation: Invocation) -> Iterable[str]:
        shelf = invocation.host().agents(invocation.home.absolute())
        return [one.agent.name for one in shelf.list()]

    return _quietly(names)


def presets() -> Candidates:
    """Return the names that `atoll new --save-as` kept."""

    def names(invocation: Invocation) -> Iterable[str]:
        # Loaded late: every command offers candidates, and few are ever completed.
        from atoll.surfaces.cli.console.plan import preset_names

        return preset_names(invocation.environ)

    return _quietly(names)


def providers() -> Candidates:
    """Return the model providers the broker knows."""

    def names(_invocation: Invocation) -> Iterable[str]:
        from atoll.domain.broker.provider import PROVIDERS

        return sorted(PROVIDERS)

    return _quietly(names)


def egress_presets() -> Candidates:
    """Return the named sets of hosts, as `atoll net` takes them."""

    def names(_invocation: Invocation) -> Iterable[str]:
        from atoll.domain.network.egress_rule import PRESETS

        return [f"preset:{name}" for name in PRESETS]

    return _quietly(names)


def _quietly(names: Callable[[Invocation], Iterable[str]]) -> Candidates:
    def candidates(
        context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        invocation = context.find_object(Invocation)
        if invocation is None:
            return []
        try:
            found = offered(names(invocation), incomplete)
        except (AtollError, OSError):
            return []
        return [CompletionItem(name) for name in found if name]

    return candidates
