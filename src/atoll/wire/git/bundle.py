"""The header of a git bundle: the commits it needs, and the refs it brings.

Reads gitformat-bundle(5), versions 2 and 3, from the first bytes of a file somebody else wrote. An
importer gives the pack behind the header to git.
"""

import re
from dataclasses import dataclass

MAX_HEADER_BYTES = 256 * 1024
MAX_REFS = 1024

_SIGNATURES = (b"# v2 git bundle", b"# v3 git bundle")
_PREREQUISITE = re.compile(rb"-([0-9a-f]{40})(?: .*)?")
_REFERENCE = re.compile(rb"([0-9a-f]{40}) (HEAD|refs/[^\x00-\x20\x7f]{1,240})")


class MalformedBundle(ValueError):
    """A bundle this program cannot read; the text gives the reason."""


@dataclass(frozen=True, slots=True)
class BundleHeader:
    """The header of a bundle.

    `prerequisites` are commits the receiver must have; `refs` are (full name, commit) pairs; `size`
    is the header's length in bytes, where the pack begins.
    """

    prerequisites: tuple[str, ...]
    refs: tuple[tuple[str, str], ...]
    size: int


def read_header(data: bytes) -> BundleHeader:
    """Return the header at the start of `data` (give `MAX_HEADER_BYTES` of the file).

    Raises `MalformedBundle`, also for an object format other than SHA-1 and for a partial clone.
    """
    end = data.find(b"\n\n", 0, MAX_HEADER_BYTES)
    if end < 0:
        raise MalformedBundle("it has no header of a git bundle")
    signature, *lines = data[:end].split(b"\n")
    if signature not in _SIGNATURES:
        raise MalformedBundle("it does not begin like a git bundle")
    prerequisites: list[str] = []
    refs: list[tuple[str, str]] = []
    for line in lines:
        if line.startswith(b"@"):
            _check_capability(line)
        elif needed := _PREREQUISITE.fullmatch(line):
            prerequisites.append(needed[1].decode())
        elif brought := _REFERENCE.fullmatch(line):
            refs.append((_decode_name(brought[2]), brought[1].decode()))
        else:
            raise MalformedBundle("a line of its header is neither a commit nor a ref")
    if not refs or len(refs) > MAX_REFS or len({name for name, _ in refs}) < len(refs):
        raise MalformedBundle(f"it brings no ref, one twice, or more than {MAX_REFS}")
    return BundleHeader(tuple(prerequisites), tuple(refs), end + 2)


def _check_capability(line: bytes) -> None:
    if line != b"@object-format=sha1":
        raise MalformedBundle("it needs a git feature that is not supported here")


def _decode_name(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError as error:
        raise MalformedBundle("a ref name is not UTF-8") from error
