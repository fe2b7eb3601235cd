from pathlib import Path

import pytest

from atoll.adapters.profiles import personal, read_builtin_profiles
from atoll.domain.errors import Forbidden, Invalid, NotFound
from atoll.domain.people.principal import LOCAL_PERSON
from atoll.services.identifiers import Identifiers
from atoll.services.library.profiles import Profiles
from tests.services.scene import Scene, scene

MINE = 'id: profile.mine\nversion: "{}"\n'


def profiles(s: Scene, folder: Path | None = None) -> Profiles:
    return Profiles(
        s.store,
        s.bus,
        clock=s.clock,
        identifiers=Identifiers(),
        bundled=read_builtin_profiles(),
        personal=(lambda: personal(folder)) if folder else dict,
    )


async def test_bundled_ones_are_listed_and_cannot_be_changed_or_shadowed(tmp_path: Path) -> None:
    (tmp_path / "shell.yaml").write_text('id: profile.shell\nversion: "9.0.0"\n')
    async with scene(run=False) as s:
        service = profiles(s, tmp_path)
        assert len(await service.list(LOCAL_PERSON)) == 9
        assert (await service.get(LOCAL_PERSON, "shell")).version == "1.0.0"
        assert service.bundled("shell")
        for act in (
            service.save(LOCAL_PERSON, "shell", 'id: profile.shell\nversion: "2.0.0"\n'),
            service.delete(LOCAL_PERSON, "profile.shell"),
        ):
            with pytest.raises(Forbidden):
                await act


async def test_saved_versions_live_side_by_side() -> None:
    async with scene(run=False) as s:
        service = profiles(s)
        for version in ("1.0.0", "1.10.0", "1.9.0"):
            await service.save(LOCAL_PERSON, "mine", MINE.format(version))
        assert await service.versions(LOCAL_PERSON, "mine") == ["1.10.0", "1.9.0", "1.0.0"]
        assert (await service.get(LOCAL_PERSON, "mine")).version == "1.10.0"
        assert (await service.get(LOCAL_PERSON, "mine", version="1.0.0")).version == "1.0.0"
        with pytest.raises(NotFound):
            await service.get(LOCAL_PERSON, "mine", version="3.0.0")
        await service.delete(LOCAL_PERSON, "mine", version="1.10.0")
        assert (await service.get(LOCAL_PERSON, "mine")).version == "1.9.0"
        await service.delete(LOCAL_PERSON, "mine")
        with pytest.raises(NotFound):
            await service.get(LOCAL_PERSON, "mine")
        with pytest.raises(NotFound):
            await service.delete(LOCAL_PERSON, "mine")
        events = await s.events.list(LOCAL_PERSON, stream="profile:profile.mine")
        assert [event.event_type for event in events] == ["profile.saved"] * 3 + [
            "profile.deleted"
        ] * 2


async def test_document_for_another_id_is_refused() -> None:
    async with scene(run=False) as s:
        with pytest.raises(Invalid):
            await profiles(s).save(LOCAL_PERSON, "yours", MINE.format("1.0.0"))


async def test_directory_counts_at_once_and_a_broken_file_hides_only_itself(
    tmp_path: Path,
) -> None:
    async with scene(run=False) as s:
        service = profiles(s, tmp_path / "profiles")
        assert len(await service.list(LOCAL_PERSON)) == 9
        (tmp_path / "profiles").mkdir()
        (tmp_path / "profiles" / "a.yaml").write_text(MINE.format("1.0.0"))
        (tmp_path / "profiles" / "b.yaml").write_text("surprise: 1\n")
        (tmp_path / "profiles" / "c.yml").write_bytes(b"\xff\xfe")
        (tmp_path / "profiles" / "d.yaml").mkdir()
        assert (await service.get(LOCAL_PERSON, "mine")).id == "profile.mine"
        assert len(await service.list(LOCAL_PERSON)) == 10


@pytest.mark.parametrize(
    ("file", "text", "field", "words"),
    [
        ("a.yaml", MINE.format("1.0.0") + "isolation: {level: bunker}\n", "isolation", "one of"),
        ("a.yaml", MINE.format("1.0.0") + "surprise: 1\n", "surprise", "surprise"),
        ("mine.yaml", "id: [\n", None, "mine.yaml"),
        ("mine.yml", "surprise: 1\n", None, "mine.yml"),
    ],
)
async def test_profile_that_is_wrong_says_so_instead_of_being_absent(
    tmp_path: Path, file: str, text: str, field: str | None, words: str
) -> None:
    (tmp_path / file).write_text(text)
    async with scene(run=False) as s:
        with pytest.raises(Invalid, match=words) as wrong:
            await profiles(s, tmp_path).get(LOCAL_PERSON, "mine")
        assert file in wrong.value.message
        if field is not None:
            assert field in str(wrong.value.field)
        with pytest.raises(NotFound):
            await profiles(s, tmp_path).get(LOCAL_PERSON, "other")


async def test_file_with_an_unknown_tunnel_hides_only_itself_and_says_why(tmp_path: Path) -> None:
    (tmp_path / "reached.yaml").write_text(
        'id: profile.reached\nversion: "1.0.0"\nreachability: {tunnel: gone}\n'
    )
    async with scene(run=False) as s:
        service = profiles(s, tmp_path)
        assert "profile.reached" not in {one.id for one in await service.list(LOCAL_PERSON)}
        with pytest.raises(Invalid, match=r"reached\.yaml") as refused:
            await service.get(LOCAL_PERSON, "reached")
        assert refused.value.field == "reachability.tunnel"
