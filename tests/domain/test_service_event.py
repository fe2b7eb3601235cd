import pytest

from atoll.domain.errors import Invalid
from atoll.domain.event import Json
from atoll.domain.event_kind import check
from atoll.domain.ids import OrgId
from atoll.domain.service_event import KIND, ServiceEvent, service_stream


def test_it_is_an_event_of_its_own_kind_and_stream() -> None:
    told = ServiceEvent("build.finished", {"ok": True}, "w")
    assert check(KIND, told.payload).name == KIND
    assert told.payload == {"name": "build.finished", "data": {"ok": True}, "worker_id": "w"}
    assert check(KIND, ServiceEvent("a", {}).payload).name == KIND
    assert service_stream(OrgId("acme"), told.name) == "service:acme:build.finished"


@pytest.mark.parametrize("name", ["", "A", "a..b", ".a", "a.", "a b", "a\n", "x" * 129, "a/b", "ä"])
def test_wrong_name_is_refused(name: str) -> None:
    with pytest.raises(Invalid) as found:
        ServiceEvent(name, {})
    assert found.value.field == "name"


def test_data_is_bounded_in_bytes() -> None:
    data: dict[str, Json] = {"text": "ä" * 3000}
    with pytest.raises(Invalid) as found:
        ServiceEvent("a", data)
    assert found.value.field == "data"
