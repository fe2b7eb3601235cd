"""A gateway of OpenShell as a Vendor. Imported only where the extra `openshell` is installed."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import grpc
from openshell._proto import datamodel_pb2, openshell_pb2, sandbox_pb2

from atoll.adapters.extensions.openshell.channels import Channels, KeyedChannel
from atoll.adapters.extensions.openshell.errors import NotReady, translate_error
from atoll.adapters.extensions.openshell.policy import DEADLINE, RENEW, spec_of
from atoll.adapters.extensions.openshell.settings import OpenShellSettings
from atoll.adapters.extensions.openshell.shell import OpenShellScripts
from atoll.adapters.rented.calls import USUAL, Patience, call_with_retries, clean, translate_errors
from atoll.adapters.rented.shell import ScriptShell
from atoll.adapters.rented.vendor import Gone, Order, RentedMachine, RentedShell, Tags
from atoll.domain.errors import AtollError, Failed, Unavailable
from atoll.ports.extension import VendorKey

PAGE = 100
MAX_PAGES = 1000
READY_SECONDS = 600.0
"""An image may have to be fetched by the gateway."""

POLL_SECONDS = 0.25
_ENDED = (
    openshell_pb2.SANDBOX_PHASE_COMPLETED,
    openshell_pb2.SANDBOX_PHASE_ERROR,
    openshell_pb2.SANDBOX_PHASE_STOPPED,
    openshell_pb2.SANDBOX_PHASE_STOPPING,
)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class OpenShellVendor:
    """`rented.vendor.Vendor` of OpenShell. A machine's id is its sandbox's name there."""

    settings: OpenShellSettings
    patience: Patience = field(default=USUAL)
    channels: Channels = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "channels", Channels(self.settings))

    @property
    def title(self) -> str:
        """The vendor's name."""
        return "OpenShell"

    async def create(self, key: VendorKey, order: Order) -> RentedMachine:
        """See the port. The name is made of the token, so that one order gives one sandbox."""
        name = f"atoll-{order.token[:20]}"
        request = openshell_pb2.CreateSandboxRequest(
            workspace_scope=self._scope,
            name=name,
            labels=dict(order.tags),
            spec=spec_of(order, self.settings.user),
            request_id=order.token,
        )

        async def act(channel: KeyedChannel, seconds: float) -> None:
            try:
                await channel.stub.CreateSandbox(
                    request, metadata=channel.metadata, timeout=seconds
                )
            except grpc.aio.AioRpcError as error:
                if error.code() is grpc.StatusCode.NOT_FOUND:
                    raise Failed(
                        f"OpenShell makes no sandbox: {clean(error.details() or '', key.value)}"
                    ) from error
                if error.code() is not grpc.StatusCode.ALREADY_EXISTS:
                    raise

        await self._call("a create of OpenShell", key, act)
        try:
            machine = await self._wait_ready(key, name)
            await self._check_network_closed(key, name)
        except Gone as error:
            # It may have been removed meanwhile, or its name belongs to one that is ending.
            raise Unavailable(error.message) from error
        except Failed:
            # What cannot be used is not left behind; its deadline ends it where this fails.
            with suppress(AtollError):
                await self.end(key, name)
            raise
        return machine

    async def find(self, key: VendorKey, tags: Tags) -> AsyncIterator[RentedMachine]:
        """See the port. What is being deleted is not listed any more."""
        selector = ",".join(f"{name}={value}" for name, value in tags)
        token = ""
        for _ in range(MAX_PAGES):
            request = openshell_pb2.ListSandboxesRequest(
                workspace_scope=self._scope,
                page_size=PAGE,
                page_token=token,
                label_selector=selector,
            )
            page: openshell_pb2.ListSandboxesResponse = await self._call(
                "a list of OpenShell", key, _list(request), only_reads=True
            )
            for sandbox in page.sandboxes:
                if sandbox.status.phase != openshell_pb2.SANDBOX_PHASE_DELETING:
                    yield _machine(sandbox)
            token = page.next_page_token
            if not token:
                return
        raise Unavailable("a list of OpenShell has no end")

    async def renew(self, key: VendorKey, machine: str, seconds: int) -> None:
        """See the port: OpenShell has no deadline, so the sandbox's main process keeps ours."""
        shell = await self.shell(key, machine)
        ran = await shell.run(RENEW, str(seconds), DEADLINE, seconds=self.patience.call)
        if ran.code:
            raise Failed(f"the deadline of {shell.label} cannot be moved: {ran.complaint}")

    async def end(self, key: VendorKey, machine: str) -> bool:
        """See the port."""
        request = openshell_pb2.DeleteSandboxRequest(
            workspace_scope=self._scope, name=machine, allow_missing=True
        )

        async def act(channel: KeyedChannel, seconds: float) -> openshell_pb2.DeleteSandboxResponse:
            answer: openshell_pb2.DeleteSandboxResponse = await channel.stub.DeleteSandbox(
                request, metadata=channel.metadata, timeout=seconds
            )
            return answer

        try:
            answer = await self._call("the end of a sandbox of OpenShell", key, act)
        except Gone:
            return False
        return answer.outcome != openshell_pb2.DELETION_OUTCOME_ALREADY_ABSENT

    async def shell(self, key: VendorKey, machine: str) -> RentedShell:
        """See the port."""
        await self._wait_ready(key, machine)
        channel = self.channels.for_key(key)
        scripts = OpenShellScripts(channel, key, self.settings.workspace, machine)
        return ScriptShell(scripts)

    async def close(self) -> None:
        """See the port."""
        await self.channels.close()

    @property
    def _scope(self) -> datamodel_pb2.WorkspaceSelector:
        return datamodel_pb2.WorkspaceSelector(workspace=self.settings.workspace)

    async def _wait_ready(self, key: VendorKey, name: str) -> RentedMachine:
        """Wait until a sandbox takes commands. Raises `Gone` once it ended, `Failed` with the
        gateway's words for one that never began."""
        request = openshell_pb2.GetSandboxRequest(workspace_scope=self._scope, name=name)
        until = asyncio.get_running_loop().time() + READY_SECONDS
        while asyncio.get_running_loop().time() < until:
            answer: openshell_pb2.SandboxResponse = await self._call(
                "a look at a sandbox of OpenShell", key, _get(request), only_reads=True
            )
            status = answer.sandbox.status
            if status.phase == openshell_pb2.SANDBOX_PHASE_READY:
                return _machine(answer.sandbox)
            words = clean(_end_reason(status), key.value)
            if status.phase == openshell_pb2.SANDBOX_PHASE_ERROR and not status.HasField(
                "exit_code"
            ):
                raise Failed(f"OpenShell did not start sandbox {name}: {words}")
            if status.phase in (*_ENDED, openshell_pb2.SANDBOX_PHASE_DELETING):
                raise Gone(f"sandbox {name} of OpenShell ended: {words}")
            await asyncio.sleep(POLL_SECONDS)
        raise Unavailable(f"sandbox {name} of OpenShell does not become ready")

    async def _check_network_closed(self, key: VendorKey, name: str) -> None:
        """Check that a sandbox has our policy: a gateway may have one for all, or add rules. Raises
        `Failed`."""
        request = sandbox_pb2.GetSandboxConfigRequest(workspace_scope=self._scope, name=name)

        async def act(
            channel: KeyedChannel, seconds: float
        ) -> sandbox_pb2.GetSandboxConfigResponse:
            answer: sandbox_pb2.GetSandboxConfigResponse = await channel.stub.GetSandboxConfig(
                request, metadata=channel.metadata, timeout=seconds
            )
            return answer

        policy = (
            await self._call("a look at a policy of OpenShell", key, act, only_reads=True)
        ).policy
        if policy.network_policies or policy.network_middlewares:
            names = ", ".join(sorted([*policy.network_policies, *policy.network_middlewares])[:5])
            raise Failed(f"the gateway of OpenShell opens the network of its sandboxes: {names}")

    async def _call(
        self,
        what: str,
        key: VendorKey,
        act: Callable[[KeyedChannel, float], Awaitable[_T]],
        *,
        only_reads: bool = False,
    ) -> _T:
        channel = self.channels.for_key(key)
        translate = partial(translate_error, what=what, key=key)

        async def call_vendor() -> _T:
            try:
                return await translate_errors(act(channel, self.patience.call), translate)
            except NotReady as error:
                raise Unavailable(error.message) from error

        return await call_with_retries(
            what, call_vendor, patience=self.patience, only_reads=only_reads
        )


