"""A secret: its name, its purpose and its scope, never its value.

The value passes through here once, on its way in (`domain.secrets.value`). A `Secret` holds only
its last four characters and a keyed fingerprint made by the vault.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

from atoll.domain.broker.provider import PROVIDERS, safe_base_url
from atoll.domain.broker.request_headers import MAX_DECLARED, may_be_declared
from atoll.domain.errors import Invalid
from atoll.domain.ids import PERSONAL_ORG, OrgId, PrincipalId, SecretId
from atoll.domain.network.host import as_read, canonical_host
from atoll.domain.repository.forge import is_site
from atoll.wire.words.forges import ForgeKind
from atoll.wire.words.secrets import ORGANIZATION_SCOPE, PERSON_SCOPE, Purpose, Slot

MAX_SECRETS = 200
MAX_TOTAL_BYTES = 384 * 1024
"""The bound on the values of one holder, in bytes: every runtime of that holder receives all of
them."""

MAX_HOSTS = 32
MAX_PORT = 65535

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_PARAMETER = re.compile(r"[A-Za-z0-9_.~-]{1,64}")
_USER = re.compile(r"[!-9;-~]{1,128}")
_REFERENCE = re.compile(r"sandbox:sb_[a-z0-9]{16}|profile:profile\.[a-z0-9-]{1,64}")
_BACKEND = re.compile(r"ext\.[a-z0-9][a-z0-9-]{0,62}")
_REF_PATTERN = re.compile(r"refs/[A-Za-z0-9._*/-]{1,200}")
_OURS = frozenset(
    {
        "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer",
        "expect", "keep-alive", "accept-encoding", "proxy-authorization", "proxy-connection",
    }
)  # fmt: skip
"""The headers of the connection itself: a secret in one of them would change the request's
meaning."""
_OURS_INSIDE = frozenset({"PATH", "HOME", "LD_PRELOAD", "LD_LIBRARY_PATH", "ATOLL_SANDBOX_ID"})

_NOT_SET = {
    Purpose.DRIVE: "a drive is connected, not set: `atoll drive connect`",
    Purpose.OAUTH: "a login of an agent is begun, not set",
}


_TAKEN = {
    Purpose.PROVIDER: frozenset({"base_url"}),
    Purpose.CUSTOM: frozenset({"slot", "slot_name", "hosts", "headers"}),
    Purpose.GIT: frozenset({"push"}),
    Purpose.FORGE: frozenset({"forge"}),
}
"""The fields of a use that only some kinds act on."""


@dataclass(frozen=True, slots=True)
class Place:
    """A host and port that the secret's owner named when setting it; canonical."""

    host: str
    port: int = 443


@dataclass(frozen=True, slots=True)
class Use:
    """The use of a secret; which fields apply depends on the purpose.

    provider: `target` is the provider's name, `base_url` a gateway of one's own. custom: `slot` and
    `slot_name` tell where it goes in a request, `places` where it may go without approval,
    `headers` which further headers of a request pass with it. git: `target` is the remote's https
    URL, `push` the ref patterns that may be pushed. forge: `target` is the https address of a site
    that hosts repositories, `forge` the program it runs; no door of a sandbox takes it. drive:
    `target` is a person's account at a drive. extension: `target` is the backend whose vendor's
    machines it pays for (`ext.e2b`). oauth: `target` is the agent that is logged in. None of the
    three reaches a sandbox at all. `variable` is an environment variable inside: a placeholder
    while `brokered`, the value itself when not.
    """

    purpose: Purpose
    target: str = ""
    base_url: str | None = None
    slot: Slot = "bearer"
    slot_name: str = ""
    places: tuple[Place, ...] = ()
    headers: tuple[str, ...] = ()
    push: tuple[str, ...] = ()
    variable: str | None = None
    brokered: bool = True
    forge: ForgeKind | None = None


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret without its value, as shown to everybody who may see it.

    `version` grows with every change of the value or of the use; `size` is the value's, in bytes.
    """

    id: SecretId
    org_id: OrgId
    owner: PrincipalId
    name: str
    scope: str
    use: Use
    version: int
    fingerprint: str
    last4: str
    size: int
    created_at: datetime
    updated_at: datetime

    @property
    def holder(self) -> str:
        """The holder whose secrets share its namespace; empty when it is the organization's."""
        return "" if self.scope == ORGANIZATION_SCOPE else self.owner

    @property
    def exposed(self) -> bool:
        """True if its value enters sandboxes: the owner's explicit exception."""
        return not self.use.brokered


