"""Egress rules as people write them: `example.com`, `*.example.com:8443`, `preset:pypi`,
`http://mirror.example/debian`, `GET,HEAD http://mirror.example/`.

Reads and spells them; `domain.network.egress` checks by them. A pattern that would cover names of
third parties (`*.com`, `*.co.uk`, `*.github.io`) is refused, by the Public Suffix List
(publicsuffix.org).
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

from atoll.domain.errors import Invalid
from atoll.domain.network.egress import EgressRule
from atoll.domain.network.host import canonical_host

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

MAX_RULES = 200
MAX_PORTS = 16

PRESETS: Mapping[str, tuple[str, ...]] = {
    "pypi": ("pypi.org", "files.pythonhosted.org"),
    "npm": ("registry.npmjs.org", "registry.yarnpkg.com"),
    "debian": (
        "deb.debian.org",
        "security.debian.org",
        "GET,HEAD http://deb.debian.org/debian",
        "GET,HEAD http://deb.debian.org/debian-security",
        "GET,HEAD http://security.debian.org/debian-security",
    ),
    "crates": ("index.crates.io", "static.crates.io", "crates.io"),
    "github": (
        "github.com",
        "api.github.com",
        "codeload.github.com",
        "raw.githubusercontent.com",
        "objects.githubusercontent.com",
        "release-assets.githubusercontent.com",
    ),
}
"""Package registries by name: the hosts of each `preset:` in a profile's `network.egress`.

A client that may fetch from a registry can often also publish there or name a package of its own: a
preset is a convenience, not a filter on what leaves.
"""

_RULE = re.compile(
    r"(?:(?P<methods>[A-Z]{1,16}(?:,[A-Z]{1,16}){0,8}) )?"
    r"(?:(?P<scheme>https?)://)?"
    r"(?P<host>(?:\*\.)?[^\s/:\[\]@?#*]{1,253})"
    r"(?::(?P<ports>\d{1,5}(?:,\d{1,5})*))?"
    r"(?P<path>/[!-~]{0,500})?"
)


def read_rules(texts: Iterable[str], *, origin: str = "profile") -> tuple[EgressRule, ...]:
    """Return the rules, with presets expanded. Raises `Invalid`, `field` `egress`, naming the first
    that is none."""
    rules: list[EgressRule] = []
    for text in texts:
        name = text.removeprefix("preset:")
        if name in PRESETS:
            origin_there = f"preset:{name}"
            rules += [read_rule(one, origin=origin_there) for one in PRESETS[name]]
        elif text.startswith("preset:"):
            known = ", ".join(PRESETS)
            raise Invalid(f"no preset is called {name[:80]!r}; there are {known}", field="egress")
        else:
            rules.append(read_rule(text, origin=origin))
    if len(rules) > MAX_RULES:
        raise Invalid(f"at most {MAX_RULES} rules fit in one policy", field="egress")
    return tuple(rules)


def read_rule(text: str, *, origin: str = "profile") -> EgressRule:
    """Return one rule. Raises `Invalid`."""
    found = _RULE.fullmatch(text)
    if found is None:
        raise _rule_error(text, "write host, host:port, *.host, http://host/path or preset:NAME")
    plain = found["scheme"] == "http"
    path = found["path"] or "/"
    if not plain and (found["methods"] or path != "/"):
        raise _rule_error(text, "methods and paths are seen in plain http:// only")
    ports = tuple(int(port) for port in (found["ports"] or ("80" if plain else "443")).split(","))
    if len(ports) > MAX_PORTS or not all(1 <= port <= 65535 for port in ports):
        raise _rule_error(text, "ports lie in 1 to 65535")
    methods = tuple(found["methods"].split(",")) if found["methods"] else ()
    paths = () if path == "/" else (path,)
    return EgressRule(read_pattern(found["host"]), ports, methods, paths, origin)


def read_pattern(text: str) -> str:
    """Return a host or `*.host` in its one spelling. Raises `Invalid`."""
    wild = text.startswith("*.")
    try:
        host = canonical_host(text.removeprefix("*."))
    except ValueError as error:
        raise _rule_error(text, "that is no host name") from error
    if ":" in host or host.rpartition(".")[2].isdigit():
        raise _rule_error(text, "rules name hosts, not addresses")
    if wild and _suffixes().is_public(host):
        raise _rule_error(text, f"anybody can have a name below {host}; name the hosts you mean")
    if "." not in host:
        raise _rule_error(text, "a host has at least one dot")
    return f"*.{host}" if wild else host


@cache
def _suffixes() -> "PublicSuffixList":
    # The list takes some 60 ms and a few MiB, so it is loaded only for a wildcard.
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(accept_unknown=True)


def _rule_error(text: str, why: str) -> Invalid:
    return Invalid(f"{text[:120]!r} is no egress rule: {why}.", field="egress")
