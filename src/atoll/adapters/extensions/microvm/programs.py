"""The programs for the guest and for QEMU's own wall, out of the archive for other machines."""

import hashlib
import tarfile
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp

from atoll.domain.errors import Failed


@dataclass(frozen=True, slots=True)
class GuestPrograms:
    """The programs of a home: `archive` is what the zygote wrote, `folder` where they lie open."""

    archive: Path
    folder: Path

    def place(self) -> Path:
        """Return the folder of init, link, bwrap and the filters. Raises `Failed` without the
        archive."""
        try:
            packed = self.archive.read_bytes()
        except FileNotFoundError as error:
            raise Failed(
                "the programs for other machines are missing: start Atoll again"
            ) from error
        place = self.folder / hashlib.sha256(packed).hexdigest()[:24]
        if not place.exists():
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = Path(mkdtemp(dir=self.folder))
            with tarfile.open(self.archive) as archive:
                # The zygote's own. Python 3.11.2, which is Debian 12's, knows no `filter`.
                archive.extractall(new)  # noqa: S202
            try:
                new.rename(place)
            except OSError as error:
                if not place.exists():
                    raise Failed(f"{place} cannot be written: {error.strerror}") from error
        return place