@dataclass(frozen=True, slots=True)
class ScopeSubject:
    """The sandbox whose access is checked: everything a scope can refer to."""

    org_id: OrgId
    owner: PrincipalId
    sandbox_id: str
    profile_id: str


def read_secret_name(text: str) -> str:
    """Return `text` when it can name a secret. Raises `Invalid`."""
    if not _NAME.fullmatch(text) or text.startswith("sec_"):
        raise Invalid(
            "a secret's name is up to 64 letters, digits, `_` and `-`, not beginning with a digit, "
            "nor with `sec_` as ids do",
            field="name",
        )
    return text


def read_scope(text: str) -> str:
    """Return the scope: `person`, `organization`, `sandbox:<id>` or `profile:<id>`. Raises
    `Invalid`."""
    if text in (PERSON_SCOPE, ORGANIZATION_SCOPE) or _REFERENCE.fullmatch(text):
        return text
    raise Invalid(
        "scope is `person`, `organization`, `sandbox:<sandbox id>` or `profile:profile.<name>`",
        field="scope",
    )


def read_place(text: str) -> Place:
    """Return `host` or `host:port` (443 when left out), canonical. Raises `Invalid`."""
    host, colon, port = text.rpartition(":")
    if not colon or "]" in port or (":" in host and not text.startswith("[")):
        host, port = text, "443"
    if not (port.isascii() and port.isdigit() and 1 <= int(port[:6]) <= MAX_PORT):
        raise Invalid(f"{text[:100]!r} has no port between 1 and {MAX_PORT}", field="hosts")
    try:
        return Place(canonical_host(host), int(port))
    except ValueError as error:
        sentence = f"{text[:100]!r} is no host: write a name or an address"
        raise Invalid(sentence, field="hosts") from error


def check_use(use: Use) -> Use:
    """Return `use` when it makes sense. Raises `Invalid` with the field, also for one that a secret
    of this kind does not act on."""
    _check_taken(use)
    match use.purpose:
        case Purpose.PROVIDER:
            _check_provider(use)
        case Purpose.CUSTOM:
            _check_slot(use)
        case Purpose.ENV:
            _check_env(use)
        case Purpose.GIT:
            _check_git(use)
        case Purpose.FORGE:
            _check_forge(use)
        case Purpose.EXTENSION:
            _check_extension(use)
        case Purpose.DRIVE | Purpose.OAUTH:  # pragma: no branch - the cases are all
            raise Invalid(_NOT_SET[use.purpose], field="kind")
    _check_inside(use)
    return use


def look_alikes(use: Use) -> tuple[tuple[str, str], ...]:
    """Return the hosts of a use that have letters beyond ASCII, in both spellings.

    They are given as they read, and as they are resolved (`аpi.example.com` with a Cyrillic letter,
    `xn--pi-6kc.example.com`).
    """
    urls = [url for url in (use.base_url, use.target) if url and "://" in url]
    named = [place.host for place in use.places]
    for url in urls:
        with suppress(ValueError):  # what is no host is refused by its own rule
            named.append(canonical_host(urlsplit(url).hostname or ""))
    return tuple((as_read(host), host) for host in dict.fromkeys(named) if "xn--" in host)


def check_look_alikes(use: Use) -> None:
    """Check for hosts that may look like another. Raises `Invalid` with both spellings."""
    for read, asked in look_alikes(use):
        raise Invalid(
            f"the host reads {read!r} and is {asked}: it has letters that are not ASCII, which can "
            "look like another name's. If it is the one you mean, say so (`look_alike`, --yes)",
            code="look_alike_host",
            field="hosts",
        )


def in_scope(secret: Secret, subject: ScopeSubject) -> bool:
    """Report whether `secret` applies in that sandbox."""
    if secret.org_id != subject.org_id:
        return False
    if secret.scope == ORGANIZATION_SCOPE:
        return True
    mine = (PERSON_SCOPE, f"sandbox:{subject.sandbox_id}", f"profile:{subject.profile_id}")
    return secret.owner == subject.owner and secret.scope in mine


