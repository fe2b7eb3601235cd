"""The environment of every process in a sandbox, the same behind every wall.

No secret is in it: keys stay outside, inside are the broker's address and a placeholder where
programs insist on a key.
"""

from collections.abc import Iterable

from atoll.domain.agents.agent import LAYERS
from atoll.domain.broker.provider import ANTHROPIC, GEMINI, OPENAI, placeholder
from atoll.domain.wall.interior import BROKER, HOME, PREFIXES, PROXY
from atoll.domain.wall.proxy_settings import JAVA_OPTIONS, NODE, java_options
from atoll.ports.extension import Mount

STANDARD: tuple[tuple[str, str], ...] = (
    ("HOME", HOME),
    ("USER", "agent"),
    ("LOGNAME", "agent"),
    ("SHELL", "/bin/bash"),
    (
        "PATH",
        f"{HOME}/.local/bin:{HOME}/.npm-global/bin:{HOME}/.cargo/bin:{HOME}/go/bin:"
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("TERM", "xterm-256color"),
    ("LANG", "C.UTF-8"),
    *((variable, f"{HOME}/{folder}") for _installer, variable, folder in PREFIXES),
    ("PIP_BREAK_SYSTEM_PACKAGES", "1"),
    ("GOPATH", f"{HOME}/go"),
    ("CLAUDE_CONFIG_DIR", f"{HOME}/.claude"),
    ("ANTHROPIC_BASE_URL", f"{BROKER}/anthropic"),
    ("ANTHROPIC_API_KEY", placeholder(ANTHROPIC)),
    ("OPENAI_BASE_URL", f"{BROKER}/openai/v1"),
    ("OPENAI_API_KEY", placeholder(OPENAI)),
    ("GOOGLE_GEMINI_BASE_URL", f"{BROKER}/gemini"),
    ("GEMINI_API_KEY", placeholder(GEMINI)),
    ("HTTP_PROXY", PROXY),
    ("HTTPS_PROXY", PROXY),
    ("ALL_PROXY", PROXY),
    ("http_proxy", PROXY),
    ("https_proxy", PROXY),
    ("all_proxy", PROXY),
    ("NO_PROXY", "127.0.0.1,localhost,::1"),
    ("no_proxy", "127.0.0.1,localhost,::1"),
    *NODE,
)

OF_THE_BROKER = frozenset(
    {
        *("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        *("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
    }
)
"""The variables that lead to the broker, which programs with logins of their own do not use."""

OURS = frozenset(name for name, _value in STANDARD)
OWN_PREFIX = "ATOLL_"
"""The prefix of names that only Atoll sets: an image cannot change them."""

MAX_FROM_IMAGE = 128


def environment(
    sandbox_id: str, *overlays: Iterable[tuple[str, str]], mounts: Iterable[Mount] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the standard variables, overlaid by `overlays` in order. The `bin` directories of
    agents' layers among the mounts come first in `PATH`."""
    merged = dict(STANDARD)
    merged["ATOLL_SANDBOX_ID"] = sandbox_id
    layers = [f"{mount.target}/bin" for mount in mounts if mount.target.startswith(f"{LAYERS}/")]
    merged["PATH"] = ":".join([*layers, merged["PATH"]])
    for overlay in overlays:
        merged.update(overlay)
    return tuple(merged.items())


def environment_with_image(
    sandbox_id: str,
    brought: Iterable[tuple[str, str]],
    chosen: Iterable[tuple[str, str]],
    *,
    mounts: Iterable[Mount] = (),
    direct: Iterable[str] = (),
) -> tuple[tuple[str, str], ...]:
    """Return the environment with the variables of an image. Where both name a variable, Atoll's
    takes precedence; in `PATH` the image's directories come after the home's and before the
    system's. A variable names the door to every JVM, and the hosts that it reaches without it in
    `direct`: a JDK may be unpacked anywhere inside. One that the caller set empty stays so."""
    image, own, mounts = dict(brought), dict(chosen), tuple(mounts)
    if own.get(JAVA_OPTIONS) != "":
        said = (image.pop(JAVA_OPTIONS, ""), own.get(JAVA_OPTIONS, ""))
        own[JAVA_OPTIONS] = java_options(*said, direct=direct)
    theirs = [pair for pair in image.items() if not _is_ours(pair[0])][:MAX_FROM_IMAGE]
    env = environment(sandbox_id, theirs, own.items(), mounts=mounts)
    if "PATH" not in image or "PATH" in own:
        return env
    merged = dict(env)
    usual = merged["PATH"].split(":")
    home = [word for word in usual if word.startswith((f"{HOME}/", "/opt/atoll/"))]
    system = [word for word in image["PATH"].split(":") if word.startswith("/")]
    merged["PATH"] = ":".join(dict.fromkeys([*home, *system, *usual]))
    return tuple(merged.items())


def _is_ours(name: str) -> bool:
    return name in OURS or name.startswith(OWN_PREFIX)
