"""A machine of QEMU for somebody without any rights, whose Atoll has no root anywhere."""

import pytest

from tests.e2e.walls.test_microvm import NOT_HERE, PROFILE
from tests.e2e.walls.test_rootless import STRANGER, namespaced, person
from tests.peers.api import api_of
from tests.peers.machines.microvm import home_with_image, qemu_of

__all__ = ["namespaced"]

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    pytest.mark.skipif(bool(NOT_HERE), reason=NOT_HERE),
]


def test_person_without_rights_has_machines(namespaced: None) -> None:
    with person(ATOLL_EXTENSIONS="namespaces,microvm") as server:
        home_with_image(server.home)
        with api_of(server) as api:
            api.call("PUT", "/v1/profiles/profile.vm", json=PROFILE)
            sandbox = api.create(profile="vm")["sandbox_id"]
            owner = (server.home / "vms" / sandbox).stat().st_uid
            assert owner == STRANGER
            assert api.run(sandbox, "id -un; grep -c : /proc/net/dev") == "agent\n1\n"
            assert qemu_of(server.home, sandbox)
            api.run(sandbox, "echo kept > file")
            api.act(sandbox, "stop")
            api.act(sandbox, "start")
            assert api.run(sandbox, "cat file") == "kept\n"
            api.act(sandbox, "destroy")
            assert not (server.home / "vms" / sandbox).exists()
