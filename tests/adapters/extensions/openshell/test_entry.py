"""The entry point of `ext.openshell`: what it says without a gateway, and what gRPC must not do."""

import os
from pathlib import Path

import pytest

from atoll.adapters.extensions.openshell.entry import NO_GATEWAY, make
from atoll.domain.errors import Failed
from atoll.ports.extension import ExtensionSetup


def test_without_a_gateway_it_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="needs a gateway") as refused:
        make(ExtensionSetup(tmp_path, "atoll-test")).capabilities()
    assert refused.value.message == NO_GATEWAY


def test_grpc_leaves_forks_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRPC_ENABLE_FORK_SUPPORT", raising=False)
    options = {"openshell": {"gateway": "http://127.0.0.1:1", "images": {"host": "x"}}}
    make(ExtensionSetup(tmp_path, "atoll-test", options=options))
    assert os.environ["GRPC_ENABLE_FORK_SUPPORT"] == "0"
