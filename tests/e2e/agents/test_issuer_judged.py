"""The issuer of the tests, judged by the real Codex: it logs in there by device code.

Tests of issuers are worth what their peer is worth. So the client that this flow is made for
decides whether the peer speaks it.
"""

import asyncio
import json
import re
from pathlib import Path

import pytest

from atoll.adapters.agents.install import install
from atoll.domain.agents.registry import find
from tests.e2e.conftest import CACHE
from tests.peers.issuers.login_issuer import ACCOUNT, Issuer, login_issuer

pytestmark = [pytest.mark.agents, pytest.mark.timeout(300)]
_CODE = re.compile(r"[0-9A-F]{4}-[0-9A-F]{4}")


async def log_in(issuer: Issuer, home: Path, state: str) -> tuple[int, str]:
    """Run the real `codex login`; its person confirms the code that it prints, or refuses."""
    codex = await asyncio.to_thread(install, CACHE, find("codex"), None, print)
    home.mkdir(parents=True)
    process = await asyncio.create_subprocess_exec(
        str(Path(codex.path) / "bin" / "codex"),
        "login", "--device-auth", "--experimental_issuer", issuer.url,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={"HOME": str(home), "CODEX_HOME": str(home), "PATH": "/usr/bin:/bin", "NO_COLOR": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    said = ""
    try:
        async with asyncio.timeout(60):
            while part := await process.stdout.read(4096):
                said += part.decode(errors="replace")
                if found := _CODE.search(said):
                    issuer.confirm(found[0], state)
            return await process.wait(), said
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_codex_logs_in_by_device_code(tmp_path: Path) -> None:
    async with login_issuer(interval="1") as issuer:
        code, said = await log_in(issuer, tmp_path / "codex", "confirmed")
        assert code == 0, said
        assert f"{issuer.url}/codex/device" in said
        tokens = json.loads((tmp_path / "codex" / "auth.json").read_text())["tokens"]
    assert tokens["account_id"] == ACCOUNT and tokens["refresh_token"] in issuer.refreshes
    assert (issuer.traded, issuer.reused) == (1, 0)


async def test_codex_is_refused_where_its_person_refuses(tmp_path: Path) -> None:
    async with login_issuer(interval="1") as issuer:
        code, said = await log_in(issuer, tmp_path / "codex", "denied")
    assert code != 0, said
    assert issuer.traded == 0 and not (tmp_path / "codex" / "auth.json").exists()
