"""The preparations for a sandbox's processes, as sentences for its log. Starts nothing."""

from collections.abc import Iterable, Mapping

from atoll.domain.agents.registry import HOME_STATE
from atoll.domain.size import MIB
from atoll.domain.wall.interior import GIT_EMAIL, GIT_NAME, HOME, PREFIXES, SCRATCH

MECHANISMS = frozenset({"bubblewrap", "docker"})
"""The walls whose inside is that of `domain.wall.interior`."""


def entry_steps(env: Mapping[str, str], configured: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the preparations: home, installers' prefixes, git's identity, and the person's config
    files. `env` holds the variables that the sandbox's processes get beside the usual ones."""
    sizes = {place: size for place, _mode, size in SCRATCH}
    kept = ", ".join(f"~/{inside}" for _name, inside in HOME_STATE)
    prefixes = ", ".join(
        f"{installer} {env.get(variable, f'~/{folder}')}"
        for installer, variable, folder in PREFIXES
    )
    name = env.get("GIT_AUTHOR_NAME", GIT_NAME)
    email = env.get("GIT_AUTHOR_EMAIL", GIT_EMAIL)
    files = ", ".join(f"~/{path}" for path in configured)
    return (
        f"Home {HOME}: {sizes[HOME] // MIB} MiB of memory, new at each start; kept are {kept}.",
        f"Programs are installed to: {prefixes}.",
        f"Git commits as {name} <{email}>.",
        *((f"Configuration from this machine: {files}.",) if files else ()),
    )
