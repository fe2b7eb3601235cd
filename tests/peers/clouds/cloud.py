"""The clouds that are tested, each with what a home needs to rent there."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import pytest

from atoll.adapters.apart.installed import find_point
from atoll.adapters.linked.extension import LinkedExtension
from atoll.ports.extension import ExtensionSetup
from tests.peers.clouds import cloudflare, daytona, e2b, machine, modal, openshell
from tests.peers.clouds.machine import FAR_TIER

CALLS = ("list", "create", "connect")


@dataclass(frozen=True)
class Cloud:
    """A vendor. `addresses` are the names of settings and of what the peer has for them; `calls`
    those of a create; `canary` is the part of its key that must be nowhere else."""

    name: str
    title: str
    key: str
    canary: bytes
    serve: Callable[[], AbstractContextManager[Any]]
    addresses: tuple[str, ...]
    calls: tuple[str, ...] = CALLS
    missing: Callable[[], str | None] = machine.missing
    more: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Tables of settings besides the addresses."""

    @property
    def extension(self) -> str:
        """The name of its extension."""
        return f"ext.{self.name}"

    @property
    def profile(self) -> dict[str, Any]:
        """A profile that asks for it."""
        return {
            "id": "profile.cloud",
            "version": "1.0.0",
            "description": "A shell on a rented machine.",
            "extension": self.extension,
            "image": "host",
            "workspace": {"mode": "remote-canonical", "access": "rw", "scope_default": "session"},
        }

    @property
    def secret(self) -> dict[str, Any]:
        """The secret with its key."""
        return {"value": self.key, "kind": "extension", "extension": self.extension}

    def make(self, setup: ExtensionSetup) -> LinkedExtension:
        """Make the extension, as its entry point does."""
        made = find_point(self.name).load()(setup)
        assert isinstance(made, LinkedExtension)
        return made

    def options(self, peer: Any) -> dict[str, object]:
        """Return the options of a home that rents at a peer."""
        return {self.name: {**dict.fromkeys(self.addresses, peer.url), **self.more}}

    def settings(self, peer: Any) -> str:
        """Return the settings of a home that rents at a peer."""
        table = self.name.replace("-", "_")
        lines = "".join(f'{name} = "{peer.url}"\n' for name in self.addresses)
        for name, values in self.more.items():
            pairs = ", ".join(f"{key} = {value!r}" for key, value in values.items())
            lines += f"{name} = {{ {pairs} }}\n"
        return f'extensions = ["namespaces", "{self.name}"]\n[{table}]\n{lines}'


DAYTONA = Cloud(
    "daytona", "Daytona", daytona.KEY, daytona.KEY.encode(), daytona.daytona_peer, ("api_url",),
    ("list", "create", "get", "ttl"),
)  # fmt: skip
E2B = Cloud(
    "e2b", "E2B", e2b.KEY, e2b.KEY.encode(), e2b.e2b_peer, ("api_url", "sandbox_url")
)  # fmt: skip
MODAL = Cloud(
    "modal", "Modal", modal.KEY, modal.SECRET.encode(), modal.modal_peer, ("server_url",),
    ("image", *CALLS, "look", "task", "exec"),
)  # fmt: skip
CLOUDFLARE = Cloud(
    "cloudflare", "Cloudflare", cloudflare.KEY, cloudflare.KEY.encode(),
    cloudflare.cloudflare_peer, ("url",), missing=cloudflare.lacking,
)  # fmt: skip
OPENSHELL = Cloud(
    "openshell", "OpenShell", openshell.KEY, openshell.KEY.encode(), openshell.openshell_peer,
    ("gateway",), more={"images": {"host": "registry.example/atoll:1"}},
)  # fmt: skip
CLOUDS = (DAYTONA, E2B, MODAL, CLOUDFLARE)


def each(*clouds: Cloud) -> list[Any]:
    """Return the params of a fixture; all but E2B are in the tier of backends."""
    return [
        pytest.param(
            cloud,
            id=cloud.name,
            marks=[
                pytest.mark.skipif(bool(cloud.missing()), reason=str(cloud.missing())),
                *(() if cloud is E2B else FAR_TIER),
            ],
        )
        for cloud in clouds
    ]


EACH = each(*CLOUDS)
