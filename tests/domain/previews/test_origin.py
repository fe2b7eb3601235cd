"""Names of previews: one spelling for each, and none that is the server's own."""

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.ids import SandboxId
from atoll.domain.previews.origin import (
    check_apart,
    port_label,
    pull_request_label,
    read_app,
    read_domain,
    read_label,
)

BOX = SandboxId("sb_3k7qabcdefghij27")


def test_label_of_a_port_is_a_label_of_dns_and_is_read_back() -> None:
    label = port_label(3000, BOX)
    assert label == "3000-sb-3k7qabcdefghij27"
    assert read_label(f"{label}.localhost", "localhost") == label
    assert read_label(f"{label}.previews.example.org", "previews.example.org") == label


def test_label_of_a_pull_request_names_number_and_app() -> None:
    label = pull_request_label(7, "shop")
    assert label == "pr-7.shop"
    assert read_label("pr-7.shop.previews.example.org", "previews.example.org") == label


@pytest.mark.parametrize("sandbox_id", ["box", "sb_", "sb_a.b", "sb_a-b", "sb_" + "a" * 41, "sb_A"])
def test_label_of_an_id_that_is_no_label_is_refused(sandbox_id: str) -> None:
    with pytest.raises(Invalid):
        port_label(3000, SandboxId(sandbox_id))


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", ".localhost", "3000-sb-abc", "3000-sb-abc.localhost.", "evil.localhost"),
        *("3000-sb-abc.localhost.evil.org", "x.3000-sb-abc.localhost", "3000-sb-ABC.localhost"),
        *("03000-sb-abc.localhost", "3000-box.localhost", "3000-sb_abc.localhost", "127.0.0.1"),
        *("pr-0.shop.localhost", "pr-7.localhost", "pr-7.a.b.localhost", "pr-7.-a.localhost"),
        *("3000-sb-abclocalhost", "3000-sb-abc.localhost\n", ""),
    ],
)
def test_name_that_is_not_exactly_a_previews_is_none(host: str) -> None:
    assert read_label(host, "localhost") is None


@pytest.mark.parametrize("app", ["", "-a", "a-", "a.b", "A", "a_b", "a" * 41, "ä"])
def test_app_that_is_no_label_is_refused(app: str) -> None:
    with pytest.raises(Invalid):
        read_app(app)


def test_app_and_domain_that_are_names_are_read() -> None:
    assert read_app("a" * 40) == "a" * 40
    assert read_domain("previews.example.org") == "previews.example.org"


@pytest.mark.parametrize(
    "domain", ["", "Previews.org", "a..b", ".a", "a.", "a:80", "10.0.0.1", "http://a", "a" * 181]
)
def test_domain_that_is_no_name_is_refused(domain: str) -> None:
    with pytest.raises(Invalid):
        read_domain(domain)


def test_domain_apart_from_the_servers_names_is_taken() -> None:
    check_apart("previews.example.org", frozenset({"localhost", "127.0.0.1", "atoll.example.org"}))
    check_apart("localhost", frozenset({"localhost", "127.0.0.1", "[::1]", "atoll.localhost"}))


@pytest.mark.parametrize("domain", ["atoll.example.org", "p.atoll.example.org", "example.org"])
def test_domain_that_is_the_servers_or_lies_above_or_below_is_refused(domain: str) -> None:
    with pytest.raises(Invalid, match="apart"):
        check_apart(domain, frozenset({"localhost", "atoll.example.org"}))
