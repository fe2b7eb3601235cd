"""Webhooks of a whole Atoll: SIGKILL of the control plane amid a delivery loses nothing."""

import asyncio
import json

from atoll.testing.server import test_server
from tests.peers.receivers.webhook_receiver import HANG, webhook_receiver

PROFILE = 'id: profile.{name}\nversion: "{version}.0.0"\nextension: ext.namespaces\n'


async def test_killed_control_plane_delivers_what_it_had_not_once_it_is_back() -> None:
    with test_server(start=False) as server:
        (server.home / "config.toml").write_text("allow_loopback_webhooks = true\n")
        await asyncio.to_thread(server.start)

        async def ran(*words: str) -> str:
            done = await asyncio.to_thread(server.run, *words)
            assert done.returncode == 0, done.stderr
            return str(done.stdout)

        async def save(name: str, version: int) -> None:
            file = server.home.parent / f"{name}.yaml"
            file.write_text(PROFILE.format(name=name, version=version))
            await ran("profile", "save", str(file))

        async with webhook_receiver() as receiver:
            words = ("webhook", "add", receiver.url, "--event", "profile.*", "--json")
            made = json.loads(await ran(*words))
            receiver.secret = made["secret"]
            await ran("webhook", "test", made["webhook_id"])
            receiver.accepted.clear()
            receiver.statuses.append(HANG)
            await save("one", 1)
            await receiver.came(2)
            await save("one", 2)
            await save("two", 1)
            server.kill()
            assert receiver.accepted == []
            await asyncio.to_thread(server.start)
            await receiver.took(3)
            await save("one", 3)
            await receiver.took(4)
            assert receiver.seqs("profile:profile.one") == [1, 2, 3]
            assert receiver.seqs("profile:profile.two") == [1]
            shown = json.loads(await ran("webhook", "show", made["webhook_id"], "--json"))
            assert (shown["retrying"], shown["dead"], shown["failure"]) == (0, 0, None)
