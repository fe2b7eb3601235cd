"""The credentials of one sandbox's broker: provider keys, secrets, approvals and git remotes.

Built anew from every policy, on top of the installation's own keys. An approval is checked and
used on the same object without an await in between (threats, attempt 94).
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from atoll.domain.broker.control_plane import CONTROL_PLANE, TOOLS
from atoll.domain.broker.passage import BrokerSecret
from atoll.domain.broker.provider import (
    LOGIN_PROVIDERS,
    PROVIDERS,
    Upstream,
    safe_base_url,
)
from atoll.domain.network.address import PrivateReach
from atoll.domain.network.host import Target
from atoll.domain.repository.git_remote import BrokerRemote, read_remote
from atoll.wire.contract.policy import Approved, CustomSecret, LoginToken, Policy

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}")
"""RFC 9110 §5.6.2."""

_SAME_VENDOR = (("openai", "chatgpt"), ("anthropic", "claude"))
"""The providers that are one vendor by key and by login."""

log = logging.getLogger("atoll.runtime")


@dataclass(frozen=True, slots=True)
class CredentialRef:
    """A reference to the credential that a request uses: `name` is a provider's name, a secret's id
    or a remote's address. A request with an approval may last until the approval ends. With a
    one-time approval (`once`) it may last as long as its secret. A request with a login
    (`login_id`) may last as long as that is lent, whatever the version of its token, which ends at
    `ends_at`."""

    kind: Literal["provider", "login", "custom", "git", "api", "tools"]
    name: str
    version: int = 0
    login_id: str = ""
    approval_id: str = ""
    once: bool = False
    until: float | None = None
    ends_at: float | None = None


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials of one policy by name. `no_fetch` are providers that may not be made to fetch
    or call anything; `api` is the control plane, for what runs inside, and `tools` its tools, whose
    token ends at `tools_end`. `logins` are the tokens of the upstreams that are called with a
    person's login."""

    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    customs: Mapping[str, CustomSecret] = field(default_factory=dict)
    approvals: tuple[Approved, ...] = ()
    remotes: tuple[BrokerRemote, ...] = ()
    dev: bool = False
    no_fetch: frozenset[str] = frozenset()
    api: Upstream | None = None
    logins: Mapping[str, LoginToken] = field(default_factory=dict)
    tools: Upstream | None = None
    tools_end: float = 0.0

    def refer(self, provider: str) -> CredentialRef:
        """Return the reference to the credential of a provider."""
        login = self.logins.get(provider)
        if login is None:
            return CredentialRef("provider", provider)
        return CredentialRef(
            "login", provider, login.version, login.login_id, ends_at=login.ends_at
        )

    def find_approval(
        self, secret: CustomSecret, target: Target, *, used: set[str], now: float
    ) -> Approved | None:
        """Return the approval of this secret version for `target` at Unix second `now`. Lasting
        approvals take precedence over one-time ones."""
        fitting = [
            approval
            for approval in self.approvals
            if (approval.secret_id, approval.version) == (secret.secret_id, secret.version)
            and (approval.host, approval.port) == (target.host, target.port)
            and (approval.until is None or now < approval.until)
            and not (approval.once and approval.approval_id in used)
        ]
        return min(fitting, key=lambda approval: approval.once, default=None)

    def covers(self, credential: CredentialRef, now: float) -> bool:
        """Return whether the credential that a request uses is still granted."""
        match credential.kind:
            case "provider":
                return credential.name in self.upstreams
            case "login":
                login = self.logins.get(credential.name)
                return login is not None and login.login_id == credential.login_id
            case "api":
                return self.api is not None
            case "tools":
                return self.tools is not None
            case "git":
                return any(_address(remote) == credential.name for remote in self.remotes)
            case "custom":
                return self._covers_custom(credential, now)

    def _covers_custom(self, credential: CredentialRef, now: float) -> bool:
        held = any(
            (custom.secret_id, custom.version) == (credential.name, credential.version)
            for custom in self.customs.values()
        )
        if credential.once:
            return held
        return held and any(
            approval.approval_id == credential.approval_id
            and (approval.until is None or now < approval.until)
            for approval in self.approvals
        )


