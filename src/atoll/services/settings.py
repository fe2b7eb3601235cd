"""Settings of all services: a section for each feature, which owns and checks it."""

from dataclasses import dataclass, field

from atoll.services.journals.settings import AuditSettings, EventSettings, JournalSettings
from atoll.services.library.settings import (
    KeptSettings,
    ReachabilitySettings,
    RepositorySettings,
)
from atoll.services.logins.settings import AgentLoginSettings
from atoll.services.people.identity.settings import AuthSettings
from atoll.services.people.settings import TokenSettings
from atoll.services.policies.settings import PolicySettings
from atoll.services.provisioning.settings import ProvisioningSettings
from atoll.services.sandboxes.settings import AdmissionSettings
from atoll.services.tools.settings import ToolSettings
from atoll.services.workers.settings import WorkerSettings


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Sections of settings. Two sections that declare the same name receive the same value."""

    admission: AdmissionSettings = field(default_factory=AdmissionSettings)
    journals: JournalSettings = field(default_factory=JournalSettings)
    provisioning: ProvisioningSettings = field(default_factory=ProvisioningSettings)
    policies: PolicySettings = field(default_factory=PolicySettings)
    kept: KeptSettings = field(default_factory=KeptSettings)
    events: EventSettings = field(default_factory=EventSettings)
    audit: AuditSettings = field(default_factory=AuditSettings)
    repositories: RepositorySettings = field(default_factory=RepositorySettings)
    reachability: ReachabilitySettings = field(default_factory=ReachabilitySettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    workers: WorkerSettings = field(default_factory=WorkerSettings)
    tokens: TokenSettings = field(default_factory=TokenSettings)
    auth: AuthSettings = field(default_factory=AuthSettings)
    logins: AgentLoginSettings = field(default_factory=AgentLoginSettings)
