"""The prefixes of new ids: one type each, so that a reader of an id knows what it names."""

import re
from collections import defaultdict

from atoll.services.identifiers import Identifiers
from tests.layout.modules import MODULES

MADE = re.compile(r'(?:(\w+)\([\w.]+|\.)\.new\("(\w+)"\)')


def test_new_id_begins_with_its_prefix() -> None:
    assert Identifiers(lambda count: bytes(count)).new("sh") == "sh_aaaaaaaaaaaaaaaa"


def test_each_prefix_belongs_to_one_type() -> None:
    types: dict[str, set[str]] = defaultdict(set)
    for path in MODULES:
        for kind, prefix in MADE.findall(path.read_text()):
            types[prefix].add(kind)
    assert len(types) > 20
    assert {prefix: kinds for prefix, kinds in types.items() if len(kinds) > 1} == {}