def applicable_secrets(secrets: Iterable[Secret], subject: ScopeSubject) -> tuple[Secret, ...]:
    """Return the secrets that apply in that sandbox, one for each use.

    Of several, the one of the narrowest scope takes precedence, and of those the newest.
    """
    chosen: dict[tuple[str, str], Secret] = {}
    for secret in sorted((one for one in secrets if in_scope(one, subject)), key=_rank):
        chosen[_office(secret)] = secret
    return tuple(sorted(chosen.values(), key=lambda one: one.id))


def paying(secrets: Iterable[Secret], extension: str, subject: ScopeSubject) -> tuple[Secret, ...]:
    """Return the secrets that may pay for that sandbox's machine at an extension, the one that does
    first: of the narrowest scope, and of those the newest. The installation's own are last."""
    fit = [one for one in secrets if _pays(one, extension)]
    mine = sorted((one for one in fit if in_scope(one, subject)), key=_rank, reverse=True)
    shared = [one for one in fit if _is_installation(one) and one not in mine]
    return (*mine, *sorted(shared, key=_rank, reverse=True))


def no_key(extension: str) -> str:
    """Return the sentence for a vendor's key that is missing."""
    return (
        f"{extension} has no key: `atoll secret set NAME --extension {extension}` stores one of "
        "your own, with `--scope organization` one for everybody"
    )


def paying_any(secrets: Iterable[Secret], extension: str) -> tuple[Secret, ...]:
    """Return the secrets of an extension's vendor, whoever holds them."""
    return tuple(one for one in secrets if _pays(one, extension))


def bound_to(secret: Secret) -> tuple[str, ...]:
    """Return the data that a sealed value is bound to.

    The value does not open once it is moved to another row, or its row is widened or pointed
    elsewhere by somebody who can write the database.
    """
    use = secret.use
    places = ",".join(f"{place.host} {place.port}" for place in use.places)
    # Values sealed before there were declared headers still open.
    declared = (",".join(use.headers),) if use.headers else ()
    forge = (use.forge.value,) if use.forge else ()
    return (
        secret.org_id, secret.id, str(secret.version), secret.owner, secret.name, secret.scope,
        use.purpose, use.target, use.base_url or "", use.slot, use.slot_name, places,
        ",".join(use.push), use.variable or "", str(use.brokered), *declared, *forge,
    )  # fmt: skip


def _pays(secret: Secret, extension: str) -> bool:
    return secret.use.purpose is Purpose.EXTENSION and secret.use.target == extension


def _is_installation(secret: Secret) -> bool:
    return secret.org_id == PERSONAL_ORG and secret.scope == ORGANIZATION_SCOPE


def _rank(secret: Secret) -> tuple[int, datetime, str]:
    kind = secret.scope.partition(":")[0]
    width = (ORGANIZATION_SCOPE, PERSON_SCOPE, "profile", "sandbox").index(kind)
    return width, secret.updated_at, secret.id


def _office(secret: Secret) -> tuple[str, str]:
    use = secret.use
    match use.purpose:
        case Purpose.PROVIDER:
            return "provider", use.target
        case Purpose.CUSTOM:
            return "custom", secret.name
        case Purpose.ENV:
            return "env", use.variable or ""
        case Purpose.GIT:
            return "git", use.target
        case Purpose.FORGE:
            return "forge", use.target
        case Purpose.EXTENSION:
            return "extension", use.target
        case Purpose.DRIVE | Purpose.OAUTH:  # pragma: no branch - the cases are all
            one_each = use.purpose is Purpose.DRIVE
            return use.purpose.value, secret.owner if one_each else secret.name


def _check_taken(use: Use) -> None:
    named = {
        "forge": use.forge is not None,
        "base_url": use.base_url is not None,
        "slot": use.slot != "bearer",
        "slot_name": use.slot_name != "",
        "hosts": bool(use.places),
        "headers": bool(use.headers),
        "push": bool(use.push),
    }
    for field, given in named.items():
        if given and field not in _TAKEN.get(use.purpose, frozenset()):
            raise Invalid(f"a secret of the kind {use.purpose} takes no {field}", field=field)


