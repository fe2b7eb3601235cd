"""Bodies of routes: policies, and the parts of a request for a sandbox that decide its place."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictInt

from atoll.domain.files.host_mount import HostMount
from atoll.domain.host.host import HourlyCost
from atoll.domain.profile.yaml_tree import MAX_BYTES
from atoll.domain.route.policy import (
    Constraints,
    RouteOptions,
)
from atoll.surfaces.http.body.fields import Address, Body, ResponseModel, Word
from atoll.wire.words.hosts import MAX_MICROS
from atoll.wire.words.routes import MAX_NAMED, MAX_READY_MS, ExecutionMode, Strategy
from atoll.wire.words.walls import IsolationLevel

ComposeFile = Annotated[str, Field(min_length=1, max_length=MAX_BYTES, strict=True)]
Names = Annotated[tuple[Word, ...], Field(max_length=MAX_NAMED)]


class CostBody(Body):
    """A price of an hour, in millionths of a currency (ISO 4217)."""

    micros: Annotated[StrictInt, Field(ge=0, le=MAX_MICROS)]
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$", strict=True)] = "USD"


class HostCostView(ResponseModel):
    """A price of an hour, in millionths of a currency."""

    micros: int
    currency: str


class ConstraintsBody(Body):
    """Limits that a backend must keep; what is left out or null is no limit. What is unknown of a
    backend keeps no limit. `min_success` is a share from 0 to 1."""

    max_cost_per_hour: CostBody | None = None
    require_isolation: IsolationLevel | None = None
    region: Word | None = None
    gpu: Word | None = None
    max_ready_ms: Annotated[StrictInt, Field(ge=1, le=MAX_READY_MS)] | None = None
    min_success: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)] | None = None
    execution_mode: ExecutionMode | None = None

    def limits(self) -> Constraints:
        """Return the domain's value."""
        cost = self.max_cost_per_hour
        return Constraints(
            max_cost_per_hour=None if cost is None else HourlyCost(cost.micros, cost.currency),
            require_isolation=self.require_isolation,
            region=self.region,
            gpu=self.gpu,
            max_ready_ms=self.max_ready_ms,
            min_success=self.min_success,
            execution_mode=self.execution_mode,
        )


class RouteOptionsBody(ConstraintsBody):
    """The narrower choice of one request: never more than its profile's route allows. A named
    `extension` is the only one that is tried. `accept_open_network` agrees to one that cannot close
    its network."""

    strategy: Strategy | None = None
    extension: Word | None = None
    accept_open_network: StrictBool = False

    def to_domain(self) -> RouteOptions:
        """Return the domain's value."""
        return RouteOptions(self.strategy, self.extension, self.limits(), self.accept_open_network)


class MountBody(Body):
    """A directory of the host.

    `grant` is the consent of the person at this machine, made by the command line. A directory that
    holds keys or logins is `private_folder` unless `private` agrees to it.
    """

    source: Address
    target: Address
    access: Literal["ro", "rw"] = "ro"
    grant: Word | None = None
    private: bool = False

    def to_domain(self) -> HostMount:
        """Return the domain's value."""
        writable = self.access == "rw"
        return HostMount(self.source, self.target, writable, self.grant or "", self.private)


class InputsBody(Body):
    """The references of the consumer: `repo_ref` is the repository where `repos` names none,
    `compose_bundle` a compose file itself, where `compose_bundle_ref` names none."""

    repo_ref: Address | None = None
    compose_bundle_ref: Address | None = None
    compose_bundle: ComposeFile | None = None
