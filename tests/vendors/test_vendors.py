"""Every provider of the table, by the vendor's own SDK from the package index."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from atoll.domain.broker.price import PRICES
from atoll.domain.broker.provider import PROVIDERS, broker_environment
from tests.peers.broker import KEY, broker_door
from tests.peers.vendors import DONE, vendors
from tests.places import ROOT

PLACE = ROOT / ".venv" / "vendors"
SDKS = (
    "openai[realtime]==3.54.0", "anthropic==2.12.0", "google-genai==3.4.0", "elevenlabs==2.78.0",
    "deepgram-sdk==7.17.0", "groq==1.7.0", "together==3.1.1", "fireworks-ai==1.2.28",
    "mistralai==3.7.0", "cohere==7.3.1", "replicate==1.0.7", "huggingface_hub==2.4.0",
)  # fmt: skip
LIVE = {"openai", "elevenlabs", "deepgram"}

pytestmark = [pytest.mark.slow, pytest.mark.vendors, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def python() -> str:
    """A Python that has the SDKs, in a place of its own which is kept."""
    mark, wanted = PLACE / "sdks.txt", "\n".join(SDKS)
    if not mark.exists() or mark.read_text() != wanted:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(PLACE)], check=True)
        pip = [str(PLACE / "bin" / "pip"), "install", "-q", *SDKS]
        subprocess.run(pip, check=True, capture_output=True, timeout=500)
        mark.write_text(wanted)
    return str(PLACE / "bin" / "python")


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_vendor_sdk_works_through_the_door_and_manages_nothing(
    provider: str, python: str
) -> None:
    async with vendors(KEY) as peer, broker_door({provider: peer.base(provider)}) as door:
        base = f"{door.url}/broker"
        env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "NO_PROXY": "*"}
        env.update(broker_environment(PROVIDERS[provider], base))
        calls = str(Path(__file__).with_name("calls.py"))
        process = await asyncio.create_subprocess_exec(
            python, "-W", "ignore", calls, provider, f"{base}/{provider}",
            env=env, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
        assert process.returncode == 0, (err.decode()[-3000:], door.audit, peer.rejected)
    said = json.loads(out)
    assert said.pop("error") == "404", said
    assert said.pop("forbidden") == "403", said
    if provider == "openai":
        assert said.pop("realtime") == "session.created"
    if provider == "replicate":
        assert "All " in said.pop("normal")
    assert set(said.values()) == {DONE}, said
    assert peer.rejected == []
    assert {entry["outcome"] for entry in door.audit} >= {"passed", "not_allowed"}
    if provider in PRICES:
        counted = [entry for entry in door.audit if entry.get("estimated") is False]
        assert all((entry["tokens_in"], entry["tokens_out"]) == (11, 5) for entry in counted)
        assert len(counted) >= 2
    assert KEY not in str(door.journal)
