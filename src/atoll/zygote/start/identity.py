"""The files of one sandbox that name it to the programs inside. Nobody inside can write to them."""

import os

from atoll.domain.interior.etc import hosts_text
from atoll.domain.interior.identity import (
    GENERATION,
    RANDOM_BYTES,
    generation_text,
    machine_id_text,
)
from atoll.wire.zygote.messages import Start
from atoll.zygote.host.home import BoxPlaces


def write_names(places: BoxPlaces, start: Start) -> None:
    """Write its hosts and machine-id, into the very files that are mounted inside, if they are."""
    texts = (
        (places.hosts, hosts_text(start.hostname)),
        (places.machine_id, machine_id_text(start.sandbox_id)),
    )
    for path, text in texts:
        path.write_text(text)
        path.chmod(0o644)


def write_generation(places: BoxPlaces) -> None:
    """Write what no earlier start of any sandbox had, before its programs run."""
    places.own_run.mkdir(mode=0o755, exist_ok=True)
    places.own_run.chmod(0o755)
    file = places.own_run / GENERATION
    file.write_text(generation_text(os.urandom(RANDOM_BYTES)))
    file.chmod(0o644)
