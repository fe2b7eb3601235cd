"""The webhook of one sandbox, with a whole Atoll and a receiver on loopback."""

import asyncio
import base64
import json
from typing import Any

from atoll.testing.server import test_server
from tests.peers.api import Pauses
from tests.peers.receivers.webhook_receiver import HANG, webhook_receiver

SIGNING = "whsec_" + base64.b64encode(b"s" * 32).decode()


async def test_life_of_a_sandbox_arrives_whole_over_a_kill_of_the_control_plane() -> None:
    with test_server(start=False) as server:
        (server.home / "config.toml").write_text("allow_loopback_webhooks = true\n")
        await asyncio.to_thread(server.start)

        async def ran(*words: str, given: str | None = None) -> str:
            done = await asyncio.to_thread(server.run, *words, input=given)
            assert done.returncode == 0, done.stderr
            return str(done.stdout)

        async def webhook_of(sandbox: str) -> dict[str, Any]:
            shown: dict[str, Any] = json.loads(await ran("info", sandbox, "--json"))
            found: dict[str, Any] = shown["reachability"]["lifecycle_webhook"]
            return found

        async with webhook_receiver() as receiver:
            receiver.secret = SIGNING
            await ran("secret", "set", "SIGNING", given=SIGNING)
            refused = await asyncio.to_thread(
                server.run, "new", "-d", "--webhook", receiver.url, "MISSING"
            )
            assert refused.returncode != 0 and "no secret" in refused.stderr
            assert json.loads(await ran("list", "--json"))["sandboxes"] == []
            # The first message is on its way when the control plane dies.
            receiver.statuses.append(HANG)
            words = ("new", "-d", "--name", "box", "--webhook", receiver.url, "SIGNING", "--json")
            made = json.loads(await ran(*words))
            assert made["reachability"]["lifecycle_webhook"]["host"] == "127.0.0.1"
            await receiver.came(1)
            server.kill()
            assert receiver.accepted == []
            await asyncio.to_thread(server.start)
            await ran("destroy", "box", "--yes")
            await receiver.took_kind("sandbox.destroyed")
            pauses = Pauses()
            while (await webhook_of(made["sandbox_id"]))["state"] != "ended":
                await pauses.wait()
            kinds = [one["type"] for one in receiver.accepted]
            assert kinds[:2] == ["sandbox.requested", "sandbox.provisioning"]
            assert "sandbox.ready" in kinds
            assert kinds[-2:] == ["sandbox.destroying", "sandbox.destroyed"]
            seqs = receiver.seqs(f"sandbox:{made['sandbox_id']}")
            assert len(seqs) == len(kinds) and seqs == sorted(set(seqs))
