"""Networks of sandboxes and their safety layers.

Made from the declarations of the API by `scripts/client`.
"""

from typing import Literal, TypedDict

from atoll.client import fields
from atoll.client.fields import Field, Shape

NetworkMode = Literal["none", "limited", "host-only", "full"]


class Withheld(Shape):
    """A value of the network that is not in force: it is beyond a bound, and `whose` that is."""

    field = fields.text()
    text = fields.text()
    whose = fields.text()


class Rule(Shape):
    """An allowed destination. `host` is canonical, or `*.name` for exactly one more label.
    `methods` and `paths` (prefixes of whole segments) bind plain HTTP; empty allows all.
    `origin` names who wrote the rule: `profile`, `preset:pypi`, `owner`."""

    host = fields.text()
    ports = fields.numbers()
    methods = fields.texts()
    paths = fields.texts()
    origin = fields.text()


class Network(Shape):
    """The destinations that a sandbox may reach. All of it is in force: what a bound of the
    installation or the organization takes away is `withheld`. `egress` is the profile's,
    `allowed` and `denied` the owner's; `rules` is their result, presets expanded. Denied hosts
    take precedence."""

    mode: Field[NetworkMode] = fields.word()
    egress = fields.texts()
    allowed = fields.texts()
    denied = fields.texts()
    host_ports = fields.numbers()
    ranges = fields.texts()
    ports = fields.numbers()
    out_mb_per_hour = fields.number()
    in_mb_per_hour = fields.number()
    rules = fields.many(Rule)
    withheld = fields.many(Withheld)


class Layer(Shape):
    """A safety layer. `bypassable`: a program inside can bypass it on purpose."""

    number = fields.number()
    name = fields.text()
    in_force = fields.flag()
    bypassable = fields.flag()
    text = fields.text()


class WallPart(Shape):
    """A part of the wall itself; `weakened`: this sandbox has it in a weaker form."""

    name = fields.text()
    in_force = fields.flag()
    weakened = fields.flag()
    text = fields.text()


class Safety(Shape):
    """The six layers, the wall in front of them (once it ran), and its missing parts."""

    layers = fields.many(Layer)
    wall = fields.many(WallPart)
    degraded = fields.texts()


class NetworkBody(TypedDict, total=False):
    """The changes; what is left out stays. `allow` and `deny` are added, `forget` removes what
    was allowed or denied before; ports and ranges are set whole."""

    mode: NetworkMode | None
    allow: list[str]
    deny: list[str]
    forget: list[str]
    host_ports: list[int] | None
    ranges: list[str] | None