def read_credentials(
    floor: Mapping[str, Upstream], policy: Policy, places: Mapping[str, str]
) -> Credentials:
    """Return the credentials of `policy` on top of the installation's own keys (`floor`). `places`
    are base URLs by provider, used in place of the vendor's own. An unusable credential is left
    out and logged by name, so that no request can use it."""
    upstreams = dict(floor)
    for entry in policy.providers:
        provider = PROVIDERS.get(entry.provider)
        usual = provider.upstream if provider else ""
        base_url = entry.base_url or places.get(entry.provider, usual)
        if provider is None or not safe_base_url(base_url) or not _is_sendable(entry.value):
            log.error("the key of provider %r (%s) cannot be used", entry.provider, entry.secret_id)
            upstreams.pop(entry.provider, None)
            continue
        reach = (
            None if entry.reach is None else PrivateReach(entry.reach.loopback, entry.reach.ranges)
        )
        upstreams[entry.provider] = Upstream(provider, base_url, entry.value, reach=reach)
    logins = _read_logins(policy)
    for name, token in logins.items():
        provider = LOGIN_PROVIDERS[name]
        base_url = places.get(name, provider.upstream)
        upstreams[name] = Upstream(provider, base_url, token.value, token.account)
    customs = {custom.name: custom for custom in policy.customs if _is_usable(custom)}
    return Credentials(
        upstreams,
        customs,
        policy.approvals,
        _read_remotes(policy),
        policy.dev,
        _read_no_fetch(policy),
        _read_api(policy),
        logins,
        _read_tools(policy),
        policy.tools.ends_at if policy.tools is not None else 0.0,
    )


def make_secret(custom: CustomSecret) -> BrokerSecret:
    """Return a custom secret as the domain's rules take it."""
    return BrokerSecret(custom.name, custom.value, custom.slot, custom.slot_name, custom.headers)


def make_remote_ref(remote: BrokerRemote) -> CredentialRef:
    """Return the reference to a git remote's credential."""
    return CredentialRef("git", _address(remote))


def read_target_query(query: str) -> str | None:
    """Return the `target` of `/broker/custom/{name}?target=…`: the whole rest of the query,
    percent-decoded once unless it begins like a URL. None without a target."""
    if not query.startswith("target="):
        return None
    text = query.removeprefix("target=")
    return text if "://" in text.partition("?")[0] else unquote(text)


def _address(remote: BrokerRemote) -> str:
    return f"{remote.target.scheme}://{remote.target.authority}{remote.target.path}"


def _read_remotes(policy: Policy) -> tuple[BrokerRemote, ...]:
    remotes = []
    for entry in policy.remotes:
        try:
            remotes.append(read_remote(entry.url, entry.value, entry.push, dev=policy.dev))
        except ValueError as error:
            log.error("the remote of secret %s cannot be used: %s", entry.secret_id, error)
    return tuple(remotes)


def _read_logins(policy: Policy) -> dict[str, LoginToken]:
    logins = {}
    for login in policy.logins:
        shown = _is_sendable(login.value) and (not login.account or _is_sendable(login.account))
        if login.provider in LOGIN_PROVIDERS and shown:
            logins[login.provider] = login
        else:
            log.error("the login %s at %r cannot be used", login.login_id, login.provider)
    return logins


def _read_no_fetch(policy: Policy) -> frozenset[str]:
    """Return the providers that may fetch nothing: what holds for a vendor by key holds by login,
    too."""
    names = frozenset(policy.limits.no_fetch)
    return names | {login for key, login in _SAME_VENDOR if key in names}


def _read_api(policy: Policy) -> Upstream | None:
    api = policy.api
    if api is None:
        return None
    if not safe_base_url(api.base_url) or not _is_sendable(api.token):
        log.error("the access to the control plane cannot be used")
        return None
    return Upstream(CONTROL_PLANE, api.base_url, api.token)


def _read_tools(policy: Policy) -> Upstream | None:
    tools = policy.tools
    if tools is None:
        return None
    if not safe_base_url(tools.base_url) or not _is_sendable(tools.token):
        log.error("the access to the tools of the control plane cannot be used")
        return None
    return Upstream(TOOLS, tools.base_url, tools.token)


def _is_usable(custom: CustomSecret) -> bool:
    """Return whether a secret can be sent in its slot."""
    named = _TOKEN.fullmatch(custom.slot_name) is not None
    fits = {"bearer": True, "header": named, "query": named, "basic": ":" not in custom.slot_name}
    if _is_sendable(custom.value) and fits[custom.slot]:
        return True
    log.error("the secret %s (%s) cannot be sent as %s", custom.name, custom.secret_id, custom.slot)
    return False


def _is_sendable(value: str) -> bool:
    """Return whether a value can be sent in a header."""
    return bool(value) and value.isascii() and value.isprintable()
