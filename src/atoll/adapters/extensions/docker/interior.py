"""The environment of processes in a container: the usual one, with what the image brings.

An image knows where its programs are (`PATH`); the broker, the doors and the home are ours.
"""

from atoll.adapters.extensions.docker.images import Picture
from atoll.adapters.extensions.namespaces.environment import STANDARD, environment
from atoll.ports.extension import Provision

OURS = frozenset(name for name, _value in STANDARD)
MAX_FROM_IMAGE = 128


def environment_of(request: Provision, picture: Picture) -> tuple[tuple[str, str], ...]:
    """What everything started inside gets. Where image and Atoll name the same variable, ours
    holds, but the image's programs are found after the home's and before the system's."""
    brought = dict(picture.env)
    theirs = [pair for pair in brought.items() if pair[0] not in OURS][:MAX_FROM_IMAGE]
    env = environment(request.sandbox_id, theirs, request.env, mounts=request.mounts)
    wished = {name for name, _value in request.env}
    if "PATH" not in brought or "PATH" in wished:
        return env
    merged = dict(env)
    words = [*merged["PATH"].split(":"), *brought["PATH"].split(":")]
    home = [word for word in words if word.startswith(("/home/agent/", "/opt/atoll/"))]
    system = [word for word in brought["PATH"].split(":") if word.startswith("/")]
    rest = [word for word in merged["PATH"].split(":") if word not in (*home, *system)]
    merged["PATH"] = ":".join(dict.fromkeys([*home, *system, *rest]))
    return tuple(merged.items())
