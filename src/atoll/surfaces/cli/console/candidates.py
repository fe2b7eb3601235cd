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
from atoll.client.transport import Call, S, api_path
from atoll.domain.errors import AtollError
from atoll.surfaces.cli.console.invocation import Invocation

COMPLETION_SECONDS = 1.0
MAX_OFFERED = 200

_PLAIN = re.compile(r"[\w.@%+=/-][\w.@%+=:/~-]*")
"""Names that mean nothing else to a shell, which inserts them into the next command."""

Query = tuple[tuple[str, str], ...]
Candidates = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def complete_from(
    kind: str, shape: type[S], names: Callable[[S], Iterable[str]], query: Query = ()
) -> Candidates:
    """Return a completion by `GET /v1/{kind}`: `names` reads the names from its answer."""

    def fetch(invocation: Invocation) -> Iterable[str]:
        call = Call("GET", api_path(kind), query, timeout=COMPLETION_SECONDS)
        return names(invocation.api().transport.read(shape, call))

    return _complete_quietly(fetch)


def filter_names(names: Iterable[str], incomplete: str) -> list[str]:
    """Return the names that begin so and mean nothing else to a shell, at most `MAX_OFFERED`."""
    matches = [name for name in names if name.startswith(incomplete) and _PLAIN.fullmatch(name)]
    return matches[:MAX_OFFERED]


def sandboxes() -> Candidates:
    """Return the sandboxes, by name."""
    return _complete_quietly(
        lambda invocation: sandbox_names(invocation.api(), seconds=COMPLETION_SECONDS)
    )


def sandbox_names(api: Client, *, seconds: float) -> list[str]:
    """Return the names of the sandboxes on the first page. Raises what the API raises."""
    call = Call("GET", api_path("sandboxes"), timeout=seconds)
    page = api.transport.read(SandboxPage, call)
    return [sandbox.name or sandbox.sandbox_id for sandbox in page.sandboxes]


def secret_names(api: Client, *, seconds: float) -> list[str]:
    """Return the names of the secrets. Raises what the API raises."""
    listing = api.transport.read(SecretList, Call("GET", api_path("secrets"), timeout=seconds))
    return [secret.name for secret in listing.secrets]


def secrets() -> Candidates:
    """Return the secrets, by name."""
    return _complete_quietly(
        lambda invocation: secret_names(invocation.api(), seconds=COMPLETION_SECONDS)
    )


def kept_trees() -> Candidates:
    """Return the kept worktrees, by id."""
    return complete_from("kept", KeptList, lambda listing: (work.kept_id for work in listing.kept))


def profile_names(api: Client, *, seconds: float) -> list[str]:
    """Return the short forms of the profiles' ids. Raises what the API raises."""
    listing = api.transport.read(ProfileList, Call("GET", api_path("profiles"), timeout=seconds))
    return [profile.id.removeprefix("profile.") for profile in listing.profiles]


def profiles() -> Candidates:
    """Return the profiles, by the short form of their ids."""
    return _complete_quietly(
        lambda invocation: profile_names(invocation.api(), seconds=COMPLETION_SECONDS)
    )


def agents() -> Candidates:
    """Return the agents Atoll knows, installed or not."""

    def names(invocation: Invocation) -> Iterable[str]:
        shelf = invocation.host().agents(invocation.home.absolute())
        return [program.agent.name for program in shelf.list()]

    return _complete_quietly(names)


def presets() -> Candidates:
    """Return the names that `atoll new --save-as` kept."""

    def names(invocation: Invocation) -> Iterable[str]:
        # Loaded late: every command offers candidates, and few are ever completed.
        from atoll.surfaces.cli.console.plan import preset_names

        return preset_names(invocation.environ)

    return _complete_quietly(names)


def providers() -> Candidates:
    """Return the model providers the broker knows."""

    def names(_invocation: Invocation) -> Iterable[str]:
        from atoll.domain.broker.provider import PROVIDERS

        return sorted(PROVIDERS)

    return _complete_quietly(names)


def egress_presets() -> Candidates:
    """Return the named sets of hosts, as `atoll net` takes them."""

    def names(_invocation: Invocation) -> Iterable[str]:
        from atoll.domain.network.egress_rule import PRESETS

        return [f"preset:{name}" for name in PRESETS]

    return _complete_quietly(names)


def _complete_quietly(names: Callable[[Invocation], Iterable[str]]) -> Candidates:
    def candidates(
        context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        invocation = context.find_object(Invocation)
        if invocation is None:
            return []
        try:
            matches = filter_names(names(invocation), incomplete)
        except (AtollError, OSError):
            return []
        return [CompletionItem(name) for name in matches if name]

    return candidates
