import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.network.host import Target, as_read, canonical_host, read_target


@pytest.mark.parametrize(
    ("written", "host"),
    [
        ("API.Example.COM", "api.example.com"),
        ("api.example.com.", "api.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("ＡＰＩ.example", "api.example"),
        ("1.2.3.4", "1.2.3.4"),
        ("①②⑦.0.0.1", "127.0.0.1"),
        ("[::1]", "::1"),
        ("2606:50C0::0154", "2606:50c0::154"),
        ("_acme.example", "_acme.example"),
    ],
)
def test_host_spellings_become_one(written: str, host: str) -> None:
    assert canonical_host(written) == host


@pytest.mark.parametrize(
    "written",
    [
        "", ".", "..", "a..b", "127.1", "0177.0.0.1", "0x7f.1", "2130706433", "1.2.3.4.5", "a.0x",
        "a b", "a/b", "a@b", "a%2eb", "-a.example", "a-.example", "x" * 64 + ".example",
        "a." * 127 + "aa", "[::1", "fe80::1%eth0", "[fe80::1%25eth0]", "a\0b", "☃-.example", "a:b",
    ],
)  # fmt: skip
def test_host_that_could_be_read_twice_is_refused(written: str) -> None:
    with pytest.raises(ValueError):
        canonical_host(written)


@given(st.text(max_size=40))
def test_host_any_text_is_refused_or_stable(text: str) -> None:
    try:
        once = canonical_host(text)
    except ValueError:
        return
    assert canonical_host(once) == once
    assert once.isascii() and once == once.lower()


def test_target_parts() -> None:
    target = read_target("https://API.Example:8443/v1/x%20y?a=1&b")
    assert target == Target("https", "api.example", 8443, "/v1/x%20y", "a=1&b")
    assert target.authority == "api.example:8443"
    assert read_target("https://api.example").path == "/"
    assert read_target("https://api.example:443/").authority == "api.example"
    assert read_target("https://[2606:50c0::154]:1/").authority == "[2606:50c0::154]:1"


def test_target_plain_http_only_to_loopback_in_dev() -> None:
    assert read_target("http://127.0.0.1:9/", dev=True).port == 9
    for text, dev in (("http://127.0.0.1/", False), ("http://api.example/", True)):
        with pytest.raises(ValueError, match="https"):
            read_target(text, dev=dev)


@pytest.mark.parametrize(
    "text",
    [
        "", "api.example/x", "ftp://api.example/", "https:///x", "https://u@api.example/",
        "https://u:p@api.example/", "https://api.example/#f", "https://api.example:0/",
        "https://api.example:99999/", "https://api.example:x/", "https://127.1/", "https://a b/",
        "https://api.example\\@evil/", "https://api.example/\n", "https://[::1/", "//api.example/",
        "https://@api.example/", "https://api.example/" + "x" * 9000, "https://é.example/",
    ],
)  # fmt: skip
def test_target_that_is_no_plain_https_url_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read_target(text)


def test_name_as_it_reads_is_that_of_its_letters() -> None:
    assert as_read("xn--pi-6kc.openai.com") == "\u0430pi.openai.com"
    assert as_read("api.openai.com") == "api.openai.com"
    assert as_read("xn--.example") == "xn--.example"


@pytest.mark.parametrize("piece", ["\u0300\u0327", "é", "a.", "1:", "\u3002"])
def test_host_longer_than_any_is_refused_in_a_moment(piece: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match="no host name"):
        canonical_host("a" + piece * 50_000)
    assert time.process_time() - began < 0.1
