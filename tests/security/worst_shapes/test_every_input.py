"""Every input that the API declares has shapes: a new kind of one has to be given some."""

from typing import Final

from atoll.surfaces.http.body.json_body import MAX_JSON_BYTES
from tests.security.people.test_foreign_ids import DOCUMENT
from tests.security.worst_shapes.installation import GUEST, LOOKER
from tests.security.worst_shapes.operations import operations, parameters, sockets
from tests.security.worst_shapes.test_worst_shapes import JSON, speakers

MEDIA: Final = {
    JSON,
    "application/yaml",
    "application/octet-stream",
    "application/x-tar",
    "application/x-git-bundle",
    "multipart/form-data",
}
"""The kinds of bodies that `send_bodies`, `send_fields` and `send_files` send."""

FREE: Final = {"POST /v1/ingest/{source}/{hook}", "PUT /v1/profiles/{profile}"}
"""Bodies of any shape, which `send_bodies` sends."""


def test_every_kind_of_body_has_shapes() -> None:
    assert {media for one in operations() for media in one.media} == MEDIA


def test_every_body_of_json_has_fields_that_fit() -> None:
    for operation in operations():
        if JSON in operation.media:
            assert list(operation.fields()) or operation.name in FREE, operation.name
            assert len(operation.full_body("emoji")) < MAX_JSON_BYTES, operation.name


def test_every_place_of_an_input_has_shapes() -> None:
    assert {one["in"] for one in parameters()} == {"query", "path", "header"}
    assert any(one.headers for one in operations())


def test_every_websocket_has_speakers_and_is_documented() -> None:
    assert set(sockets()) == set(DOCUMENT["x-websockets"])
    least = {speakers(path)[0] for path in sockets()}
    assert {GUEST, LOOKER} <= least
