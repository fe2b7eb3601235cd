"""Egress rules as people write them."""

import pytest

from atoll.domain.errors import Invalid
from atoll.domain.network.egress import EgressRule
from atoll.domain.network.egress_rule import PRESETS, read_pattern, read_rule, read_rules


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("Example.COM.", EgressRule("example.com")),
        ("example.com:8443,443", EgressRule("example.com", (8443, 443))),
        ("*.pkg.example.com", EgressRule("*.pkg.example.com")),
        ("https://example.com/", EgressRule("example.com")),
        ("http://example.com", EgressRule("example.com", (80,))),
        ("http://example.com:8080/a", EgressRule("example.com", (8080,), (), ("/a",))),
        ("GET,HEAD http://a.example/", EgressRule("a.example", (80,), ("GET", "HEAD"))),
        ("bücher.example", EgressRule("xn--bcher-kva.example")),
    ],
)
def test_rule_in_any_spelling_is_read(text: str, rule: EgressRule) -> None:
    assert read_rule(text) == rule


@pytest.mark.parametrize(
    "text",
    [
        "*.com", "*.co.uk", "*.github.io", "*.s3.amazonaws.com", "*.internal", "*",
        "*.*.example.com", "a.*.example.com", "10.0.0.1", "[::1]:80", "localhost", "example.com:0",
        "example.com:70000", "GET example.com", "https://example.com/path", "user@example.com",
        "exa mple.com", "",
        "ftp://example.com", "2130706433", "0x7f.1", "-a.example", "example..com",
    ],
)  # fmt: skip
def test_rule_too_wide_or_malformed_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_rule(text)


def test_wildcard_below_a_name_of_ones_own_is_taken() -> None:
    assert read_pattern("*.me.github.io") == "*.me.github.io"


def test_every_preset_unfolds_with_its_name_as_origin() -> None:
    for name in PRESETS:
        rules = read_rules([f"preset:{name}"])
        assert rules
        assert {rule.origin for rule in rules} == {f"preset:{name}"}
    assert read_rules(["pypi"]) == read_rules(["preset:pypi"])


def test_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(Invalid, match="pypi, npm"):
        read_rules(["preset:pipy"])
