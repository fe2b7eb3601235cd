"""The environment of the scripts that Atoll itself runs inside a sandbox.

Profiles, people, images and secrets set variables for the programs of a sandbox. One of them may
break a shell or git (`PATH`, `GIT_DIR`, `TMPDIR`, `LD_PRELOAD`, `BASH_ENV`), so none reaches a
script of ours: what those report decides what is shown, saved and destroyed.
"""

from collections.abc import Mapping
from typing import Final

from atoll.domain.wall.interior import HOME

SYSTEM_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_LOCAL: Final = "127.0.0.1,localhost,::1"
_FIXED: Final = (
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C.UTF-8"),
    ("TERM", "dumb"),
    ("NO_PROXY", _LOCAL),
    ("no_proxy", _LOCAL),
)
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
_MAX_SETTINGS: Final = 1000


def own_environment(
    env: Mapping[str, str], policy: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables of our own scripts, where `env` are those of the sandbox's programs and
    `policy` those that its policy adds: of them only the ways of git to its remotes count."""
    home = env.get("HOME", "")
    return {
        "PATH": _path(env.get("PATH", "")),
        "HOME": home if home.startswith("/") else HOME,
        "USER": "agent",
        "LOGNAME": "agent",
        **dict(_FIXED),
        **{name: env[name] for name in _PROXIES if env.get(name)},
        **dict(git_settings(policy or {})),
    }


def git_settings(env: Mapping[str, str], *, first: int = 0) -> tuple[tuple[str, str], ...]:
    """Return the settings of git that variables hold (git-config, `GIT_CONFIG_COUNT`), numbered
    from `first`, with the count of all; none where there are none."""
    pairs = [
        (env[f"GIT_CONFIG_KEY_{number}"], env[f"GIT_CONFIG_VALUE_{number}"])
        for number in range(_MAX_SETTINGS)
        if f"GIT_CONFIG_KEY_{number}" in env and f"GIT_CONFIG_VALUE_{number}" in env
    ]
    if not pairs:
        return ()
    found = [("GIT_CONFIG_COUNT", str(first + len(pairs)))]
    for number, (key, value) in enumerate(pairs, first):
        found += [(f"GIT_CONFIG_KEY_{number}", key), (f"GIT_CONFIG_VALUE_{number}", value)]
    return tuple(found)


def _path(given: str) -> str:
    """Return the system's directories, then those of the sandbox: an image may have its programs
    elsewhere."""
    usual = SYSTEM_PATH.split(":")
    return ":".join(dict.fromkeys([*usual, *(one for one in given.split(":") if one[:1] == "/")]))
