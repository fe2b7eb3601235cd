import pytest

from atoll.domain.errors import Invalid, NotFound, Unavailable
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.terminals.execs import Execs
from atoll.services.terminals.files import Files
from atoll.services.terminals.terminals import Terminals
from atoll.wire.contract.files import list_files, read_file
from tests.services.scene import scene


@pytest.mark.parametrize("bad", ["", "../health", "a/b", "a?b", "x" * 65, "t_1\n", "%2e%2e"])
async def test_id_that_would_change_the_path_is_not_found(bad: str) -> None:
    async with scene() as s:
        sandbox = await s.ready()
        asked = len(s.runtime.calls)
        with pytest.raises(NotFound):
            await Terminals(s.sandboxes).get(LOCAL_PERSON, sandbox.id, bad)
        with pytest.raises(NotFound):
            await Execs(s.sandboxes).forget(LOCAL_PERSON, sandbox.id, bad)
        assert all(call.path.startswith("/journal") for call in s.runtime.calls[asked:])


async def test_problem_documents_become_errors_with_code_and_field() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.answers["GET", "/files"] = (
            422,
            {"code": "invalid_path", "detail": "`..` is refused.", "field": "path"},
        )
        with pytest.raises(Invalid) as err:
            await Files(s.sandboxes).look(LOCAL_PERSON, sandbox.id, list_files((("path", ".."),)))
        assert (err.value.code, err.value.field) == ("invalid_path", "path")
        with pytest.raises(NotFound):
            call = read_file((("path", "x"),))
            async with Files(s.sandboxes).take(LOCAL_PERSON, sandbox.id, call):
                pass


async def test_runtime_that_is_down_is_unavailable() -> None:
    async with scene() as s:
        sandbox = await s.ready()
        s.runtime.down = True
        with pytest.raises(Unavailable):
            await Execs(s.sandboxes).list(LOCAL_PERSON, sandbox.id)
