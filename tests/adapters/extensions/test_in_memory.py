import pytest

from atoll.adapters.extensions.in_memory import FailurePoint, InMemory
from atoll.domain.errors import Failed, Unavailable
from atoll.ports.extension import Extension, Handle
from atoll.testing.contracts.extensions.extension import ExtensionContract


class TestInMemory(ExtensionContract):
    @pytest.fixture
    def extension(self) -> InMemory:
        return InMemory()

    async def kill(self, extension: Extension, handle: Handle) -> None:
        assert isinstance(extension, InMemory)
        extension.die(handle.sandbox_id)

    async def test_provision_made_to_fail_fails_as_often_as_asked(
        self, extension: InMemory
    ) -> None:
        extension.fail(FailurePoint.PROVISION, Unavailable("later"), times=2)
        for _ in range(2):
            with pytest.raises(Unavailable):
                await extension.provision(self.request())
        handle = await extension.provision(self.request())
        extension.fail(FailurePoint.WAIT_READY, Failed("never"))
        with pytest.raises(Failed):
            await extension.wait_ready(handle)
        extension.fail(FailurePoint.TEARDOWN, Failed("stuck"))
        with pytest.raises(Failed):
            await extension.teardown(handle, keep_state=False)
        extension.fail(FailurePoint.SURVEY, Unavailable("later"))
        with pytest.raises(Unavailable):
            await extension.survey()
        assert extension.lives(handle.sandbox_id)


def test_backend_whose_sandboxes_are_never_ready_says_so() -> None:
    assert "no sandbox of it is ever ready" in (InMemory().trouble or "")
    assert InMemory(address="unix:/run/runtime.sock").trouble is None
