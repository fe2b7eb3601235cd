"""Request ids end to end: every answer and problem document, the runtime, and the log."""

import aiohttp
import pytest
import structlog

from atoll.ports import Handle, Provision
from atoll.surfaces.http.server.correlation import ANSWER_SECONDS, OPEN, REQUESTS
from atoll.wire.contract.correlation import REQUEST_ID
from tests.surfaces.http.world import OneRuntime, World, client_of

ID = "X-Request-ID"


def is_made(text: str) -> bool:
    return len(text) == 32 and text.isalnum()


async def test_well_formed_request_id_returns_and_another_is_replaced(atoll: World) -> None:
    async with client_of(atoll.url) as client:
        del client.headers[ID]
        kept = await client.get("/healthz", headers={ID: "mine-1:a.b_c"})
        assert kept.headers[ID] == "mine-1:a.b_c"
        for wrong in ("a b", "x" * 129, "<script>", "é"):
            answer = await client.get("/healthz", headers={ID.encode(): wrong.encode()})
            assert is_made(answer.headers[ID])
        twice = await client.get("/healthz", headers=[(ID, "a"), (ID, "b")])
        none, other = await client.get("/healthz"), await client.get("/healthz")
    assert is_made(twice.headers[ID]) and is_made(none.headers[ID])
    assert none.headers[ID] != other.headers[ID]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/nothing", 404),
        ("PUT", "/v1/sandboxes", 405),
        ("POST", "/v1/sandboxes", 422),
        ("GET", "/v1/sandboxes/none", 404),
    ],
)
async def test_problem_documents_name_the_request(
    atoll: World, method: str, path: str, status: int
) -> None:
    async with client_of(atoll.url, atoll.token) as client:
        answer = await client.request(method, path, headers={ID: "mine"})
        refused = await client.request(method, path, headers={"Host": "evil.example", ID: "mine"})
    assert (answer.status_code, answer.json()["request_id"]) == (status, "mine")
    assert (refused.status_code, refused.json()["request_id"]) == (421, "mine")
    assert answer.headers[ID] == refused.headers[ID] == "mine"
    async with client_of(atoll.url) as client:
        stranger = await client.request(method, path, headers={ID: "mine"})
    assert (stranger.status_code, stranger.json()["request_id"]) == (401, "mine")


async def test_websocket_handshake_names_the_request_also_when_refused(atoll: World) -> None:
    headers = {"Authorization": f"Bearer {atoll.token}", ID: "mine"}
    place = f"{atoll.url}/v1/sandboxes/none/terminals/t_1/attach"
    async with aiohttp.ClientSession() as client:
        async with client.ws_connect(place, headers=headers) as socket:
            assert socket.get_extra_info("peername") is not None
            assert socket._response.headers[ID] == "mine"
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await client.ws_connect(place, headers={ID: "mine"})
    assert refused.value.headers is not None and refused.value.headers[ID] == "mine"


async def test_runtime_receives_the_request_id(
    atoll: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    provisioned_by: list[object] = []
    plain = OneRuntime.provision

    async def provision(self: OneRuntime, request: Provision) -> Handle:
        provisioned_by.append(structlog.contextvars.get_contextvars().get(REQUEST_ID))
        return await plain(self, request)

    monkeypatch.setattr(OneRuntime, "provision", provision)
    async with client_of(atoll.url, atoll.token) as client:
        made = await client.post(
            "/v1/sandboxes?wait=ready", json={"profile": "shell"}, headers={ID: "mine-create"}
        )
        path = f"/v1/sandboxes/{made.json()['sandbox_id']}/exec"
        await client.post(path, json={"argv": ["true"]}, headers={ID: "mine-exec"})
    assert provisioned_by == ["mine-create"]
    (head,) = [one for one in atoll.runtime.heads if one.get(ID) == "mine-exec"]
    assert "traceparent" not in head


async def test_log_lines_of_a_request_have_its_id_and_caller(
    atoll: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, object] = {}

    async def look(*_: object, **__: object) -> None:
        seen.update(structlog.contextvars.get_contextvars())
        raise RuntimeError("a defect")

    monkeypatch.setattr(type(atoll.services.sandboxes), "get", look)
    async with client_of(atoll.url, atoll.token) as client:
        await client.get("/v1/sandboxes/a", headers={ID: "mine"})
    assert seen == {REQUEST_ID: "mine", "org": "personal", "principal": "adm"}
    assert structlog.contextvars.get_contextvars() == {}


def test_metrics_of_requests_have_bounded_labels() -> None:
    assert REQUESTS.labels == ("method", "route", "status")
    assert ANSWER_SECONDS.labels == ("method", "route") and OPEN.labels == ("kind",)
