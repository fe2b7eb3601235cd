"""Operations are served by functions of their own signature, and mypy refuses another.

The marks `type: ignore` are the test of that: mypy reports one that is not needed.
"""

import pytest
from starlette.routing import Match

from atoll.surfaces.http.serving.serve import Operations, RequestContext
from atoll.surfaces.http.webhooks.webhooks import operations as webhooks
from atoll.wire.api.hooks import HookView
from atoll.wire.api.webhooks import WebhookBody, WebhookList, Webhooks, WebhookView
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
    assert endpoint.__module__ == "atoll.surfaces.http.webhooks.webhooks"
