"""The server itself: its health, the tools' endpoint, and the shape of what it refuses."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta

from atoll.wire.api.operation import Area, Failures, PartialAnswer, operation


class Problem(PartialAnswer):
    """An RFC 9457 problem document."""

    schema_members: ClassVar[Mapping[str, Any]] = {"additionalProperties": True}

    type: Annotated[str, Meta(examples=["about:blank"])]
    title: Annotated[str, Meta(examples=["Not Found"])]
    status: Annotated[int, Meta(ge=400, le=599)]
    code: Annotated[str, Meta(description="A stable code to decide by.", examples=["not_found"])]
    detail: Annotated[str, Meta(description="What failed, which id, why, and what to do.")]
    field: Annotated[
        str | None,
        Meta(
            description="Which input is wrong (`invalid` only).",
            extra_json_schema={"default": None},
        ),
    ] = None
    request_id: Annotated[
        str | None,
        Meta(
            description="The request as the server's log names it: `X-Request-ID`.",
            extra_json_schema={"default": None},
        ),
    ] = None


class HealthView(PartialAnswer):
    """The health of the server. `degraded` says what does not work meanwhile, and is left out when
    everything does."""

    status: Literal["ok"]
    degraded: list[str] = []


class Health(Area):
    """Routes for monitoring: they need no credential."""

    tag = "health"
    needs = ""

    @operation("GET /healthz", name="alive", public=True, failures=Failures())
    def alive(self) -> HealthView:
        """Report that the process answers."""

    @operation(
        "GET /readyz",
        name="ready",
        public=True,
        failures=Failures({503: "Not ready, with the reason."}),
    )
    def ready(self) -> HealthView:
        """Report whether the server is ready: the store answers and known sandboxes are attached
        again. A bus that is away makes it degraded, not unready."""


class Resource(Area):
    """The metadata of the tools' endpoint."""

    tag = "server"
    needs = ""

    @operation(
        "GET /.well-known/oauth-protected-resource",
        name="protected_resource",
        public=True,
        failures=Failures(),
    )
    def describe(self) -> dict[str, Any]:
        """Return the metadata of the tools' endpoint (RFC 9728 §2)."""
