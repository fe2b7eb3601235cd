"""The environment of processes in a container: the usual one, with what the image brings.

An image knows where its programs are (`PATH`); the broker, the doors and the home are ours.
"""

from atoll.adapters.extensions.docker.images import Picture
from atoll.adapters.zygote.environment import imaged
from atoll.ports.extension import Provision


def environment_of(request: Provision, picture: Picture) -> tuple[tuple[str, str], ...]:
    """What everything started inside gets."""
    return imaged(request.sandbox_id, picture.env, request.env, mounts=request.mounts)
