"""URIs of what can be watched, and the events that change it.

Pure. A URI is `<scheme>://<family>/<tail>`. The part after `://`, its path, is the same under every
scheme. A pattern ends in `/*` and stands for every tail.
"""

from collections.abc import Mapping
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.event import Event, Json

FAMILIES: Final[Mapping[str, str]] = {
    "agent": "agents, by sandbox and agent: `agent/<sandbox>/<agent>`",
    "approval": "requests for approvals: `approval/<id>`",
    "flux": "sources and kustomizations of Flux: `flux/<kind>/<namespace>/<name>`",
    "gha/run": "runs of workflows: `gha/run/<owner>/<repo>/<run>`",
    "gitea/pr": "pull requests: `gitea/pr/<owner>/<repo>/<number>`",
    "hr": "Helm releases of Flux: `hr/<namespace>/<name>`",
    "preview": "previews: `preview/<id>`",
    "sandbox": "sandboxes: `sandbox/<id>`",
}
"""The families of URIs, each with what it holds."""

MAX_URI: Final = 512
"""The longest URI in characters."""

ANY: Final = "*"

_OWN: Final[Mapping[str, tuple[str, ...]]] = {
    "sandbox": ("sandbox_id",),
    "agent": ("sandbox_id", "id"),
    "approval": ("approval_id",),
    "preview": ("preview_id",),
}
"""The fields of an event that make the tail, for the families of our own events."""

_OUTSIDE: Final = ("flux.", "gha.run.", "gitea.pr.", "hr.")
"""The beginnings of the kinds of events that name their path themselves, as `path`."""

_TESTED: Final[Mapping[str, tuple[str, ...]]] = {
    "gitea": ("gitea/pr",),
    "github": ("gha/run",),
    "flux": ("flux", "hr"),
}
"""The families of a hook's reports, by its source: its test is a change of `<family>/test/<id>`."""


def path_of(uri: str, scheme: str) -> str:
    """Return the path of a URI or a pattern. Raises `Invalid` for any other text."""
    path = uri.removeprefix(f"{scheme}://")
    family = family_of(path)
    if path == uri or not family or len(uri) > MAX_URI or not path.isprintable():
        families = ", ".join(FAMILIES)
        raise Invalid(
            f"{uri[:100]!r} cannot be watched: a URI is `{scheme}://<family>/<tail>`, and the "
            f"families are {families}",
            field="uri",
        )
    parts = path.removeprefix(f"{family}/").split("/")
    if not all(parts) or ANY in parts[:-1]:
        raise Invalid(f"{uri[:100]!r} has an empty part, or `*` before its end", field="uri")
    return path


def family_of(path: str) -> str:
    """Return the family of a path, empty for one of none."""
    return next((one for one in FAMILIES if path.startswith(f"{one}/")), "")


def is_pattern(path: str) -> bool:
    """Report whether a path stands for several."""
    return path.endswith(f"/{ANY}")


def covers_path(watched: str, path: str) -> bool:
    """Report whether who watches the first path learns of changes of the second: the same, one
    below it, or any that a pattern stands for."""
    stem = watched.removesuffix(ANY).removesuffix("/")
    return path.startswith(f"{stem}/") or (path == watched)


def paths_of(event: Event) -> tuple[str, ...]:
    """Return the paths of what an event changed; none where it changed nothing that is watched."""
    kind, payload = event.event_type, event.payload
    if kind.startswith(_OUTSIDE):
        path = payload.get("path")
        return (path,) if isinstance(path, str) else ()
    if kind == "hook.tested":
        families = _TESTED.get(_payload_text(payload, "source"), ())
        return tuple(f"{one}/test/{_payload_text(payload, 'hook_id')}" for one in families)
    family = kind.partition(".")[0]
    tail = tuple(_payload_text(payload, name) for name in _OWN.get(family, ()))
    return (f"{family}/{'/'.join(tail)}",) if tail and all(tail) else ()


def _payload_text(payload: Mapping[str, Json], name: str) -> str:
    """Return a text field of a payload; empty when it is no text."""
    found = payload.get(name)
    return found if isinstance(found, str) else ""
