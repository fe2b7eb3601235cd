"""Pages of ours at a preview's origin: the entrance, and words for what cannot be shown.

They stand below `/.atoll/`, where no request reaches the server inside. Their scripts are the ones
here, which their policies name by hash: the secret of a link stays in the fragment until the
entrance sends it, once.
"""

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import Final

from starlette.responses import Response

from atoll.domain.error_status import status_of
from atoll.domain.errors import AtollError
from atoll.surfaces.http.body.plain_page import STYLE
from atoll.surfaces.http.previews.passage import NOT_LISTENING
from atoll.surfaces.http.server.problems import problem

PREFIX: Final = "/.atoll/"
ENTER: Final = "/.atoll/enter"
PANE: Final = b"pane"
"""The query of the entrance by which the preview pane comes in."""

LISTENING: Final = "/.atoll/listening"

_ENTRANCE: Final = """
const secret = location.hash.slice(1);
const pane = location.search === '?pane' ? '?pane' : '';
history.replaceState(null, '', location.pathname);
const told = document.getElementById('told');
fetch(`/.atoll/enter${pane}`, { method: 'POST', body: secret, credentials: 'same-origin' })
  .then(async (answer) => {
    if (!answer.ok) throw new Error((await answer.json()).detail);
    location.replace((await answer.json()).path);
  })
  .catch((error) => {
    told.textContent = `This link does not open the preview: ${error.message}.`;
  });
"""
_REPORTER, _PICTURE = (
    files(__package__).joinpath(name).read_text().strip().removesuffix(";")
    for name in ("reporter.js", "picture.js")
)
_WAITING: Final = """
const look = () =>
  fetch('/.atoll/listening', { credentials: 'same-origin', cache: 'no-store' })
    .then((answer) => {
      if (answer.status === 503) setTimeout(look, 1500);
      else location.reload();
    })
    .catch(() => setTimeout(look, 3000));
setTimeout(look, 1500);
"""


def entrance(frames: bytes) -> Response:
    """Return the page that trades a link for a visit. `frames` is the policy for its frames."""
    return _page("Opening the preview", ("One moment.",), _ENTRANCE, frames=frames, status=200)


def reporter(pages: tuple[str, ...]) -> Response:
    """Return the script that tells a pane about errors of the document in it, and about an element
    that a person picks there. `pages` are the origins of Atoll's own page, which it tells and
    nobody else."""
    script = f"{_REPORTER}({_PICTURE}, {json.dumps(pages)});\n"
    headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
    return Response(script, headers=headers, media_type="text/javascript")


def cannot_show(error: AtollError, frames: bytes, *, page: bool) -> Response:
    """Return the answer to a request that did not reach a server inside, or got no answer there:
    a page for people, a problem document for programs. The page of a server that is not there yet
    loads again once it is."""
    if not page:
        return problem(error)
    status = status_of(error)
    if error.code == NOT_LISTENING:
        sentences = (
            "No server listens at this port of the sandbox yet.",
            "Start one there. This page shows it as soon as it answers.",
        )
        return _page("Nothing listens here yet", sentences, _WAITING, frames=frames, status=status)
    sentence = f"{error.message[:1].upper()}{error.message[1:].rstrip('.')}."
    return _page("This preview cannot be shown", (sentence,), "", frames=frames, status=status)


def _page(
    heading: str, sentences: tuple[str, ...], script: str, *, frames: bytes, status: int
) -> Response:
    said = "".join(
        f'<p{" id=told" if not at else ""} role="status">{escape(one)}</p>'
        for at, one in enumerate(sentences)
    )
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(heading)} · Atoll</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{escape(heading)}</h1>{said}</main>"
        f"{f'<script>{script}</script>' if script else ''}</body></html>"
    )
    scripts = f"script-src {_hash(script)}; " if script else ""
    policy = (
        f"default-src 'none'; style-src {_hash(STYLE)}; {scripts}connect-src 'self'; "
        f"base-uri 'none'; form-action 'none'; {frames.decode()}"
    )
    headers = {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(body, status, headers, "text/html")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
