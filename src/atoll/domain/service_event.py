"""Service events: those that a trusted service reports. Webhooks and schedules can start from them.

Each has a name of the service's own, such as `build.finished`, and a little data.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.ids import OrgId
from atoll.wire.words.workers import LONGEST_EVENT_NAME

KIND: Final = "service.reported"
MOST_BYTES: Final = 8 * 1024
"""The data of one, as JSON."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)*\Z")


@dataclass(frozen=True, slots=True)
class ServiceEvent:
    """An event of a service; `worker_id` names the worker that it is about. Raises `Invalid`."""

    name: str
    data: Mapping[str, Json]
    worker_id: str | None = None

    def __post_init__(self) -> None:
        if len(self.name) > LONGEST_EVENT_NAME or not _NAME.match(self.name):
            raise Invalid(
                "a name is words in lower case with dots between them, at most "
                f"{LONGEST_EVENT_NAME} characters, such as build.finished",
                field="name",
            )
        if len(json.dumps(self.data).encode()) > MOST_BYTES:
            raise Invalid(f"data has more than {MOST_BYTES} bytes: name a place", field="data")

    @property
    def payload(self) -> dict[str, Json]:
        """The payload of its event."""
        about: dict[str, Json] = {} if self.worker_id is None else {"worker_id": self.worker_id}
        return {"name": self.name, "data": dict(self.data), **about}


def service_stream(org_id: OrgId, name: str) -> str:
    """Return the name of the stream of an organization's events of one name."""
    return f"service:{org_id}:{name}"
