"""Operations in the document: their answers, streams and raw bodies."""

from typing import Any

import pytest

from atoll.surfaces.http.serving.documents import describe_operations
from atoll.surfaces.http.serving.schemas import Schemas
from atoll.wire.api.operation import Another, Answer, Area, Stream, operation, operations_of


class CargoView(Answer):
    """A cargo."""

    name: str


class CrateView(Answer):
    """A crate."""

    size: int


class Cargoes(Area):
    """Cargoes."""

    tag = "cargoes"
    needs = "sandbox.read"

    @operation("POST /v1/cargoes/take", name="take_cargo", nothing="None came.")
    def take(self) -> CargoView | None:
        """Take a cargo."""

    @operation("GET /v1/cargoes/image", name="get_image", stream=("image/png", "image/gif"))
    def image(self) -> Stream:  # type: ignore[empty-body]
        """Return its image."""

    @operation("GET /v1/cargoes/schema", name="get_schema", stream="application/schema+json")
    def schema(self) -> Stream:  # type: ignore[empty-body]
        """Return its schema."""

    @operation("PUT /v1/cargoes", name="put_cargo", reads=("application/yaml", "application/json"))
    def put(self) -> CargoView:  # type: ignore[empty-body]
        """Replace the cargo."""

    @operation(
        "POST /v1/cargoes",
        name="load_cargo",
        takes=("application/x-tar", "multipart/form-data"),
        also={201: Another("Made.", CrateView)},
    )
    def load(self) -> CargoView | CrateView:  # type: ignore[empty-body]
        """Load a cargo."""


PATHS = describe_operations(operations_of(Cargoes), Schemas())
BINARY = {"type": "string", "format": "binary"}


def test_answer_that_may_be_missing_is_said_to_be() -> None:
    responses = PATHS["/v1/cargoes/take"]["post"]["responses"]
    schema = responses["200"]["content"]["application/json"]["schema"]
    assert schema == {"$ref": "#/components/schemas/CargoView"}
    assert responses["204"] == {"description": "None came."}


@pytest.mark.parametrize(
    ("path", "schemas"),
    [
        ("/v1/cargoes/image", {"image/png": BINARY, "image/gif": BINARY}),
        ("/v1/cargoes/schema", {"application/schema+json": {"type": "object"}}),
    ],
)
def test_stream_has_its_media_types_alone(path: str, schemas: dict[str, Any]) -> None:
    content = PATHS[path]["get"]["responses"]["200"]["content"]
    assert content == {kind: {"schema": schema} for kind, schema in schemas.items()}


def test_body_that_is_read_whole_is_a_text_or_an_object() -> None:
    assert PATHS["/v1/cargoes"]["put"]["requestBody"] == {
        "content": {
            "application/yaml": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        },
        "required": True,
    }


def test_body_in_pieces_has_the_media_types_that_it_may_have() -> None:
    assert PATHS["/v1/cargoes"]["post"]["requestBody"] == {
        "content": {
            "application/x-tar": {"schema": BINARY},
            "multipart/form-data": {"schema": {"type": "object", "additionalProperties": BINARY}},
        }
    }


def test_another_answer_of_success_is_that_of_its_status() -> None:
    responses = PATHS["/v1/cargoes"]["post"]["responses"]
    crate = {"$ref": "#/components/schemas/CrateView"}
    assert responses["201"]["content"] == {"application/json": {"schema": crate}}
    assert len(responses["200"]["content"]["application/json"]["schema"]["anyOf"]) == 2
