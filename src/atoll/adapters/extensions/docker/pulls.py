"""Fetch of an image by reference or digest, with progress.

The daemon checks what it fetches against the digest; a reference with `@sha256:…` is that
content or nothing. Signatures are not looked at.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from atoll.adapters.extensions.docker.engine import Engine, Image, ProgressLine
from atoll.domain.errors import AtollError, Failed, Invalid, NotFound, Unavailable
from atoll.domain.sandboxes.image import tells_absent_image
from atoll.domain.size import MIB

MAX_REFERENCE = 255
STEP = 10
_PART = r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*"
_REFERENCE = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?/)?"
    rf"{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(?:@sha256:[0-9a-f]{{64}})?"
)
"""An OCI reference (distribution's grammar): it becomes a part of the Engine's paths, where
`..` would lead elsewhere."""

Report = Callable[[str], None]


def is_reference(text: str) -> bool:
    """Return whether a text names an image as `docker pull` accepts it: repository, tag or
    digest."""
    return len(text) <= MAX_REFERENCE and _REFERENCE.fullmatch(text) is not None


def split_reference(reference: str) -> tuple[str, str]:
    """Return (repository, tag). A digest stays with the repository. No tag is `latest`: without one
    the Engine would fetch every tag there is."""
    if "@" in reference:
        return reference, ""
    head, slash, last = reference.rpartition("/")
    name, colon, tag = last.partition(":")
    return head + slash + name, tag if colon else "latest"


async def pull_image(engine: Engine, reference: str, report: Report) -> Image:
    """Return the image, after fetching it when the daemon lacks it. Raises `Invalid` for
    one that no registry has for us, `Failed` with the daemon's message, `Unavailable`."""
    image = await engine.image(reference)
    if image is None:
        await _pull(engine, reference, report)
        image = await engine.image(reference)
    if image is None:
        raise Failed(f"the image {reference} was pulled and is still not there: check the daemon")
    return image


async def _pull(engine: Engine, reference: str, report: Report) -> None:
    repository, tag = split_reference(reference)
    report(f"pulling {reference}")
    progress = _PullProgress(reference, report)
    try:
        async for line in engine.pull(repository, tag):
            progress.add(line)
    except Unavailable:
        raise
    except AtollError as err:
        why = (
            f"the image {reference} is not in the Docker daemon and cannot be pulled: "
            f"{err.message}; "
            "`docker pull` or `docker load` it, or check its name"
        )
        if isinstance(err, NotFound) or tells_absent_image(err.message):
            raise Invalid(why, field="image") from err
        raise Failed(why) from err


@dataclass(slots=True)
class _PullProgress:
    """The progress of layers fetched in parallel, reported as one percentage in steps."""

    wanted: str
    report: Report
    _sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    _reported: int = 0

    def add(self, line: ProgressLine) -> None:
        """Add one line of the daemon's output."""
        if line.status == "Downloading" and line.progress_detail.total > 0:
            detail = line.progress_detail
            self._sizes[line.id] = (min(detail.current, detail.total), detail.total)
        elif line.status == "Download complete" and line.id in self._sizes:
            total = self._sizes[line.id][1]
            self._sizes[line.id] = (total, total)
        elif line.status.startswith(("Digest: ", "Status: ")):
            self.report(f"{self.wanted}: {line.status[:200]}")
        self._report()

    def _report(self) -> None:
        there = sum(here for here, _size in self._sizes.values())
        total = sum(size for _here, size in self._sizes.values())
        step = there * 100 // total // STEP * STEP if total else 0
        if step > self._reported:
            self._reported = step
            self.report(f"{self.wanted}: {step}% of {total / MIB:.1f} MiB")
