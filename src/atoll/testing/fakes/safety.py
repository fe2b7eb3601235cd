"""Safety layers without shims."""

from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.errors import AtollError
from atoll.domain.profile.profile import Safety
from atoll.ports.extension import Mount

TARGET = "/opt/atoll/agents/.fake-safety"


@dataclass(slots=True)
class FakeSafetyLayers:
    """A `ports.safety.SafetyLayers` that mounts `folder`, an empty directory of the test's, for
    every profile. `asked` lists the profiles' settings in order; `failure` is raised while it is
    set."""

    folder: Path
    failure: AtollError | None = None
    asked: list[Safety] = field(default_factory=list)

    async def mounts_for(self, safety: Safety) -> tuple[Mount, ...]:
        """See the port."""
        if self.failure is not None:
            raise self.failure
        self.asked.append(safety)
        return (Mount(str(self.folder), TARGET),)

    def env_for(self, safety: Safety) -> tuple[tuple[str, str], ...]:
        """See the port."""
        return (("BASH_ENV", f"{TARGET}/guard.sh"),) if safety.shell else ()