def _list(
    request: openshell_pb2.ListSandboxesRequest,
) -> Callable[[KeyedChannel, float], Awaitable[openshell_pb2.ListSandboxesResponse]]:
    async def act(channel: KeyedChannel, seconds: float) -> openshell_pb2.ListSandboxesResponse:
        answer: openshell_pb2.ListSandboxesResponse = await channel.stub.ListSandboxes(
            request, metadata=channel.metadata, timeout=seconds
        )
        return answer

    return act


def _get(
    request: openshell_pb2.GetSandboxRequest,
) -> Callable[[KeyedChannel, float], Awaitable[openshell_pb2.SandboxResponse]]:
    async def act(channel: KeyedChannel, seconds: float) -> openshell_pb2.SandboxResponse:
        answer: openshell_pb2.SandboxResponse = await channel.stub.GetSandbox(
            request, metadata=channel.metadata, timeout=seconds
        )
        return answer

    return act


def _machine(sandbox: openshell_pb2.Sandbox) -> RentedMachine:
    meta = sandbox.metadata
    return RentedMachine(
        meta.name, tuple(meta.labels.items()), ended=sandbox.status.phase in _ENDED
    )


def _end_reason(status: openshell_pb2.SandboxStatus) -> str:
    """Return why a sandbox ended, by its conditions."""
    conditions = (f"{one.reason} {one.message}".strip() for one in status.conditions)
    return "; ".join(filter(None, conditions)) or "its main process ended"
