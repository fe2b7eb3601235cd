from dataclasses import replace

import pytest

from atoll.adapters.extensions.in_memory import InMemory
from atoll.domain.compose.reading import read_stack
from atoll.domain.errors import Invalid, NotFound
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.domain.sandboxes.sandbox import CreateSandbox, Inputs, Sandbox
from atoll.ports.extension import Capabilities
from atoll.services.provisioning.compose_file import read_compose_file
from atoll.testing.fakes.workspaces import FakeWorkspaces
from atoll.testing.samples import sandbox as sample
from atoll.wire.words.walls import IsolationLevel
from tests.services.scene import BARE, scene

FILES = {"a/compose.yaml": "\ufeffservices:\n".encode(), "binary": b"\xff\xfe"}


def naming(ref: str | None) -> Sandbox:
    return replace(sample("stack"), inputs=Inputs(compose_bundle_ref=ref))


async def read(ref: str | None, extension: InMemory | None = None) -> str | None:
    return await read_compose_file(
        naming(ref), extension or InMemory(), FakeWorkspaces(files=FILES)
    )


async def test_file_of_the_repository_is_read_for_a_backend_that_runs_one() -> None:
    assert await read("repo:a/compose.yaml") == "services:\n"
    assert await read(None) is None
    other = InMemory(able=Capabilities(IsolationLevel.NONE))
    assert await read("anything", other) is None


async def test_file_that_came_with_the_create_is_used_without_a_repository() -> None:
    uploaded = replace(
        naming(None), repos=(), inputs=Inputs(compose_bundle="services: {web: {image: nginx}}")
    )
    used = await read_compose_file(uploaded, InMemory(), FakeWorkspaces())
    assert used == "services: {web: {image: nginx}}"
    other = InMemory(able=Capabilities(IsolationLevel.NONE))
    assert await read_compose_file(uploaded, other, FakeWorkspaces()) is None


@pytest.mark.parametrize("ref", ["a/compose.yaml", "repo:../x", "repo:none", "repo:binary"])
async def test_reference_that_cannot_be_read_is_refused(ref: str) -> None:
    with pytest.raises(Invalid) as refused:
        await read(ref)
    assert refused.value.field == "inputs.compose_bundle_ref"


async def test_reference_without_a_repository_is_refused() -> None:
    bare = replace(naming("repo:a/compose.yaml"), repos=())
    with pytest.raises(Invalid, match="needs a repository"):
        await read_compose_file(bare, InMemory(), FakeWorkspaces(files=FILES))


async def test_files_of_variables_are_those_of_the_repository() -> None:
    document = b"services: {web: {image: web, env_file: [.env, more/other.env]}}"
    files = {"a/compose.yaml": document, "a/.env": b"\xef\xbb\xbfX=1", "a/more/other.env": b"Y=2"}
    sandbox = naming("repo:a/compose.yaml")
    text = await read_compose_file(sandbox, InMemory(), FakeWorkspaces(files=files))
    (web, _) = read_stack(text or "").services
    assert dict(web.environment) == {"X": "1", "Y": "2"}
    for lacking, why in (
        ({"a/.env": None}, "which the repository does not have"),
        ({"a/.env": b"\xff"}, "repo:a/.env is not UTF-8 text"),
        ({"a/.env": b"X"}, "whose line 1 takes a variable"),
        ({"a/compose.yaml": b"services: {web: {image: w, env_file: ../../x}}"}, "a file of the"),
        ({"a/compose.yaml": b"services: {web: {image: w, env_file: 'a"}, "this is not YAML"),
    ):
        given = {
            name: content for name, content in (files | lacking).items() if content is not None
        }
        with pytest.raises(Invalid, match=why) as refused:
            await read_compose_file(sandbox, InMemory(), FakeWorkspaces(files=given))
        assert refused.value.field == "inputs.compose_bundle_ref"


async def test_link_in_the_place_of_a_file_of_variables_is_refused() -> None:
    class Linked(FakeWorkspaces):
        async def read_file(self, sandbox: Sandbox, path: str, *, max_bytes: int) -> bytes | None:
            if path.endswith(".env"):
                raise Invalid(f"{path} is no regular file in the repository")
            return await super().read_file(sandbox, path, max_bytes=max_bytes)

    files = {"compose.yaml": b"services: {web: {image: web, env_file: .env}}"}
    with pytest.raises(Invalid, match=r"repo:\.env: \.env is no regular file") as refused:
        await read_compose_file(naming("repo:compose.yaml"), InMemory(), Linked(files=files))
    assert refused.value.field == "inputs.compose_bundle_ref"


AGENT, WEB = "agent: {image: a}", "web: {image: nginx, mem_limit: 400m, cpus: 0.5}"


@pytest.mark.parametrize("uploaded", [True, False], ids=["uploaded", "named"])
@pytest.mark.parametrize(
    ("services", "words", "field"),
    [
        (f"{AGENT}, {WEB}", "resources: {memory_mb: 512, cpu: 1}\n", None),
        (WEB, "image: debian:12\n", None),
        (WEB, "", "image"),
        (f"{AGENT}, {WEB}", "resources: {memory_mb: 410}\n", "resources.memory_mb"),
        (f"{AGENT}, {WEB}", "resources: {cpu: 0.5}\n", "resources.cpu"),
    ],
)
async def test_services_that_do_not_fit_their_profile_make_no_sandbox(
    services: str, words: str, field: str | None, *, uploaded: bool
) -> None:
    document = f"services: {{{services}}}"
    named = Inputs(compose_bundle_ref="repo:compose.yaml", repo_ref="https://example.org/o/r")
    inputs = Inputs(compose_bundle=document) if uploaded else named
    async with scene() as s:
        s.workspaces.files["compose.yaml"] = document.encode()
        await s.profiles.save(LOCAL_PERSON, "stack", BARE.replace("bare", "stack") + words)
        request = CreateSandbox(profile="stack", inputs=inputs)
        if field is None:
            await s.sandboxes.create(LOCAL_PERSON, request)
            return
        with pytest.raises(Invalid) as refused:
            await s.sandboxes.create(LOCAL_PERSON, request)
        assert refused.value.field == field
        assert (await s.sandboxes.list(LOCAL_PERSON)).sandboxes == ()


@pytest.mark.parametrize(
    ("services", "reason"),
    [
        ("{web: {image: nginx, privileged: true}}", "inputs.compose_bundle_ref: the compose file"),
        ("{web: {image: nginx}}", "image"),
    ],
)
async def test_file_of_a_repository_that_came_late_fails_by_its_field(
    services: str, reason: str
) -> None:
    inputs = Inputs(compose_bundle_ref="repo:compose.yaml", repo_ref="https://example.org/o/r")
    async with scene() as s:
        s.workspaces.unread = NotFound("it is not here yet")
        s.workspaces.files["compose.yaml"] = f"services: {services}".encode()
        made = await s.sandboxes.create(LOCAL_PERSON, CreateSandbox("bare", inputs=inputs))
        failed = await s.sandboxes.wait(LOCAL_PERSON, made.id)
        assert (failed.state, reason in (failed.reason or "")) == ("failed", True), failed.reason
