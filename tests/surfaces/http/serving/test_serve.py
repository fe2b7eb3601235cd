"""Operations are served by functions of their own signature, and mypy refuses another.

The marks `type: ignore` are the test of that: mypy reports one that is not needed.
"""

from types import SimpleNamespace

import pytest
from starlette.requests import Request
from starlette.routing import Match

from atoll.domain.errors import Forbidden, Invalid, LimitReached
from atoll.domain.people.principal import Principal
from atoll.surfaces.http.serving.reading import RequestReader
from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.surfaces.http.webhooks import operations as webhooks
from atoll.wire.api.hooks import HookView
from atoll.wire.api.webhooks import MadeWebhookView, WebhookBody, WebhookList, Webhooks, WebhookView
from atoll.wire.words.webhooks import DeliveryState


def test_functions_that_differ_from_their_declaration_are_refused_by_mypy() -> None:
    operations = Operations()

    @operations.serves(Webhooks.get)  # type: ignore[arg-type]
    async def with_another_answer(context: RequestContext, webhook: str) -> HookView:
        raise NotImplementedError

    @operations.serves(Webhooks.get)  # type: ignore[arg-type]
    async def with_another_name(context: RequestContext, hook: str) -> WebhookView:
        raise NotImplementedError

    @operations.serves(Webhooks.create)  # type: ignore[arg-type]
    async def without_the_body(context: RequestContext) -> WebhookView:
        raise NotImplementedError

    @operations.serves(Webhooks.list)  # type: ignore[arg-type]
    async def with_more(context: RequestContext, body: WebhookBody) -> WebhookList:
        raise NotImplementedError

    @operations.serves(Webhooks.deliveries)  # type: ignore[arg-type]
    async def without_a_query(
        context: RequestContext, webhook: str, *, state: DeliveryState | None = None
    ) -> WebhookList:
        raise NotImplementedError

    assert len(operations.routes) == 5


def test_route_answers_to_its_method_alone() -> None:
    route = next(one for one in webhooks.routes if one.operation is Webhooks.list)
    assert route.methods == {"GET"}


def test_route_is_named_for_logs_and_metrics() -> None:
    route = next(one for one in webhooks.routes if one.operation is Webhooks.get)
    scope = {"type": "http", "method": "GET", "path": "/v1/webhooks/whk_1", "headers": []}
    match, found = route.matches(scope)
    assert match is Match.FULL
    assert found["route"].path_format == "/v1/webhooks/{webhook}"


@pytest.mark.parametrize("route", webhooks.routes, ids=lambda route: route.name)
def test_endpoint_is_that_of_its_module(route: object) -> None:
    endpoint = getattr(route, "endpoint", None)
    assert endpoint.__module__ == "atoll.surfaces.http.webhooks"


def test_operations_below_another_prefix_are_the_same_and_not_shown() -> None:
    moved = webhooks.below("/v1/webhooks", "/internal/hooks")
    paths = [
        one.operation.path.replace("/v1/webhooks", "/internal/hooks") for one in webhooks.routes
    ]
    assert [one.path for one in moved.routes] == paths
    assert [one.methods for one in moved.routes] == [one.methods for one in webhooks.routes]
    assert not any(one.include_in_schema for one in moved.routes)


def refuse(_caller: Principal) -> None:
    raise Forbidden("nobody makes webhooks")


async def test_caller_is_judged_before_the_body_is_read() -> None:
    operations = Operations()

    @operations.serves(Webhooks.create, first=refuse)
    async def create(context: RequestContext, body: WebhookBody) -> MadeWebhookView:
        raise NotImplementedError

    (route,) = operations.routes
    with pytest.raises(Forbidden):
        await route.endpoint(request_of(b"not JSON"))


@pytest.mark.parametrize(
    ("bounds", "words"),
    [({"max_bytes": 10}, "larger than 10 bytes"), ({"max_values": 2}, "too large")],
)
async def test_body_has_the_bounds_of_its_operation(bounds: dict[str, int], words: str) -> None:
    reader = RequestReader(Webhooks.create.parameters(), **bounds)
    with pytest.raises((Invalid, LimitReached), match=words):
        await reader.read(request_of(b'{"url": "https://a", "streams": ["a"]}'))


def request_of(body: bytes) -> Request:
    """Return a POST with this body."""

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": body, "more_body": False}

    app = SimpleNamespace(state=SimpleNamespace(services=None))
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [], "app": app}
    return Request({**scope, "query_string": b"", "path_params": {}}, receive)
