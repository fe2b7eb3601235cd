from pathlib import Path

import pytest

from atoll.adapters.auth.audit_key import AuditKey
from atoll.domain.errors import Failed
from atoll.ports.signer import AuditSigner
from atoll.testing import AuditSignerContract, FakeAuditSigner


class TestAuditKey(AuditSignerContract):
    @pytest.fixture
    def signer(self, tmp_path: Path) -> AuditKey:
        return AuditKey(tmp_path / "audit.key")

    def reopened(self, signer: AuditSigner) -> AuditKey:
        assert isinstance(signer, AuditKey)
        return AuditKey(signer._path)


class TestFakeAuditSigner(AuditSignerContract):
    @pytest.fixture
    def signer(self) -> FakeAuditSigner:
        return FakeAuditSigner()


def test_key_is_a_private_file(tmp_path: Path) -> None:
    AuditKey(tmp_path / "audit.key").public_key()
    assert (tmp_path / "audit.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"no key", b""])
def test_damaged_key_says_what_to_do(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "audit.key"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(Failed, match="put it back from a backup"):
        AuditKey(path).sign(b"")


def test_key_open_to_others_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "audit.key"
    path.write_bytes(b"")
    path.chmod(0o644)
    with pytest.raises(Failed, match="chmod 600"):
        AuditKey(path).public_key()
