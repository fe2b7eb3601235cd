"""Cookies of logins: their names, and how a browser may use them.

Over TLS a person's cookies have the prefix `__Host-`, so that no other host can set them. Browsers
take that prefix over TLS only; by plain http on loopback the names are bare.
"""

from datetime import datetime
from typing import Final, Literal

from starlette.requests import Request
from starlette.responses import Response

from atoll.surfaces.http.server.credentials import (
    COOKIE,
    HOST_COOKIE,
    SESSION_COOKIES,
    cookie_of,
)

LOGIN_COOKIE: Final = "atoll_oidc"


def login_cookie(request: Request) -> str:
    """Return the name of the cookie of a login under way."""
    return f"__Host-{LOGIN_COOKIE}" if is_secure(request) else LOGIN_COOKIE


def person_cookie(request: Request) -> str:
    """Return the name of the cookie of a person who logged in at a provider."""
    return HOST_COOKIE if is_secure(request) else COOKIE


def end_session_cookies(request: Request, answer: Response) -> None:
    """Have the browser forget its session."""
    for name in SESSION_COOKIES:
        if cookie_of(request, name) is not None:
            set_cookie(request, answer, (name, ""), seconds=0)


def set_cookie(
    request: Request,
    answer: Response,
    named: tuple[str, str],
    *,
    seconds: int | None = None,
    until: datetime | None = None,
    samesite: Literal["strict", "lax"] = "strict",
) -> None:
    """Set a cookie (name, secret) that no script can read and no other site can send. With `lax`
    a link from another site sends it, too."""
    name, secret = named
    answer.set_cookie(
        name,
        secret,
        max_age=seconds,
        expires=until,
        path="/",
        httponly=True,
        samesite=samesite,
        secure=is_secure(request),
    )


def is_secure(request: Request) -> bool:
    """Report whether the browser came over TLS: to this server, or to the proxy in front of it."""
    public = request.app.state.public_url or ""
    return public.startswith("https://") or request.url.scheme == "https"
