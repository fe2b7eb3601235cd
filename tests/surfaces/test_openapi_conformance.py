"""The OpenAPI document is current, and the server answers as it says: every status, content
type and schema of every answer, to inputs that are right and inputs that are wrong."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox
from atoll.wiring.control.openapi import render_document
from tests.places import ROOT
from tests.surfaces.http.world import World, world

DOCUMENT = ROOT / "docs" / "openapi.json"
EXAMPLES = 4
MAX_QUERY_BYTES = 32 * 1024
"""A longer request line is refused before the app sees it, as the server says it: in plain text."""

INSIDE = ("/terminals", "/agents", "/exec", "/files", "/recordings", "/search")
HERE = {
    "sandbox": "box", "session": "box", "terminal": "t_1", "agent": "t_1", "card": "c_1",
    "command": "e_1", "recording": "r_1", "worker_id": "w", "dashboard": "dsh_0123456789abcdef",
}  # fmt: skip


@schemathesis.serializer("application/x-tar", "application/x-git-bundle")
def _raw(ctx: schemathesis.SerializationContext, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


schema = schemathesis.openapi.from_path(DOCUMENT)


@pytest.fixture(scope="module")
def atoll() -> Iterator[World]:
    """A world in a thread of its own: the tests here are synchronous."""
    ready, done = threading.Event(), threading.Event()
    made: list[World] = []

    async def live() -> None:
        async with world(max_sandboxes=100_000) as one:
            await one.services.sandboxes.create(LOCAL_PERSON, CreateSandbox(name="box"))
            await one.services.sandboxes.wait(LOCAL_PERSON, "box")
            made.append(one)
            ready.set()
            await asyncio.to_thread(done.wait)

    thread = threading.Thread(target=lambda: asyncio.run(live()))
    thread.start()
    try:
        assert ready.wait(20), "the world did not begin"
        yield made[0]
    finally:
        done.set()
        thread.join(20)


def test_document_checked_in_is_current() -> None:
    assert DOCUMENT.read_text() == render_document(), "run scripts/openapi"


# Streams that go on for ever, or that are made to be followed, are tested with a reader.
@(schema.exclude(path_regex=r"/(stream|watch|output)$").parametrize())
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    # Not the document's examples: some name other machines.
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_operation_answers_as_documented(case: schemathesis.Case[Any], atoll: World) -> None:
    assume(len(urlencode(case.query or {}, doseq=True, errors="replace")) <= MAX_QUERY_BYTES)
    # A call that waits for a change would wait for its whole time here.
    if str(case.query.get("wait", "")).isdecimal():
        case.query["wait"] = "0"
    # What stands inside a sandbox is asked of one that is there, else all would be 404.
    if any(part in case.operation.path for part in INSIDE):
        case.path_parameters = {name: HERE[name] for name in case.path_parameters or {}}
    case.call_and_validate(
        base_url=atoll.url,
        headers={"Authorization": f"Bearer {atoll.token}"},
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_schema_conformance,
        ],
    )
