"""An importer that runs git itself: for a control plane that is not root, and for tests.

Environment and configuration are scrubbed, time, memory and file size bounded, and only the bundle
file is an allowed transport. It lacks the foreign uid and the isolation from the network; where a
zygote runs, `adapters.zygote.importer` is used instead.
"""

from atoll.adapters.repos.git import Git, GitCall
from atoll.domain.errors import Invalid, LimitReached
from atoll.domain.repository.repository import HARMLESS_FLAWS
from atoll.ports.repositories import ImportJob


class DirectImporter:
    """An importer that implements `ports.repositories.Importer`."""

    def __init__(self) -> None:
        self._git = Git()

    async def run(self, job: ImportJob) -> None:
        """Fetch the bundle into the fresh repository, checking every object; or index its pack."""
        reply = await self._git.run(_call(job))
        if reply.status == 0:
            return
        if "memory" in reply.why:
            raise LimitReached("The bundle needs more memory than an import may use.")
        raise Invalid(f"The bundle was refused: {reply.why or 'git gave no reason'}.")


def _call(job: ImportJob) -> GitCall:
    if job.pack_at is not None:
        flaws = ",".join(f"{flaw}=ignore" for flaw in HARMLESS_FLAWS)
        return GitCall(
            ("index-pack", "--stdin", "--fix-thin", f"--strict={flaws}"),
            job.repo_dir,
            stdin=(job.bundle, job.pack_at),
            seconds=job.seconds,
            max_file_bytes=job.max_bytes,
        )
    fetch = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc")
    return GitCall(
        (*fetch, "--", str(job.bundle), *job.refspecs),
        job.repo_dir,
        protocols=("file",),
        seconds=job.seconds,
        max_file_bytes=job.max_bytes,
    )
