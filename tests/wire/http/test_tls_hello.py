"""A TLS client's hello: real ones, cut ones, and what is none."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.wire.http.tls_hello import MAX_HELLO_BYTES, Hello, NotHello, read_hello


def real(name: str | None) -> bytes:
    """What OpenSSL says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # loads no certificates: they take most time
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    return outgoing.read()


def extension(kind: int, content: bytes) -> bytes:
    return kind.to_bytes(2, "big") + len(content).to_bytes(2, "big") + content


def with_extension(kind: int, content: bytes) -> bytes:
    """A minimal hello with one extension."""
    one = extension(kind, content)
    return minimal(len(one).to_bytes(2, "big") + one)


def minimal(rest: bytes) -> bytes:
    """A hello with `rest` behind its compression methods."""
    body = b"\x03\x03" + bytes(32) + b"\0" + b"\0\x02\x13\x01" + b"\x01\0" + rest
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


def records(hello: bytes, size: int) -> bytes:
    """The same handshake message in records of `size` bytes."""
    body = hello[5:]
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"\x16\x03\x01" + len(one).to_bytes(2, "big") + one for one in pieces)


def test_real_hello_names_its_host() -> None:
    assert read_hello(real("Pkg.Example.com")) == Hello("pkg.example.com", encrypted=False)


def test_real_hello_without_name_says_so() -> None:
    assert read_hello(real(None)) == Hello(None, encrypted=False)


@pytest.mark.parametrize("size", [9, 16, 33, 100])
def test_hello_over_many_records_is_put_together(size: int) -> None:
    assert read_hello(records(real("a.example"), size)) == Hello("a.example", encrypted=False)


def test_hello_is_awaited_byte_for_byte_then_read() -> None:
    hello = real("a.example")
    assert all(read_hello(hello[:at]) is None for at in range(len(hello)))
    assert read_hello(hello + b"more") == Hello("a.example", encrypted=False)


def test_encrypted_hello_is_noticed() -> None:
    found = read_hello(with_extension(0xFE0D, b"\0" * 20))
    assert found == Hello(None, encrypted=True)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x02\x00\x00\x05hello",
        b"\x16\x03\x01\x00\x00",
        b"\x16\x03\x01\xff\xff",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        b"\x16\x03\x01\x00\x04\x01\xff\xff\xff",
        with_extension(0, b""),
        with_extension(0, b"\0\x04\x01\0\x01a"),
        with_extension(0, b"\0\x08\0\0\x01a\0\0\x01b"),
        with_extension(0, b"\0\x05\0\0\x02\xc3\xa9"),
        with_extension(0, b"\0\x04\0\0\x09a"),
        with_extension(0, b"\0\x03\0\0\0"),
        minimal(b"\0\0more"),
        minimal(b"\0\x08" + extension(5, b"") * 2),
    ],
)
def test_anything_else_is_no_hello(data: bytes) -> None:
    with pytest.raises(NotHello):
        read_hello(data)


def test_oldest_hello_has_no_extensions() -> None:
    assert read_hello(minimal(b"")) == Hello(None, encrypted=False)


def test_hello_longer_than_any_is_refused_before_it_is_whole() -> None:
    with pytest.raises(NotHello):
        read_hello(b"\x16\x03\x01\x40\x00\x01\x00\x80\x00" + bytes(2**14 - 4))


def test_hello_in_crumbs_is_refused() -> None:
    with pytest.raises(NotHello):
        read_hello(records(real("a.example"), 1))


def test_hello_without_end_is_given_up() -> None:
    for endless in (
        b"\x16\x03\x01\x00\x01\x01" * (MAX_HELLO_BYTES // 6 + 1),
        b"\x16\x03\x01\x40\x00\x01\x00\x7f\xfc"
        + bytes(2**14 - 4)
        + b"\x16\x03\x01\x3f\xf7"
        + bytes(0x3FF7),
    ):
        with pytest.raises(NotHello):
            read_hello(endless)


@given(st.binary(max_size=400), st.integers(0, 500))
def test_any_bytes_are_read_or_refused(noise: bytes, at: int) -> None:
    hello = real("a.example")
    at = min(at, len(hello))
    try:
        found = read_hello(hello[:at] + noise)
    except NotHello:
        return
    assert found is None or isinstance(found, Hello)
