"""Addresses of a sandbox's own servers, found in the output of programs."""

import re

from atoll.domain.agents.card import CardKind, CardState, Draft
from atoll.domain.wall.interior import DOORS

MAX_PREVIEWS = 5
_LOCAL = re.compile(
    r"https?://(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\]):(\d{2,5})(/[^\s'\"<>`)\]}\x1b]*)?"
)


def previews(text: str) -> list[Draft]:
    """Return a `preview-link` card for each port named in `text`, at most five; the sandbox's doors
    get none."""
    drafts: dict[int, Draft] = {}
    for match in _LOCAL.finditer(text):
        port = int(match[1])
        if port in drafts or port in DOORS or not 0 < port < 65536:
            continue
        drafts[port] = Draft(
            id=f"preview:{port}",
            kind=CardKind.PREVIEW_LINK,
            state=CardState.DONE,
            title=f"localhost:{port}",
            text=match[0].rstrip(".,;:!?"),
            data={"port": port, "path": (match[2] or "/").rstrip(".,;:!?")},
        )
        if len(drafts) == MAX_PREVIEWS:
            break
    return list(drafts.values())
