"""What `ext.compose-ssh` needs of this machine, and says when it is missing."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from atoll.adapters.extensions.ssh.client import SshHost
from atoll.adapters.extensions.ssh.compose import backend as compose
from atoll.adapters.extensions.ssh.compose.backend import TWIN, ComposeBackend
from atoll.adapters.extensions.ssh.machines import ssh_places
from atoll.domain.errors import Failed


async def hosts() -> Mapping[str, SshHost]:
    return {}


def test_link_that_is_no_static_program_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose, "installed", lambda: None)
    places = ssh_places(tmp_path)
    places.programs.parent.mkdir(parents=True)
    backend = ComposeBackend(hosts, places, "atoll-test", "x86_64")
    assert backend.capabilities().compose
    (places.programs.parent / TWIN).touch()
    with pytest.raises(Failed, match="static link"):
        backend.capabilities()
