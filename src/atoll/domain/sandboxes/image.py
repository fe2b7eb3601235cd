"""The values of a profile's `image` on a wall that unpacks images itself: `host`, a tree's name, or
an OCI reference.

Names only; nothing is looked up. The grammar is that of the distribution specification; a name
without a registry is Docker Hub's, as everywhere. A registry has a dot, a port or, for Docker, an
upper-case letter.
"""

import re
from dataclasses import dataclass

from atoll.domain.errors import Invalid

HOST = "host"
HUB = "registry-1.docker.io"
MAX_REFERENCE = 255

_TREE = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
_PART = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    r"(?:(?P<registry>localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|[A-Za-z0-9.-]+(?=:[0-9])|\[::1\]"
    r"|[A-Za-z0-9-]*[A-Z][A-Za-z0-9-]*)"
    r"(?P<port>:[0-9]{1,5})?/)?"
    rf"(?P<repository>{_PART}(?:/{_PART})*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?"
    r"(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)
_ABSENT = re.compile(
    r"manifest (?:for \S{1,300} )?(?:not found|unknown)|name unknown|repository does not exist"
    r"|(?:pull |requested )?access (?:to the resource is )?denied|unauthorized"
    r"|parsing HTTP 40[134] response"
    r"|failed to resolve reference [^\n]{1,300}: not found",
    re.IGNORECASE,
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Reference:
    """An image in a registry. A digest, where there is one, decides; the tag is then only a
    label."""

    registry: str
    repository: str
    tag: str
    digest: str | None = None

    def __str__(self) -> str:
        """Return the canonical spelling."""
        end = f"@{self.digest}" if self.digest else f":{self.tag}"
        return f"{self.registry}/{self.repository}{end}"

    @property
    def wanted(self) -> str:
        """The tag or digest to request from the registry."""
        return self.digest or self.tag


def read_reference(text: str) -> Reference:
    """Return the reference a person means: `debian:12` is Docker Hub's. Raises `Invalid`."""
    found = _REFERENCE.fullmatch(text) if len(text) <= MAX_REFERENCE else None
    if found is None:
        raise Invalid(
            f"{text[:80]!r} is neither a tree's name nor the reference of an image", field="image"
        )
    registry, repository = found["registry"], found["repository"]
    if registry is None or registry in ("docker.io", "index.docker.io"):
        registry = HUB
        repository = repository if "/" in repository else f"library/{repository}"
    else:
        registry += found["port"] or ""
    return Reference(registry, repository, found["tag"] or "latest", found["digest"])


def read_tree_name(text: str) -> str:
    """Return a name that a directory of the home's `images` may have. Raises `Invalid`."""
    if text in (HOST, "oci") or not _TREE.fullmatch(text) or ".." in text:
        raise Invalid(
            f"{text[:80]!r} cannot name a tree: lower-case letters, digits, `.`, `_` and `-`, "
            "and neither `host` nor `oci`",
            field="image",
        )
    return text


def is_tree_name(text: str) -> bool:
    """Report whether it could be the name of a tree."""
    return bool(_TREE.fullmatch(text)) and text not in (HOST, "oci") and ".." not in text


def hex_of(digest: str) -> str:
    """Return the digits of a sha256 digest. Raises `Invalid` for any other kind."""
    if not _DIGEST.fullmatch(digest):
        raise Invalid(f"{digest[:80]!r} is no sha256 digest", field="image")
    return digest.removeprefix("sha256:")


def tells_absent_image(message: str) -> bool:
    """Report whether a daemon says that a registry has no such image, or none for us: a fault of
    who named it. A registry that could not be asked is another matter."""
    return _ABSENT.search(message) is not None
