"""Settings of tools."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

_Namespace = Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9.-]{1,52}$")]


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """Settings of tools that agents call.

    `uri_scheme`: the beginning of the URIs of what agents read and watch. `outside_namespaces`: the
    namespaces of tools that may reach outside this installation.
    """

    uri_scheme: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9+.-]{0,31}$")] = "atoll"
    outside_namespaces: tuple[_Namespace, ...] = ()
