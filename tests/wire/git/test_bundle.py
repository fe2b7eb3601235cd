import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.git.bundle import MAX_HEADER_BYTES, MAX_REFS, MalformedBundle, read_header

A, B = b"a" * 40, b"b" * 40
GOOD = b"# v2 git bundle\n-" + A + b" base\n" + B + b" refs/heads/fix\n\nPACK"


def test_header_of_a_bundle_is_read_up_to_its_pack() -> None:
    header = read_header(GOOD)
    assert header.prerequisites == ("a" * 40,)
    assert header.refs == (("refs/heads/fix", "b" * 40),)
    assert GOOD[header.size :] == b"PACK"


def test_header_of_version_three_with_sha1_is_read() -> None:
    wire = b"# v3 git bundle\n@object-format=sha1\n" + B + b" HEAD\n\n"
    assert read_header(wire).refs == (("HEAD", "b" * 40),)


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"PACK\n\n",
        b"# v2 git bundle\n" + B + b" refs/heads/x",
        b"# v2 git bundle\n\n",
        b"# v2 git bundle\n-" + A + b" only\n\n",
        b"# v3 git bundle\n@object-format=sha256\n" + B + b" refs/heads/x\n\n",
        b"# v3 git bundle\n@filter=blob:none\n" + B + b" refs/heads/x\n\n",
        b"# v2 git bundle\n" + B + b" --upload-pack=x\n\n",
        b"# v2 git bundle\n" + B + b" refs/heads/x y\n\n",
        b"# v2 git bundle\n" + B + b" refs/heads/\xff\n\n",
        b"# v2 git bundle\n" + (B + b" refs/heads/x\n") * 2 + b"\n",
        b"# v2 git bundle\n"
        + b"".join(B + b" refs/heads/x%d\n" % n for n in range(MAX_REFS + 1))
        + b"\n",
        b"# v2 git bundle\n-" + A + b" " + b"x" * MAX_HEADER_BYTES + b"\n\n",
    ],
)
def test_header_that_is_not_one_is_refused(wire: bytes) -> None:
    with pytest.raises(MalformedBundle):
        read_header(wire)


@given(st.binary(max_size=300))
def test_header_of_any_bytes_is_read_or_refused(tail: bytes) -> None:
    with contextlib.suppress(MalformedBundle):
        assert read_header(b"# v2 git bundle\n" + tail).refs
