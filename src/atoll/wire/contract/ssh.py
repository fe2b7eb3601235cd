"""Messages by which the SSH gateway and the control plane of its home talk.

Each is one `POST` of JSON to `/internal/ssh/…` with the gateway's own token as a bearer token. The
gateway names a caller by what the client presented, and every call is judged anew.
"""

from typing import Final, Literal

import msgspec

from atoll.wire.words.terminals import Role

PREFIX: Final = "/internal/ssh"
TOKEN_FILE: Final = "ssh.token"  # noqa: S105 - a file's name

Right = Literal["attach", "open", "exec", "read", "write", "forward"]
"""Right of a login: to watch or drive terminals, open them, run programs, read and write files, and
connect to ports and sockets inside."""

ReportKind = Literal["ssh.opened", "ssh.closed", "ssh.forwarded"]
"""Kind of a report: a client logged in, left, or connected to something inside."""


class Identity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The keys that the gateway shows, in OpenSSH's form: its private host key, the host
    certificate, and the address at which it listens, empty for none."""

    host_key: str
    host_certificate: str = ""
    address: str = ""


class LoginClaim(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Claim of a client: the name it asks for (a sandbox's name or id), its public key or
    certificate in base64, and the address it came from."""

    sandbox: str
    credential: str
    peer: str = ""


class LoginGrant(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A client that may log in: who it is, to which sandbox, by which key (its fingerprint), and
    what it may do there. `terminal` is the only one that a guest may attach to. `principals` are
    those that its certificate may name."""

    principal: str
    name: str
    sandbox_id: str
    sandbox: str
    fingerprint: str
    role: Role
    rights: tuple[Right, ...]
    terminal: str = ""


class Way(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The way to a sandbox that runs: its runtime's address and token, the query that names the
    caller at a terminal, how execs name it, and the folders that SFTP serves
    beside the workspace."""

    address: str
    token: str | None = None
    generation: int = 0
    query: tuple[tuple[str, str], ...] = ()
    actor: str = ""
    folders: tuple[str, ...] = ()


class TerminalOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A terminal to open: a shell, or a command line."""

    presented: LoginClaim
    cols: int
    rows: int
    command: str = ""
    env: dict[str, str] = {}


class OpenedTerminal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The id of a terminal."""

    terminal_id: str


class Standing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Logins whose connections are open."""

    logins: tuple[LoginClaim, ...]


class StandingAnswer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Grant of each login by now; None for one that may not stay."""

    logins: tuple[LoginGrant | None, ...]


class Report(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that happened at the gateway: `at` in seconds since 1970. `presented` says who, or
    who was refused."""

    at: float
    kind: ReportKind
    sandbox_id: str = ""
    principal: str = ""
    org: str = ""
    fields: dict[str, str | int] = {}


class Reports(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Reports, oldest first."""

    reports: tuple[Report, ...]
