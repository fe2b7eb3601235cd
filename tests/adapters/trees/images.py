"""Images made of a few files: layers, layouts and archives, as bytes."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

Entry = tarfile.TarInfo
Files = dict[str, bytes | Entry]


def member(kind: bytes, *, goal: str = "", mode: int = 0o644) -> Entry:
    """An entry that is no plain file."""
    info = tarfile.TarInfo()
    info.type, info.linkname, info.mode = kind, goal, mode
    return info


def layer(files: Files) -> bytes:
    """An uncompressed layer."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in files.items():
            if isinstance(content, bytes):
                info = tarfile.TarInfo(name)
                info.size, info.mode = len(content), 0o755
                archive.addfile(info, io.BytesIO(content))
            else:
                content.name = name
                archive.addfile(content)
    return out.getvalue()


def sha(data: bytes) -> str:
    """Its digest."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def push(add: Callable[[bytes], str], *layers: bytes, machine: str = "amd64") -> str:
    """Give an image's blobs to `add`, layers gzipped; the digest of an index of two platforms."""
    packed = [gzip.compress(each, mtime=0) for each in layers]
    config = json.dumps(
        {
            "architecture": machine,
            "config": {"Env": ["PATH=/opt/tool/bin:/usr/bin", "TOOL=1"]},
            "rootfs": {"type": "layers", "diff_ids": [sha(each) for each in layers]},
        }
    ).encode()
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "config": _described(add, config),
            "layers": [_described(add, each) for each in packed],
        }
    ).encode()
    index = {
        "schemaVersion": 2,
        "manifests": [
            {**_described(add, b"{}"), "platform": {"architecture": "s390x", "os": "linux"}},
            {**_described(add, manifest), "platform": {"architecture": machine, "os": "linux"}},
        ],
    }
    return add(json.dumps(index).encode())


def _described(add: Callable[[bytes], str], data: bytes) -> dict[str, object]:
    return {"digest": add(data), "size": len(data), "mediaType": "x"}


def layout(folder: Path, *layers: bytes, machine: str = "amd64") -> Path:
    """An OCI layout."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)

    def add(data: bytes) -> str:
        (blobs / sha(data).removeprefix("sha256:")).write_bytes(data)
        return sha(data)

    digest = push(add, *layers, machine=machine)
    (folder / "index.json").write_text(json.dumps({"manifests": [{"digest": digest}]}))
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    return folder


def packed(folder: Path, target: Path) -> Path:
    """A folder as one tar."""
    with tarfile.open(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.add(path, str(path.relative_to(folder)), recursive=False)
    return target


def saved(target: Path, *layers: bytes) -> Path:
    """What `docker save` writes."""
    config = json.dumps({"rootfs": {"diff_ids": [sha(each) for each in layers]}}).encode()
    names = [f"{number}/layer.tar" for number in range(len(layers))]
    manifest = [{"Config": "c.json", "RepoTags": ["x:1"], "Layers": names}]
    files: Files = {"c.json": config, "manifest.json": json.dumps(manifest).encode()}
    target.write_bytes(layer({**files, **dict(zip(names, layers, strict=True))}))
    return target
