"""Saved images on their way to the daemon: what is taken, and what is left out."""

import io
import json
import tarfile

import pytest

from atoll.adapters.extensions.docker.archives import remove_tags
from atoll.domain.errors import Invalid

HEX = "ab" * 32
MANIFEST = [{"Config": "c.json", "RepoTags": ["victim:1"], "Layers": [f"{HEX}/layer.tar"]}]

Entry = tuple[str, bytes, bytes | str]
"""A name, a type of tar's, and its content or where it leads."""


def saved(*entries: Entry, packed: str = "") -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=f"w:{packed}") as tar:  # type: ignore[call-overload]
        for name, kind, content in entries:
            info = tarfile.TarInfo(name)
            info.type = kind
            if isinstance(content, str):
                info.linkname = content
                tar.addfile(info)
            else:
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
    made.seek(0)
    return made


def plain(name: str, content: object) -> Entry:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    return (name, tarfile.REGTYPE, data)


def sent(archive: io.BytesIO) -> dict[str, bytes | str]:
    """What the daemon would read."""
    made = io.BytesIO(b"".join(remove_tags(archive)))
    found: dict[str, bytes | str] = {}
    with tarfile.open(fileobj=made) as tar:
        for entry in tar:
            file = tar.extractfile(entry) if entry.isreg() else None
            found[entry.name] = file.read() if file else entry.linkname
    return found


@pytest.mark.parametrize("packed", ["", "gz", "xz"])
@pytest.mark.parametrize("name", ["manifest.json", "./manifest.json", "/manifest.json", "x/.././m"])
def test_names_are_left_out_and_the_rest_is_as_it_was(name: str, packed: str) -> None:
    archive = saved(
        plain(f"{HEX}/layer.tar", b"x" * 700_001),
        plain("repositories", {"victim": {"1": HEX}}),
        (f"{'cd' * 32}/layer.tar", tarfile.SYMTYPE, f"../{HEX}/layer.tar"),
        plain(name, MANIFEST * 2),
        packed=packed,
    )
    if name.startswith("x/"):
        with pytest.raises(Invalid, match="not the name"):
            sent(archive)
        return
    found = sent(archive)
    assert found.keys() == {f"{HEX}/layer.tar", f"{'cd' * 32}/layer.tar", "manifest.json"}
    assert found[f"{HEX}/layer.tar"] == b"x" * 700_001
    assert json.loads(found["manifest.json"]) == [
        {"Config": "c.json", "Layers": [f"{HEX}/layer.tar"]}
    ]


def test_names_in_an_index_are_left_out() -> None:
    described = {"mediaType": "m", "digest": "sha256:0", "size": 1}
    named = {**described, "annotations": {"io.containerd.image.name": "victim:1"}}
    index = {"schemaVersion": 2, "manifests": [named], "annotations": {"x": "y"}}
    found = json.loads(sent(saved(plain("index.json", index)))["index.json"])
    assert found["manifests"] == [described] and "annotations" not in found


@pytest.mark.parametrize(
    "entries",
    [
        [("manifest.json", tarfile.SYMTYPE, "m.json"), plain("m.json", MANIFEST)],
        [("d", tarfile.SYMTYPE, "."), plain("d/manifest.json", MANIFEST)],
        [plain("m.json", MANIFEST), ("manifest.json", tarfile.LNKTYPE, "m.json")],
        [(f"{HEX}/layer.tar", tarfile.SYMTYPE, "..")],
        [("pipe", tarfile.FIFOTYPE, "")],
        [plain("manifest.json", b"[{")],
        [plain("manifest.json", {"RepoTags": ["victim:1"]})],
        [plain("../manifest.json", MANIFEST)],
        [plain("manifest.json\u2028", MANIFEST)],
    ],
)
def test_archive_that_could_name_an_image_otherwise_is_refused(entries: list[Entry]) -> None:
    with pytest.raises(Invalid, match="no saved image"):
        sent(saved(*entries))


def test_archive_that_ends_too_early_is_refused() -> None:
    whole = saved(plain("manifest.json", MANIFEST), plain("c.json", b"x" * 5000)).getvalue()
    with pytest.raises(Invalid, match=r"cannot be read|too early"):
        sent(io.BytesIO(whole[:4000]))
