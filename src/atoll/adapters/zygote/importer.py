"""Imports of bundles by the zygote: `ports.repositories.Importer` over its `import` verb."""

from dataclasses import dataclass, field
from pathlib import Path

from atoll.adapters.zygote.link import ZygoteLink
from atoll.domain.errors import Failed
from atoll.ports.repositories import ImportJob
from atoll.wire.zygote import messages as wire

MARGIN_SECONDS = 15.0
"""The time added to the job's own, which the zygote keeps."""


@dataclass(slots=True)
class ZygoteImporter:
    """An importer that runs git as a foreign uid behind a wall of its own. Paths must lie below the
    home's `run/import/` (bundle, repository) and `repos/` (alternates)."""

    socket: Path
    _link: ZygoteLink = field(init=False)

    def __post_init__(self) -> None:
        self._link = ZygoteLink(self.socket)

    async def run(self, job: ImportJob) -> None:
        """Fetch the bundle, or index its pack. Raises `Invalid`, `LimitReached`, `Failed`,
        `Unavailable`."""
        request = wire.Import(
            repo_dir=str(job.repo_dir),
            bundle=str(job.bundle),
            refspecs=job.refspecs,
            pack_at=job.pack_at,
            alternates=tuple(map(str, job.alternates)),
            seconds=job.seconds,
            max_bytes=job.max_bytes,
        )
        answer = await self._link.request(request, seconds=job.seconds + MARGIN_SECONDS)
        if not isinstance(answer, wire.Imported):
            raise Failed(f"the zygote answered an import by {type(answer).__name__}")

    async def close(self) -> None:
        """Close the connection."""
        self._link.close()
