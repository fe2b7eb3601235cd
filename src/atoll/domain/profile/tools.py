"""The `mcp:` section of a profile document, read strictly and written back."""

import re
from dataclasses import asdict

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.profile.yaml_fields import Fields, choice, matching, read_text, read_whole_number
from atoll.domain.profile.yaml_tree import Node
from atoll.domain.tools.rule import ChildQuota, ProfileTools, ToolTransport
from atoll.domain.tools.uri import path_of
from atoll.wire.words.agents import ToolRule

MAX_RULES = 200
MAX_LIVE = 20
MAX_PER_HOUR = 100
MAX_DEPTH = 3
"""The bounds of what a profile may let agents inside make."""

_SCHEME = "profile"
"""A stand-in: paths in a profile have no scheme, which is a setting of the installation."""

_TOOL = re.compile(r"[a-z][a-zA-Z0-9-]{0,50}(?:\.[a-zA-Z0-9-]{1,50}){1,10}")
_NAMESPACE = re.compile(r"[a-z][a-zA-Z0-9-]{0,50}(?:\.[a-zA-Z0-9-]{1,50}){0,10}")

_namespace = matching(_NAMESPACE, "a namespace of tools such as `events`")


def read_tools(part: Fields | None) -> ProfileTools:
    """Read the section; without one every tool that is configured is there. Raises `Invalid` with
    line and field."""
    if part is None:
        return ProfileTools()
    tools = ProfileTools(
        enabled=part.switch("enabled", True),
        namespaces=part.listed("namespaces", _namespace),
        rules=_rules(part.take("tools")),
        watch=part.items("watch", _read_watch_path),
        children=_children(part.part("children")),
        transport=part.choice("transport", ToolTransport.HTTP),
    )
    part.done()
    return tools


def tools_document(tools: ProfileTools) -> dict[str, Json]:
    """Return the section as it would be written."""
    return {
        "enabled": tools.enabled,
        "namespaces": None if tools.namespaces is None else [*tools.namespaces],
        "tools": {name: rule.value for name, rule in tools.rules.items()},
        "watch": [*tools.watch],
        "children": None if tools.children is None else dict(asdict(tools.children)),
        "transport": tools.transport.value,
    }


def _rules(node: Node | None) -> dict[str, ToolRule]:
    if node is None:
        return {}
    if not isinstance(node.value, dict) or len(node.value) > MAX_RULES:
        raise node.wrong(f"must be a mapping of at most {MAX_RULES} tools to allow, ask or deny")
    for name, rule in node.value.items():
        if not _TOOL.fullmatch(name):
            raise rule.wrong(f"must be a tool such as `events.recent`, not {name[:60]!r}")
    return {name: choice(rule, ToolRule) for name, rule in sorted(node.value.items())}


def _children(part: Fields | None) -> ChildQuota | None:
    if part is None:
        return None
    live = read_whole_number(part.need("live"), least=1, most=MAX_LIVE)
    per_hour = part.whole("per_hour", least=1, most=MAX_PER_HOUR)
    depth = part.whole("depth", least=1, most=MAX_DEPTH)
    part.done()
    return ChildQuota(live, per_hour or live, depth or 1)


def _read_watch_path(node: Node) -> str:
    value = read_text(node)
    try:
        return path_of(f"{_SCHEME}://{value}", _SCHEME)
    except Invalid as error:
        raise node.wrong("must be a path such as `gha/run/*`, without a scheme") from error
