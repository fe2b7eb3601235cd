import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from atoll.adapters.bus.live_channels import InProcessChannels
from atoll.adapters.bus.nats_bus import MAX_NAMES, NatsBus
from atoll.adapters.bus.nats_link import NatsLink
from atoll.adapters.bus.settings import BusSettings
from atoll.adapters.clocks import SystemClock
from atoll.domain.ids import OrgId
from atoll.domain.live import MAX_PAYLOAD_BYTES
from atoll.services.wakeups import LEAST_SECONDS, Wakeups
from atoll.testing import BusContract, LiveChannelsContract
from atoll.testing.contracts.bus import ORG, QUIET_SECONDS, receive_next, wait_woken
from tests.adapters.bus.conftest import Replica
from tests.peers.nats.server import NatsServer, nats_server, until, wire


class TestNatsBus(BusContract):
    @pytest.fixture
    async def bus(self, settings: BusSettings, replica: Replica) -> AsyncIterator[NatsBus]:
        async with replica(settings) as bus:
            await looked(bus)
            yield bus


class TestNatsChannels(LiveChannelsContract):
    @pytest.fixture
    async def channels(
        self, settings: BusSettings, replica: Replica, monkeypatch: pytest.MonkeyPatch
    ) -> AsyncIterator[NatsBus]:
        async with replica(settings) as bus:
            monkeypatch.setattr(bus, "_channels", InProcessChannels(steady=lambda: 0.0))
            yield bus


async def looked(*buses: NatsBus) -> None:
    """Return once each bus has woken everybody for the new connections."""
    await until(lambda: all(bus._connected and bus._streams == set() for bus in buses))
    for bus in buses:
        await bus._link.connection.client.flush()
    await asyncio.sleep(0.02)


async def test_announcement_wakes_listeners_of_other_replicas(
    settings: BusSettings, replica: Replica
) -> None:
    async with replica(settings) as one, replica(settings) as two:
        await looked(one, two)
        with two.listen("a") as there, two.listen("b") as other, two.listen() as every:
            one.announce(iter(("a",)))
            await wait_woken(every)
            await wait_woken(there)
            with pytest.raises(TimeoutError):
                await wait_woken(other, QUIET_SECONDS)


async def test_more_names_than_fit_wake_everybody(settings: BusSettings, replica: Replica) -> None:
    async with replica(settings) as one, replica(settings) as two:
        await looked(one, two)
        for names in ([f"s{n}" for n in range(MAX_NAMES + 1)], ["x" * 5000], ["\ud800"]):
            with two.listen("unnamed") as there:
                one.announce(names)
                await wait_woken(there)


async def test_words_that_are_none_of_ours_wake_everybody(
    settings: BusSettings, replica: Replica
) -> None:
    async with replica(settings) as one, replica(settings) as two:
        await looked(one, two)
        with two.listen("a") as there:
            await one._link.connection.client.publish(f"{settings.bus_prefix}-bus.announce", b"{")
            await wait_woken(there)


async def test_installations_with_other_prefixes_hear_nothing(
    nats: NatsServer, replica: Replica
) -> None:
    first = BusSettings(bus_url=nats.url, bus_prefix="one")
    second = BusSettings(bus_url=nats.url, bus_prefix="two")
    async with replica(first) as one, replica(second) as two:
        await looked(one, two)
        with two.listen() as there, two.subscribe(ORG, "a") as channel:
            await asyncio.sleep(0.05)
            one.announce(("a",))
            one.publish(ORG, "a", b"1")
            with pytest.raises(TimeoutError):
                await wait_woken(there, QUIET_SECONDS)
            with pytest.raises(TimeoutError):
                await receive_next(channel, QUIET_SECONDS)


