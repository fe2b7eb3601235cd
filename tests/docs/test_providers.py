"""docs/program/providers.md and the table of providers say the same."""

import re

from atoll.domain.broker.provider import PROVIDERS, WEBSOCKET
from tests.places import ROOT

PAGE = ROOT / "docs" / "program" / "providers.md"


def test_providers_page_has_a_true_row_for_each() -> None:
    rows = {
        row[1]: row[0] for row in re.finditer(r"^\| `(\w+)` \|.*$", PAGE.read_text(), re.MULTILINE)
    }
    assert list(rows) == list(PROVIDERS)
    for name, provider in PROVIDERS.items():
        row = rows[name]
        assert f"| {provider.upstream.removeprefix('https://')} |" in row
        assert provider.header in row and provider.scheme.strip() in row
        assert f"`{provider.key_env}`" in row and provider.base_env in row
        live = any(rule.method == WEBSOCKET for rule in provider.rules)
        assert bool(row.rstrip(" |").count("|") == 6) is live, row
