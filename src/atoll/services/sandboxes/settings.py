"""Settings of admission: how many sandboxes, with which mounts and behind which walls."""

from dataclasses import dataclass, field

from atoll.domain.errors import Invalid
from atoll.domain.files.host_mount import check_source
from atoll.domain.quota import read_default_limits
from atoll.domain.wall.resources import Resources
from atoll.wire.words.walls import IsolationLevel


@dataclass(frozen=True, slots=True)
class AdmissionSettings:
    """Settings of admission. Raises `Invalid` for a limit or folder that cannot be meant.

    `max_sandboxes`: the limit of each owner; counts all that are neither destroying nor destroyed.
    `max_pooled`: what all pools may hold together.
    `max_snapshot_gb`: what all snapshots of an organization may take, in GiB; 0 is no bound.
    `max_working`: a further task of an owner waits while so many are at work; 0 is no bound.
    `quota_defaults`: limits of a sandbox where a quota counts them and its profile names none;
    memory and storage as the wall gives them anyway.
    `mount_roots`: folders of the host below which anybody may mount; the file alone says so.
    `require_isolation`: no sandbox is admitted whose backend gives less.
    `allow_loopback_remotes`: repositories on this machine may be fetched (development).
    """

    max_sandboxes: int = 50
    max_working: int = 0
    max_pooled: int = 200
    max_snapshot_gb: int = 500
    quota_defaults: dict[str, int | float | str] = field(
        default_factory=lambda: {"cpu": "1", "memory": "4Gi", "storage": "10Gi"}
    )
    mount_roots: tuple[str, ...] = ()
    require_isolation: IsolationLevel | None = None
    allow_loopback_remotes: bool = False

    def __post_init__(self) -> None:
        if self.max_sandboxes < 1:
            raise Invalid("max_sandboxes must be at least 1", field="max_sandboxes")
        if self.max_pooled < 0:
            raise Invalid("max_pooled must be at least 0", field="max_pooled")
        if self.max_snapshot_gb < 0:
            raise Invalid("max_snapshot_gb must be at least 0", field="max_snapshot_gb")
        if self.max_working < 0:
            raise Invalid("max_working must be at least 0", field="max_working")
        for folder in self.mount_roots:
            check_source(folder)
        try:
            read_default_limits(self.quota_defaults)
        except Invalid as err:
            raise Invalid(f"quota_defaults: {err.message}", field="quota_defaults") from err

    @property
    def default_limits(self) -> Resources:
        """Return `quota_defaults` as limits."""
        return read_default_limits(self.quota_defaults)
