import importlib
import subprocess
import sys

import atoll.ports

HEAVY = {
    "aiohttp",
    "alembic",
    "structlog",
    "sqlalchemy",
    "atoll.adapters.agents.shelf",
    "atoll.adapters.extensions.docker.engine",
    "atoll.adapters.trees.shelf",
    "atoll.ports.store.store",
    "atoll.wiring.doctor.report",
}


def test_up_and_down_load_no_client_of_docker_and_no_shelf() -> None:
    code = "import sys, atoll.wiring.host; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert HEAVY & set(done.stdout.split()) == set()


def test_every_port_is_loaded_from_the_module_that_defines_it() -> None:
    for name in atoll.ports.__all__:
        found = getattr(atoll.ports, name)
        assert getattr(importlib.import_module(found.__module__), name) is found
