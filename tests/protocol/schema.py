"""The messages of `proto/`, by the classes that are generated from it."""

from collections.abc import Iterator

from google.protobuf import message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.message import Message

from atoll.protocol.v1 import (
    codex_admin_pb2,
    codex_auth_pb2,
    codex_events_pb2,
    codex_sandbox_pb2,
    codex_workers_pb2,
)

FILES: dict[str, FileDescriptor] = {
    "admin": codex_admin_pb2.DESCRIPTOR,
    "auth": codex_auth_pb2.DESCRIPTOR,
    "events": codex_events_pb2.DESCRIPTOR,
    "sandbox": codex_sandbox_pb2.DESCRIPTOR,
    "workers": codex_workers_pb2.DESCRIPTOR,
}


def messages() -> dict[str, Descriptor]:
    """Return every message by its name, without those that only hold an enum."""
    return {
        name: one
        for file in FILES.values()
        for name, one in file.message_types_by_name.items()
        if one.fields
    }


def fields() -> Iterator[FieldDescriptor]:
    """Yield every field."""
    for message in messages().values():
        yield from message.fields


def words(name: str) -> dict[str, int]:
    """Return the values of the enum that a message holds."""
    for file in FILES.values():
        if holder := file.message_types_by_name.get(name):
            return {one.name: one.number for one in holder.enum_types_by_name["Value"].values}
    raise KeyError(name)


def new(name: str) -> Message:
    """Return an empty message."""
    return message_factory.GetMessageClass(messages()[name])()
