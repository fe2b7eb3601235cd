"""Tokens of runtimes at rest: never plain, bound to their sandbox, and rotated with the vault."""

from dataclasses import replace
from pathlib import Path

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.adapters.vaults.in_memory import InMemoryVault
from atoll.domain.errors import Failed
from atoll.domain.ids import SandboxId
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import Sandbox
from atoll.ports.extension import Handle, Reachability
from atoll.services.lifecycle.runtimes import MAX_OPENED, RuntimeTokens
from tests.services.scene import Scene, opened

TOKEN = "canary-token-of-a-runtime-0123456789"


class Tokened(InMemory):
    async def wait_ready(self, handle: Handle) -> Reachability:
        return replace(await super().wait_ready(handle), token=TOKEN)


async def ready(s: Scene) -> Sandbox:
    return await s.ready()


def files_of(folder: Path) -> bytes:
    return b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())


async def test_token_is_in_no_file_of_the_database_and_opens_after_a_restart(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path, others=()) as plain:
        before = replace(plain, extension=Tokened())
    async with opened(tmp_path, before=before) as s:
        made = await ready(s)
        stored = made.attachment.token
        assert stored is not None and stored.startswith("sealed:1:") and TOKEN not in stored
        assert TOKEN.encode() not in files_of(tmp_path)
        assert RuntimeTokens(s.vault).open(made) == TOKEN
        await s.secrets.rotate_master(LOCAL_PERSON)
        async with s.store.read() as rows:
            again = await rows.sandboxes.get(made.id)
        assert again is not None and again.attachment.token != stored
        assert RuntimeTokens(s.vault).open(again) == TOKEN


async def test_token_of_an_earlier_version_is_used_and_sealed_by_a_rotation(
    tmp_path: Path,
) -> None:
    async with opened(tmp_path) as s:
        made = await ready(s)
        tokens = RuntimeTokens(s.vault)
        old = replace(made, attachment=replace(made.attachment, token=TOKEN))
        assert (tokens.open(old), tokens.key_of(old)) == (TOKEN, "")
        sealed = tokens.rewrapped(old)
        assert sealed.attachment.token != TOKEN and tokens.open(sealed) == TOKEN
        assert tokens.rewrapped(made) is made and tokens.key_of(made) is None


async def test_token_opens_for_its_own_sandbox_only(tmp_path: Path) -> None:
    async with opened(tmp_path) as s:
        made = await ready(s)
        stored = RuntimeTokens(s.vault).seal(SandboxId("sb_other"), TOKEN)
        stolen = replace(made, attachment=replace(made.attachment, token=stored))
        for wrong in (stolen, _with(made, "sealed:1:x"), _with(made, "sealed:1:mk_x:!!!:é")):
            with pytest.raises(Failed) as shut:
                RuntimeTokens(s.vault).open(wrong)
            assert shut.value.code == "vault_sealed" and TOKEN not in shut.value.message
            assert RuntimeTokens(s.vault).rewrapped(wrong) is wrong


def test_opened_tokens_are_bounded() -> None:
    tokens = RuntimeTokens(InMemoryVault())
    for number in range(MAX_OPENED + 10):
        tokens.seal(SandboxId(f"sb_{number}"), TOKEN)
    assert len(tokens._opened) == MAX_OPENED


def _with(sandbox: Sandbox, token: str) -> Sandbox:
    return replace(sandbox, attachment=replace(sandbox.attachment, token=token))
