"""The selection of a worker's backend: what a create says of it, as a request to routes.

Routes own strategies, health, cost and the decision. A selection narrows what they allow and never
widens it. `desktop_preferred` is the usual strategy: without a linked machine it changes nothing.
"""

from dataclasses import dataclass, replace
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.profile.route import EXTENSION_ALIASES, extension_name
from atoll.domain.routes.health import Attempt
from atoll.domain.routes.policy import Constraints, RouteOptions
from atoll.wire.words.routes import MAX_NAMED, ExecutionMode, Strategy

_EXTENSIONS: Final = {
    "in_memory": "ext.in-memory",
    "cloudflare_sandbox": "ext.cloudflare",
    "openagents_gcp": "ext.openagents-gcp",
    "compose_ssh": "ext.compose-ssh",
    "daytona_self": "ext.daytona-self",
    **{
        name: f"ext.{name}"
        for name in (
            *(
                "desktop",
                "daytona",
                "namespaces",
                "docker",
                "microvm",
                "ssh",
                "e2b",
                "modal",
                "openshell",
            ),
        )
    },
}
_BACKENDS: Final = {extension: backend for backend, extension in _EXTENSIONS.items()}
OTHER_BACKEND: Final = "extension"
"""The word for a backend of somebody else's, whose id stands beside it."""


_NO_LIMITS: Final = Constraints()


@dataclass(frozen=True, slots=True)
class Selection:
    """Limits of the choice. `allow` are backends by their words or their ids; none are all.
    `constraints` are the region, the latency, the cost, the share of successes and the isolation
    that a backend must keep. `accept_open_network`: its caller agrees to one that cannot close its
    network."""

    allow: tuple[str, ...] = ()
    strategy: Strategy | None = None
    constraints: Constraints = _NO_LIMITS
    accept_open_network: bool = False


NO_SELECTION: Final = Selection()
"""The selection of a request that makes none."""


def extension_of(backend: str) -> str:
    """Return the id of the extension that a backend's name means: `ext.daytona`."""
    known = _EXTENSIONS.get(backend)
    whole = known or (backend if backend.startswith("ext.") else f"ext.{backend}")
    return EXTENSION_ALIASES.get(whole, whole)


def backend_of(extension: str) -> str:
    """Return the word for an extension as a backend; `extension` for one of somebody else's."""
    return _BACKENDS.get(extension, OTHER_BACKEND)


def judge_selection(selection: Selection, backend: str | None) -> None:
    """Judge a selection beside the backend that is named, if one is. Raises `Invalid`."""
    if len(selection.allow) > MAX_NAMED:
        raise Invalid(f"at most {MAX_NAMED} backends can be named", field="selection.allow")
    for name in selection.allow:
        _judge_name(name, "selection.allow")
    if backend is not None:
        _judge_name(backend, "backend")
    strategy = selection.strategy
    if strategy is Strategy.EXPLICIT and backend is None:
        raise Invalid("`explicit` needs the backend: name it", field="selection.strategy")
    if backend is not None and strategy not in (
        *(None, Strategy.EXPLICIT, Strategy.DESKTOP_PREFERRED),
    ):
        raise Invalid(
            f"a named backend is the only one that is tried: leave {strategy} out",
            field="selection.strategy",
        )


def options_of(
    selection: Selection,
    *,
    backend: str | None,
    execution_mode: ExecutionMode | None,
    failed: tuple[Attempt, ...] = (),
) -> RouteOptions:
    """Return what routes are asked for. `failed` are the starts of this worker that failed."""
    extension = None if backend is None else extension_of(backend)
    usual = selection.strategy in (None, Strategy.DESKTOP_PREFERRED, Strategy.EXPLICIT)
    return RouteOptions(
        strategy=None if usual else selection.strategy,
        extension=extension,
        constraints=replace(selection.constraints, execution_mode=execution_mode),
        accept_open_network=selection.accept_open_network,
        allow=tuple(dict.fromkeys(map(extension_of, selection.allow))),
        prefers_desktop=usual and extension is None and execution_mode is not ExecutionMode.SANDBOX,
        failed=failed,
    )


def _judge_name(name: str, field: str) -> None:
    try:
        extension_name(extension_of(name))
    except Invalid as err:
        raise Invalid(f"{name[:40]!r} cannot name a backend", field=field) from err