def _check_provider(use: Use) -> None:
    if use.target not in PROVIDERS:
        raise Invalid(
            f"there is no provider {use.target[:40]!r}; there are {', '.join(sorted(PROVIDERS))}",
            field="provider",
        )
    if use.base_url is not None and not safe_base_url(use.base_url):
        raise Invalid("base_url must be https://…, or http:// to this machine", field="base_url")


def _check_slot(use: Use) -> None:
    if len(use.places) > MAX_HOSTS:
        raise Invalid(f"at most {MAX_HOSTS} hosts can be named", field="hosts")
    if not _good_slot(use.slot, use.slot_name):
        raise Invalid(
            "slot_name is the header's name for `header` (none of the connection's own), the "
            "parameter's for `query`, the user for `basic`, and empty for `bearer`",
            field="slot_name",
        )
    fits = all(_HEADER.fullmatch(one) and may_be_declared(one) for one in use.headers)
    if len(use.headers) > MAX_DECLARED or not fits:
        raise Invalid(
            f"headers lists at most {MAX_DECLARED} names; none with an underscore, and none that "
            "gives a request another method, path, client or range",
            field="headers",
        )


def _good_slot(slot: Slot, name: str) -> bool:
    match slot:
        case "bearer":
            return name == ""
        case "header":
            return bool(_HEADER.fullmatch(name)) and name.lower() not in _OURS
        case "query":
            return bool(_PARAMETER.fullmatch(name))
        case "basic":  # pragma: no branch - the cases are all
            return bool(_USER.fullmatch(name))


def _check_env(use: Use) -> None:
    if use.variable is None:
        raise Invalid("say which environment variable it is for", field="env")
    if use.brokered:
        raise Invalid(
            "the value of an environment variable can be read by everything in the sandbox, so "
            "it must be said: broker_protected=false (--expose). What is sent to a host by HTTP "
            "is safer as a custom secret.",
            field="broker_protected",
        )


def _check_git(use: Use) -> None:
    try:
        scheme, _, rest = use.target.partition("://")
        host, _, path = rest.partition("/")
        canonical = canonical_host(host)
    except ValueError as error:
        raise Invalid("a git secret needs its remote's https:// URL", field="remote") from error
    plain = path.isascii() and path.isprintable() and not set(path) & set("?#\\ @")
    if scheme != "https" or not path or not plain or canonical != host:
        raise Invalid(
            "a git secret needs its remote's https:// URL: host in lower case, no user, port, "
            "query or fragment",
            field="remote",
        )
    if len(use.push) > MAX_HOSTS or not all(_REF_PATTERN.fullmatch(one) for one in use.push):
        raise Invalid("push lists ref patterns such as refs/heads/atoll/*", field="push")


def _check_forge(use: Use) -> None:
    if use.forge is None:
        raise Invalid(f"say which forge it is: {', '.join(ForgeKind)}", field="forge")
    if not is_site(use.target) or (use.forge is ForgeKind.GITHUB and use.target.count("/") > 2):
        raise Invalid(
            "a forge's secret needs its https:// address, such as https://github.com: host in "
            "lower case, no user, query or fragment, no / at its end",
            field="remote",
        )
    if use.variable is not None or not use.brokered:
        raise Invalid("a forge's token never enters a sandbox", field="env")


def _check_extension(use: Use) -> None:
    if not _BACKEND.fullmatch(use.target):
        raise Invalid("say which backend it pays for, such as ext.e2b", field="extension")
    if use.variable is not None or not use.brokered:
        raise Invalid("a vendor's key never enters a sandbox", field="env")


def _check_inside(use: Use) -> None:
    if use.variable is not None:
        _check_variable(use.variable)
    if not use.brokered and use.variable is None and use.purpose is not Purpose.PROVIDER:
        raise Invalid("a value that enters sandboxes needs a variable to be in", field="env")


def _check_variable(name: str) -> None:
    if not _VARIABLE.fullmatch(name) or name in _OURS_INSIDE:
        raise Invalid("this cannot name the variable of a secret", field="env")
