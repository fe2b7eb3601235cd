"""The trace that a client names in `_meta`: a call's span, event and log lines are part of it."""

from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import structlog
from mcp_types import RequestParamsMeta

from atoll.services.telemetry import OFF, Telemetry
from atoll.testing import FakeTracer
from atoll.testing.contracts.telemetry.tracer import SPAN, TRACE
from tests.surfaces.http.world import World, client_of, world
from tests.surfaces.mcp.conftest import Connect

PLACE = f"00-{TRACE}-{SPAN}-01"
WRONG = ("", "00-0-0-01", f"{PLACE}\n", f"ff{PLACE[2:]}", 7, None)


@pytest.fixture(params=[True, False], ids=["traced", "untraced"])
async def atoll(request: pytest.FixtureRequest) -> AsyncIterator[World]:
    telemetry = Telemetry(OFF.metrics, FakeTracer(), traced=True) if request.param else OFF
    async with world(telemetry=telemetry) as made:
        yield made


def _meta(place: object) -> RequestParamsMeta:
    return cast(RequestParamsMeta, {"traceparent": place})


async def _called(atoll: World) -> list[dict[str, Any]]:
    async with client_of(atoll.url, atoll.token) as http:
        found = (await http.get("/v1/events", params={"stream": "tools"})).json()["events"]
    return [one["payload"] for one in found]


async def test_call_continues_the_trace_of_its_client(
    atoll: World, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []
    plain = atoll.services.sandboxes.list

    async def listed(*given: Any, **more: Any) -> Any:
        seen.append(structlog.contextvars.get_contextvars().get("trace_id"))
        return await plain(*given, **more)

    monkeypatch.setattr(type(atoll.services.sandboxes), "list", lambda _, *a, **m: listed(*a, **m))
    async with connect() as client:
        await client.call_tool("atoll.list", {}, meta=_meta(PLACE))
    (called,) = await _called(atoll)
    assert (called["trace_id"], seen) == (TRACE, [TRACE])
    tracer = atoll.ground.telemetry.tracer
    if isinstance(tracer, FakeTracer):
        (span,) = [one for one in tracer.spans if one.name == "tool.call"]
        assert (span.trace_id, span.parent_id) == (TRACE, SPAN)
        assert span.attributes["atoll.tool"] == "atoll.list"


@pytest.mark.parametrize("atoll", [False], indirect=True)
async def test_place_that_is_not_well_formed_counts_as_absent(
    atoll: World, connect: Connect
) -> None:
    async with connect() as client:
        for place in WRONG:
            await client.call_tool("atoll.list", {}, meta=_meta(place))
    called = await _called(atoll)
    assert len(called) == len(WRONG) and not any("trace_id" in one for one in called)
