"""A login in a browser by the code flow with PKCE (RFC 7636), whose redirect a person pastes.

The redirect leads to a port of the person's own machine where nobody listens. So they copy the
address of the page that did not open, and everything in it may be forged.
"""

import base64
import hashlib
import hmac
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

from atoll.domain.errors import Forbidden, Invalid
from atoll.wire.words.agents import MAX_PASTED

MAX_CODE: Final = 4096


@dataclass(frozen=True, slots=True)
class BegunRedirect:
    """A login in a browser that waits for its redirect."""

    state: str = field(repr=False)
    verifier: str = field(repr=False)
    redirect_uri: str


@dataclass(frozen=True, slots=True)
class AuthorizeRequest:
    """The endpoint that a browser is led to, and what is asked for there."""

    endpoint: str
    client_id: str
    scopes: tuple[str, ...]
    more: tuple[tuple[str, str], ...] = ()


def challenge(verifier: str) -> str:
    """Return the challenge `S256` of a verifier (RFC 7636 §4.2)."""
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def authorize_url(request: AuthorizeRequest, begun: BegunRedirect) -> str:
    """Return the address at which the person logs in. It holds no secret."""
    query = {
        "response_type": "code",
        "client_id": request.client_id,
        "redirect_uri": begun.redirect_uri,
        "scope": " ".join(request.scopes),
        "code_challenge": challenge(begun.verifier),
        "code_challenge_method": "S256",
        "state": begun.state,
        **dict(request.more),
    }
    return f"{request.endpoint}?{urlencode(query)}"


def read_redirect(pasted: str, begun: BegunRedirect) -> str:
    """Return the code of a pasted redirect. Raises `Invalid` (field `redirect`) for what is no
    redirect of this login, `Forbidden` (code `login_denied`) when the person refused."""
    text = pasted.strip()
    if len(text) > MAX_PASTED or not text.isprintable():
        raise _redirect_error()
    try:
        address, _, query = text.partition("?")
        values = parse_qs(urlsplit(f"?{query}").query, strict_parsing=True, max_num_fields=20)
    except ValueError as error:
        raise _redirect_error() from error
    state = _single_value(values, "state")
    mine = hmac.compare_digest(state.encode(), begun.state.encode())
    if address != begun.redirect_uri or not mine:
        raise _redirect_error()
    if "error" in values:
        raise Forbidden("The login was refused at the issuer: begin it again.", code="login_denied")
    code = _single_value(values, "code")
    if not 0 < len(code) <= MAX_CODE or not code.isascii():
        raise _redirect_error()
    return code


def _single_value(values: dict[str, list[str]], name: str) -> str:
    """Return the parameter that occurs exactly once, else an empty text."""
    found = values.get(name, [])
    return found[0] if len(found) == 1 else ""


def _redirect_error() -> Invalid:
    return Invalid(
        "this is no redirect of this login: paste the whole address that the browser shows after "
        "you confirmed",
        field="redirect",
    )
