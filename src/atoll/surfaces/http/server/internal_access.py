"""The right to report what happened elsewhere: of hosts and trusted services, never from inside.

They know the token of the setting `internal_api_token`, which no sandbox and no browser receives.
Alone it stands for the person of this installation. A service of somebody else sends their token,
too, or is named by the front end: what it reports is theirs.
"""

import hmac
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from starlette.types import Scope

from atoll.domain.errors import Forbidden, Invalid, NotFound, Unauthenticated
from atoll.domain.people.capability import Capability
from atoll.domain.people.principal import LOCAL_PERSON, Principal
from atoll.wire.words.events import ActorKind

if TYPE_CHECKING:  # the settings load this module, and need no server
    from atoll.surfaces.http.server.credentials import Credential

HEADER: Final = b"x-internal-token"
SHORTEST: Final = 32
LONGEST: Final = 1024

_PATHS: Final = re.compile(r"/internal/(?:events|executions/[^/]+/artifacts)")

SERVICE: Final = replace(
    LOCAL_PERSON,
    kind=ActorKind.AUTOMATION,
    interactive=False,
    capabilities=frozenset({Capability.AGENT_READ, Capability.AGENT_USE}),
    roles=(),
)
"""The caller that brings the token and no credential."""


@dataclass(frozen=True, slots=True)
class InternalAccess:
    """The token that trusted services send."""

    token: bytes = field(repr=False)

    def check(self, scope: Scope) -> None:
        """Compare the token of a request, in constant time. Raises `Unauthenticated`."""
        sent = [value for name, value in scope["headers"] if name.lower() == HEADER]
        given = sent[0] if len(sent) == 1 else b""
        if not hmac.compare_digest(given, self.token):
            raise Unauthenticated(
                "send the internal API token as X-Internal-Token", code="internal_token"
            )


def internal_access(token: str) -> InternalAccess | None:
    """Return the access of the setting, None where it is empty. Raises `Invalid` for a token that
    can be guessed or is no header."""
    if not token:
        return None
    if not SHORTEST <= len(token) <= LONGEST or not re.fullmatch(r"[!-~]+", token):
        raise Invalid(
            f"internal_api_token has {SHORTEST} to {LONGEST} visible ASCII characters: "
            "openssl rand -hex 32",
            field="internal_api_token",
        )
    return InternalAccess(token.encode())


def is_internal(scope: Scope) -> bool:
    """Report whether a request is for trusted services alone."""
    return scope["type"] == "http" and _PATHS.fullmatch(scope["path"]) is not None


def check_service(access: InternalAccess | None, scope: Scope) -> None:
    """Check the token of a request to such a path. Raises `NotFound` where the setting is empty,
    `Unauthenticated`."""
    if access is None:
        path = scope["path"][:200]
        raise NotFound(f"there is nothing at {path}; GET /openapi.json lists every path")
    access.check(scope)


def check_outside(caller: Principal, credential: "Credential") -> None:
    """Raise `Forbidden` for a caller inside a sandbox, a guest, and a browser: no token makes a
    trusted service of them."""
    cookie = credential.session is not None or credential.guest is not None
    inside = caller.token is not None and caller.token.sandbox_id is not None
    if cookie or inside or caller.guest_access is not None or caller.kind is ActorKind.AGENT:
        raise Forbidden(
            "only hosts and trusted services report here: never a browser or a sandbox",
            code="internal_only",
        )
