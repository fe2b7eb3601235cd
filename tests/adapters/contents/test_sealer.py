import pytest

from atoll.adapters.contents.sealer import ZstdAesSealer
from atoll.testing import BlobSealerContract


class TestZstdAesSealer(BlobSealerContract):
    @pytest.fixture
    def sealer(self) -> ZstdAesSealer:
        return ZstdAesSealer()
