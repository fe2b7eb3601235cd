"""The `network:` and `safety:` sections of a profile document, read strictly and written back.

`domain.network.egress_rule` defines the meaning of a rule, `domain.approvals.command_rule` that of
a command rule.
"""

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.network.egress import read_ranges
from atoll.domain.network.egress_rule import read_rules
from atoll.domain.network.network import Network
from atoll.domain.profile.profile import Safety
from atoll.domain.profile.yaml_fields import Fields, read_text, read_whole_number
from atoll.domain.profile.yaml_tree import Node
from atoll.wire.words.networks import NetworkMode

MAX_WORDS = 50
MOST_MB = 1 << 30
MOST_NETLINK = 1024


def read_network(part: Fields | None) -> Network:
    """Read the network section; without one the defaults. Raises `Invalid` with line and field."""
    if part is None:
        return Network()
    default = part.take("default")
    if default is not None and default.value != "deny":
        raise default.wrong("can only be `deny`; `mode: full` is what opens the door")
    network = Network(
        egress=part.items("egress", _egress),
        mode=part.choice("mode", NetworkMode.LIMITED),
        host_ports=part.items("host_ports", _port),
        ranges=part.items("ranges", _range),
        ports=part.items("ports", _port),
        out_mb_per_hour=part.whole("out_mb_per_hour", least=1, most=MOST_MB),
        in_mb_per_hour=part.whole("in_mb_per_hour", least=1, most=MOST_MB),
        netlink=part.whole("netlink", least=0, most=MOST_NETLINK),
    )
    part.done()
    return network


def network_document(network: Network) -> dict[str, Json]:
    """Return the section as it would be written."""
    return {
        "default": network.default,
        "mode": network.mode.value,
        "egress": [*network.egress],
        "host_ports": [*network.host_ports],
        "ranges": [*network.ranges],
        "ports": [*network.ports],
        "out_mb_per_hour": network.out_mb_per_hour,
        "in_mb_per_hour": network.in_mb_per_hour,
        "netlink": network.netlink,
    }


def read_safety(part: Fields | None) -> Safety:
    """Read the safety section; without one only the permanent rules apply."""
    if part is None:
        return Safety()
    safety = Safety(
        shell=part.switch("shell", False),
        operator=part.items("operator", _command),
        sudo=part.items("sudo", _command),
        debug=part.switch("debug", False),
    )
    part.done()
    return safety


def safety_document(safety: Safety) -> dict[str, Json]:
    """Return the section as it would be written."""
    return {
        "shell": safety.shell,
        "operator": [[*rule] for rule in safety.operator],
        "sudo": [[*rule] for rule in safety.sudo],
        "debug": safety.debug,
    }


def _egress(node: Node) -> str:
    value = read_text(node)
    try:
        read_rules([value])
    except Invalid as err:
        raise node.wrong(f"is wrong: {err.message}") from err
    return value


def _port(node: Node) -> int:
    return read_whole_number(node, least=1, most=65535)


def _range(node: Node) -> str:
    value = read_text(node)
    try:
        read_ranges([value])
    except ValueError as err:
        raise node.wrong(f"must be a private range such as 10.1.0.0/16: {err}") from err
    return value


def _command(node: Node) -> tuple[str, ...]:
    if not isinstance(node.value, list) or not 1 <= len(node.value) <= MAX_WORDS:
        raise node.wrong("must be a list of words: the program and its arguments")
    words = tuple(read_text(item) for item in node.value)
    if not words[0] or any("\n" in word or len(word) > 1000 for word in words):
        raise node.wrong("must be words without line ends, the first one a program")
    return words
