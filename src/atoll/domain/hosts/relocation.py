"""The relocation of a sandbox that does not run: what it keeps goes from one host to another.

The nouns only. The host of the sandbox names the one place of its files at every moment: the
source until all of them are at the target, the target from then on.
"""

from dataclasses import dataclass
from enum import StrEnum


class RelocationPhase(StrEnum):
    """`copying`: the files are at the source. `clearing`: they are at the target, and the source
    is emptied."""

    COPYING = "copying"
    CLEARING = "clearing"


@dataclass(frozen=True, slots=True)
class Relocation:
    """A relocation under way, between two hosts by name."""

    source: str
    target: str
    phase: RelocationPhase = RelocationPhase.COPYING

    def same(self, other: "Relocation") -> bool:
        """Report whether both are one relocation, in whatever phase."""
        return (self.source, self.target) == (other.source, other.target)

    def other_place(self, host: str) -> str:
        """Return the host that may have a copy beside the files, which are at `host`."""
        return self.target if host == self.source else self.source
