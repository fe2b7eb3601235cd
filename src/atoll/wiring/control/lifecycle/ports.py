"""The ports that sandboxes use beside the ground."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from atoll.ports import (
    AgentConfigs,
    AgentLayers,
    Extension,
    Masters,
    MetadataFiles,
    RuntimeClients,
    SafetyLayers,
    Vault,
)
from atoll.ports.agents import AgentShelf
from atoll.ports.extension import MissingExtension
from atoll.ports.outside.issuer import AgentIssuer
from atoll.ports.outside.mount_grants import MountGrants
from atoll.services.policies.policies import GrantInsideAccess
from atoll.wiring.control.outside.contents import ContentPorts


class OwnVault(Vault, Masters, Protocol):
    """A vault that looks after its master keys itself."""


@dataclass(frozen=True, slots=True)
class SandboxPorts:
    """The ports that sandboxes use beside the ground. `api_url` is where runtimes reach this
    control plane; `with_access` makes `inside` of it. `installed` are the whole names of extensions
    that are installed, on or not. `issuers` log agents in, by the agent's name. Without `contents`
    no snapshot is exported."""

    extensions: Mapping[str, Extension]
    clients: RuntimeClients
    agents: AgentLayers
    vault: OwnVault
    safety: SafetyLayers | None = None
    configs: AgentConfigs | None = None
    metadata: MetadataFiles | None = None
    grants: MountGrants | None = None
    shelf: AgentShelf | None = None
    providers_with_key: Callable[[], Awaitable[frozenset[str]]] | None = None
    api_url: str | None = None
    inside: GrantInsideAccess | None = None
    missing_extensions: tuple[MissingExtension, ...] = ()
    installed: Collection[str] = ()
    issuers: Mapping[str, AgentIssuer] = field(default_factory=dict)
    contents: ContentPorts | None = None
