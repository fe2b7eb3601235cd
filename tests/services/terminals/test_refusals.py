import pytest

from atoll.domain.errors import Invalid, NotFound, Unavailable
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.identifiers import checked_id
from atoll.wire.contract.execs import list_execs
from atoll.wire.contract.files import list_files, read_file
from tests.services.scene import scene


@pytest.mark.parametrize("bad", ["", "../health", "a/b", "a?b", "x" * 65, "t_1\n", "%2e%2e"])
async def test_id_that_would_change_the_path_is_not_found(bad: str) -> None:
    async with scene() as s:
        sandbox = await s.ready()
        asked = len(s.runtime.calls)
        with pytest.raises(NotFound):
            await s.terminals.get(LOCAL_PERSON, sandbox.id, bad)
        with pytest.raises(NotFound):
            checked_id(bad, noun="exec")
        assert all(call.path.startswith("/journal") for call in s.runtime.calls[asked:])


async def test_problem_documents_become_errors_with_code_and_field() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.answers["GET", "/files"] = (
            422,
            {"code": "invalid_path", "detail": "`..` is refused.", "field": "path"},
        )
        with pytest.raises(Invalid) as err:
            await s.calls.look(LOCAL_PERSON, sandbox.id, list_files((("path", ".."),)))
        assert (err.value.code, err.value.field) == ("invalid_path", "path")
        with pytest.raises(NotFound):
            call = read_file((("path", "x"),))
            async with s.calls.take(LOCAL_PERSON, sandbox.id, call):
                pass


async def test_runtime_that_is_down_is_unavailable() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.down = True
        with pytest.raises(Unavailable):
            await s.calls.call(LOCAL_PERSON, sandbox.id, list_execs())