async def test_subscriber_receives_what_others_answer_to_it(
    settings: BusSettings, replica: Replica
) -> None:
    async with replica(settings) as one, replica(settings) as two:
        with one.subscribe(ORG, "a") as here:
            # Once it is known there that the channel has a subscriber, nothing is missed.
            await until(lambda: bool(one._subscribed))
            await one._link.connection.client.flush()
            with two.subscribe(ORG, "a") as there:
                two.publish(ORG, "a", b"who is there?")
                assert await receive_next(here) == b"who is there?"
                assert await receive_next(there) == b"who is there?"
                one.publish(ORG, "a", b"I am")
                assert await receive_next(there) == b"I am"
                assert await receive_next(here) == b"I am"
                for number in range(100):
                    one.publish(ORG, "a", b"%d" % number)
                assert [await receive_next(there) for _ in range(100)] == [
                    b"%d" % number for number in range(100)
                ]
                two.publish(ORG, "a", bytes(MAX_PAYLOAD_BYTES))
                assert await receive_next(there) == bytes(MAX_PAYLOAD_BYTES)


async def test_wake_up_reaches_other_replicas_and_no_other_organization(
    settings: BusSettings, replica: Replica
) -> None:
    async with replica(settings) as one, replica(settings) as two:
        here, there = Wakeups(one, SystemClock()), Wakeups(two, SystemClock())
        with there.waiting(ORG, "logins") as news:
            await until(lambda: bool(two._subscribed))
            await two._link.connection.client.flush()
            here.send(OrgId("hostile"), "logins")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(3 * LEAST_SECONDS):
                    await news.wait(60)
            here.send(ORG, "logins")
            async with asyncio.timeout(10):
                await news.wait(60)


async def test_channel_without_subscribers_is_followed_no_longer(
    settings: BusSettings, replica: Replica
) -> None:
    async with replica(settings) as one:
        for _ in range(3):
            with one.subscribe(ORG, "a"), one.subscribe(ORG, "a"):
                await until(lambda: len(one._subscribed) == 1)
            await until(lambda: not one._subscribed)
        assert not one._keys


async def test_bus_serves_its_own_process_without_a_connection() -> None:
    settings = BusSettings(bus_url="nats://127.0.0.1:1")
    bus = NatsBus(NatsLink(settings), settings.bus_prefix)
    with bus.listen("a") as here, bus.subscribe(ORG, "a") as channel:
        bus.announce(("a",))
        bus.publish(ORG, "a", b"1")
        await wait_woken(here)
        assert await receive_next(channel) == b"1"
    assert not bus._orders and bus.trouble == "NATS was not reached yet"
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(bus.run())
        await until(lambda: "refused" in (bus.trouble or ""))
        running.cancel()


async def test_cut_connection_is_made_anew_and_everybody_looks_again(
    nats: NatsServer, replica: Replica
) -> None:
    direct = BusSettings(bus_url=nats.url, bus_prefix="cut")
    async with AsyncExitStack() as stack:
        way = await stack.enter_async_context(wire(nats.port))
        one = await stack.enter_async_context(replica(direct))
        cut = replace(direct, bus_url=way.url)
        two = await stack.enter_async_context(replica(cut))
        await looked(one, two)
        with two.listen("a") as there, two.subscribe(ORG, "a") as channel:
            await way.cut()
            await until(lambda: two.trouble is not None)
            one.announce(("a",))
            two.announce(("b",))
            await way.mend()
            await until(lambda: two.trouble is None)
            await wait_woken(there)
            await until(lambda: bool(two._subscribed))
            await two._link.connection.client.flush()
            one.publish(ORG, "a", b"again")
            assert await receive_next(channel) == b"again"


async def test_link_that_goes_silent_is_noticed(
    nats: NatsServer, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atoll.adapters.bus.nats_link.PING_SECONDS", 0.1)
    async with AsyncExitStack() as stack:
        way = await stack.enter_async_context(wire(nats.port))
        settings = BusSettings(bus_url=way.url, bus_prefix="silent")
        bus = await stack.enter_async_context(replica(settings))
        way.stalled.clear()
        await until(lambda: bus.trouble is not None)
        way.stalled.set()
        await until(lambda: bus.trouble is None)


async def test_server_that_restarts_is_found_again(replica: Replica) -> None:
    with nats_server() as server:
        settings = BusSettings(bus_url=server.url)
        async with replica(settings) as one, replica(settings) as two:
            for end in (server.stop, server.kill):
                end()
                await until(lambda: one.trouble is not None and two.trouble is not None)
                server.start()
                await until(lambda: one.trouble is None and two.trouble is None)
                await looked(one, two)
                with two.listen("a") as there:
                    one.announce(("a",))
                    await wait_woken(there)
