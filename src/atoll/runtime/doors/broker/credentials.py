"""What the broker holds for its sandbox: keys, secrets, approvals, remotes, ready to be asked.

Made anew from every policy, over the floor of the installation's own keys. Checking and using
an approval happen in one breath, on one of these (threats, attempt 94).
"""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import unquote

from atoll.domain.broker.passage import Secret
from atoll.domain.broker.provider import PROVIDERS, Upstream, safe_base_url
from atoll.domain.network.host import Target
from atoll.domain.repository.git_remote import Remote, read_remote
from atoll.wire.contract.policy import Approved, CustomSecret, Policy

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}")
"""RFC 9110 §5.6.2."""

log = logging.getLogger("atoll.runtime")


@dataclass(frozen=True, slots=True)
class Grant:
    """What a request leans on while it lasts: `name` of a provider, id of a secret, address of
    a remote. With an approval, until that ends; one good once is used up, and holds as long as
    its secret does."""

    kind: Literal["provider", "custom", "git"]
    name: str
    version: int = 0
    approval_id: str = ""
    once: bool = False
    until: float | None = None


@dataclass(frozen=True, slots=True)
class Holdings:
    """One policy's, by the names they are asked for. `no_fetch` are providers that may be asked to
    fetch and call nothing."""

    upstreams: Mapping[str, Upstream] = field(default_factory=dict)
    customs: Mapping[str, CustomSecret] = field(default_factory=dict)
    approvals: tuple[Approved, ...] = ()
    remotes: tuple[Remote, ...] = ()
    dev: bool = False
    no_fetch: frozenset[str] = frozenset()

    def approval(
        self, secret: CustomSecret, target: Target, *, used: set[str], now: float
    ) -> Approved | None:
        """The approval that lets this version of the secret go there, at Unix second `now`;
        lasting ones before those that are good once."""
        fitting = [
            one
            for one in self.approvals
            if (one.secret_id, one.version) == (secret.secret_id, secret.version)
            and (one.host, one.port) == (target.host, target.port)
            and (one.until is None or now < one.until)
            and not (one.once and one.approval_id in used)
        ]
        return min(fitting, key=lambda one: one.once, default=None)

    def still(self, grant: Grant, now: float) -> bool:
        """Whether what a request leans on is still there."""
        match grant.kind:
            case "provider":
                return grant.name in self.upstreams
            case "git":
                return any(_address(one) == grant.name for one in self.remotes)
            case "custom":
                return self._still_custom(grant, now)

    def _still_custom(self, grant: Grant, now: float) -> bool:
        held = any(
            (one.secret_id, one.version) == (grant.name, grant.version)
            for one in self.customs.values()
        )
        if grant.once:
            return held
        return held and any(
            one.approval_id == grant.approval_id and (one.until is None or now < one.until)
            for one in self.approvals
        )


def holdings_of(
    floor: Mapping[str, Upstream], policy: Policy, places: Mapping[str, str]
) -> Holdings:
    """What `policy` gives, over the installation's own keys; `places` are base URLs by provider
    where neither the key's record nor the vendor's own counts. A part that cannot be used is left
    out and logged by name: nothing passes by it."""
    upstreams = dict(floor)
    for one in policy.providers:
        provider = PROVIDERS.get(one.provider)
        usual = provider.upstream if provider else ""
        base_url = one.base_url or places.get(one.provider, usual)
        if provider is None or not safe_base_url(base_url) or not _sendable(one.value):
            log.error("the key of provider %r (%s) cannot be used", one.provider, one.secret_id)
            upstreams.pop(one.provider, None)
            continue
        upstreams[one.provider] = Upstream(provider, base_url, one.value)
    customs = {one.name: one for one in policy.customs if _fits(one)}
    return Holdings(
        upstreams,
        customs,
        policy.approvals,
        _remotes(policy),
        policy.dev,
        frozenset(policy.limits.no_fetch),
    )


def secret_of(custom: CustomSecret) -> Secret:
    """The rules' view of a custom secret."""
    return Secret(custom.name, custom.value, custom.slot, custom.slot_name, custom.headers)


def grant_of_remote(remote: Remote) -> Grant:
    """What a git request leans on."""
    return Grant("git", _address(remote))


def read_target_query(query: str) -> str | None:
    """The `target` of `/broker/custom/{name}?target=…`: the whole rest of the query, as it is
    when it begins like a URL, percent-decoded once when not. None without one."""
    if not query.startswith("target="):
        return None
    text = query.removeprefix("target=")
    return text if "://" in text.partition("?")[0] else unquote(text)


def _address(remote: Remote) -> str:
    return f"{remote.target.scheme}://{remote.target.authority}{remote.target.path}"


def _remotes(policy: Policy) -> tuple[Remote, ...]:
    found = []
    for one in policy.remotes:
        try:
            found.append(read_remote(one.url, one.value, one.push, dev=policy.dev))
        except ValueError as error:
            log.error("the remote of secret %s cannot be used: %s", one.secret_id, error)
    return tuple(found)


def _fits(custom: CustomSecret) -> bool:
    """Whether a secret can stand in its slot."""
    named = _TOKEN.fullmatch(custom.slot_name) is not None
    fits = {"bearer": True, "header": named, "query": named, "basic": ":" not in custom.slot_name}
    if _sendable(custom.value) and fits[custom.slot]:
        return True
    log.error("the secret %s (%s) cannot be sent as %s", custom.name, custom.secret_id, custom.slot)
    return False


def _sendable(value: str) -> bool:
    """Whether a value can stand in a header."""
    return bool(value) and value.isascii() and value.isprintable()
