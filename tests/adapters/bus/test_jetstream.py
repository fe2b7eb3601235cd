import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest
from nats.js import JetStreamContext, api

from atoll.adapters.bus.jetstream import MAX_MESSAGE_BYTES, JetStreamSink, subject_of
from atoll.adapters.bus.nats_link import NatsLink
from atoll.adapters.bus.settings import BusSettings
from atoll.domain.errors import Failed, Unavailable
from atoll.domain.event import envelope_of
from atoll.domain.event_kind import KINDS
from atoll.domain.ids import EventId
from atoll.domain.outbox import Tip
from atoll.testing import EventSinkContract
from atoll.testing.contracts.bus import event_at
from tests.peers.nats.server import NatsServer, connected, nats_server, until


@pytest.fixture
async def link(settings: BusSettings) -> AsyncIterator[NatsLink]:
    async with connected(settings) as (_bus, link):
        yield link


@pytest.fixture
def sink(link: NatsLink, settings: BusSettings) -> JetStreamSink:
    return JetStreamSink(link, settings)


@pytest.fixture
def stream(link: NatsLink) -> JetStreamContext:
    """JetStream as an administrator sees it."""
    return link.connection.client.jetstream()


class TestJetStream(EventSinkContract):
    @pytest.fixture
    async def sink(self, link: NatsLink, settings: BusSettings) -> JetStreamSink:
        return JetStreamSink(link, settings)


@pytest.mark.parametrize("prefix", ["atoll", "catalyst", "acme.prod"])
async def test_message_is_the_envelope_with_its_tenant_under_the_events_subject(
    nats: NatsServer, prefix: str
) -> None:
    settings = BusSettings(bus_url=nats.url, bus_prefix=prefix)
    async with connected(settings) as (_bus, link):
        sink, event = JetStreamSink(link, settings), event_at(7, event_type="sandbox.ready")
        assert await sink.append([event], after=(await sink.tip()).sequence) == 1
        subscription = await link.connection.client.jetstream().subscribe(f"{prefix}.sandbox.*")
        message = await subscription.next_msg(timeout=5)
    assert message.subject == f"{prefix}.sandbox.ready"
    assert message.headers is not None
    assert message.headers["Nats-Msg-Id"] == "ev_7"
    assert message.headers["Atoll-Position"] == "7"
    told = json.loads(message.data)
    assert told.pop("TenantID") == told["org_id"] == "acme"
    assert told == envelope_of(event)


def test_every_kind_of_event_fits_the_subjects_of_the_stream() -> None:
    subjects = [subject_of(name) for name in KINDS]
    assert not [one for one in subjects if len(one.split(".")) != 2 or not one.isascii()]
    assert len(set(subjects)) == len(KINDS)
    assert subject_of("gitea.pr.opened") == "gitea.pr_opened"


async def test_stream_is_made_as_the_settings_say_and_follows_them(
    nats: NatsServer, link: NatsLink, settings: BusSettings, stream: JetStreamContext
) -> None:
    sink = JetStreamSink(link, settings)
    await sink.tip()
    made = (await stream.stream_info(sink.name)).config
    assert made.subjects == [f"{settings.bus_prefix}.*.*"]
    assert (made.storage, made.discard) == ("file", "old")
    assert (made.max_age, made.max_bytes, made.duplicate_window) == (7 * 86400, 1 << 30, 120)
    await stream.update_stream(made.evolve(description="ours"))
    changed = replace(settings, bus_days=0, bus_mb=0, bus_window_seconds=60)
    await JetStreamSink(link, changed).tip()
    after = (await stream.stream_info(sink.name)).config
    assert (after.max_age, after.max_bytes, after.duplicate_window) == (0, -1, 60)
    assert after.description == "ours"


async def test_tip_counts_messages_that_are_gone(
    sink: JetStreamSink, stream: JetStreamContext
) -> None:
    await sink.tip()
    await sink.append([event_at(1), event_at(2), event_at(3)], after=0)
    await stream.purge_stream(sink.name)
    assert await sink.tip() == Tip(3)


async def test_messages_of_others_at_the_end_are_passed_over(
    sink: JetStreamSink, stream: JetStreamContext, settings: BusSettings
) -> None:
    await sink.tip()
    await sink.append([event_at(1), event_at(2)], after=0)
    for headers in (None, {"Atoll-Position": "9"}, {"Atoll-Position": "²", "Nats-Msg-Id": "x"}):
        await stream.publish(f"{settings.bus_prefix}.foreign.event", b"{", headers=headers)
    await stream.delete_msg(sink.name, 4)
    assert await sink.tip() == Tip(5, 2, EventId("ev_2"))
    assert await sink.append([event_at(3)], after=5) == 6


async def test_stream_of_nothing_but_others_is_refused(
    sink: JetStreamSink, stream: JetStreamContext, settings: BusSettings
) -> None:
    await sink.tip()
    await stream.publish(f"{settings.bus_prefix}.foreign.event", b"{")
    with pytest.raises(Failed, match="not Atoll's"):
        await sink.tip()


async def test_stream_in_memory_is_refused(
    sink: JetStreamSink, stream: JetStreamContext, settings: BusSettings
) -> None:
    await stream.add_stream(
        api.StreamConfig(
            name=sink.name,
            subjects=[f"{settings.bus_prefix}.*.*"],
            storage=api.StorageType.MEMORY,
        )
    )
    with pytest.raises(Failed, match="in memory only"):
        await sink.tip()


async def test_subjects_of_another_stream_are_refused_in_words(
    sink: JetStreamSink, stream: JetStreamContext, settings: BusSettings
) -> None:
    await stream.add_stream(name="THEIRS", subjects=[f"{settings.bus_prefix}.sandbox.>"])
    with pytest.raises(Failed, match="overlap"):
        await sink.tip()


async def test_payload_that_no_message_holds_is_left_out(
    sink: JetStreamSink, stream: JetStreamContext, settings: BusSettings
) -> None:
    await sink.tip()
    large = replace(event_at(1), payload={"how": "x" * MAX_MESSAGE_BYTES})
    assert await sink.append([large, event_at(2)], after=0) == 2
    message = await stream.get_msg(sink.name, 1)
    told = json.loads(message.data or b"")
    assert told["payload"] is None and told["payload_bytes"] == MAX_MESSAGE_BYTES + 10


async def test_sink_without_a_connection_is_unavailable_and_returns_with_it() -> None:
    with nats_server() as server:
        settings = BusSettings(bus_url=server.url)
        async with connected(settings) as (bus, link):
            sink = JetStreamSink(link, settings)
            await sink.tip()
            await sink.append([event_at(1)], after=0)
            server.stop()
            with pytest.raises(Unavailable):
                await sink.append([event_at(2)], after=1)
            await until(lambda: bus.trouble is not None)
            with pytest.raises(Unavailable, match="not connected"):
                await sink.tip()
            server.start()
            await until(lambda: bus.trouble is None)
            assert await sink.tip() == Tip(1, 1, EventId("ev_1"))
            assert await sink.append([event_at(2)], after=1) == 2


async def test_server_without_jetstream_says_so() -> None:
    with nats_server("--config", "/dev/null") as server:
        settings = BusSettings(bus_url=server.url)
        async with connected(settings) as (_bus, link):
            with pytest.raises(Unavailable, match="not enabled"):
                await JetStreamSink(link, settings).tip()
