"""Channels to a gateway of OpenShell: one for each key, which is a token or a client certificate.

The key is sent over TLS, or to this machine. Nothing is read from the environment or from files
that OpenShell's own command keeps.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import grpc
from openshell._proto import openshell_pb2_grpc

from atoll.adapters.extensions.openshell.settings import OpenShellSettings
from atoll.domain.errors import Failed
from atoll.ports.extension import VendorKey

KEEPALIVE_MILLISECONDS = 30_000
_CERTIFICATES = re.compile(r"-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----", re.DOTALL)
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*-----", re.DOTALL)


@dataclass(frozen=True, slots=True)
class KeyedChannel:
    """A channel to a gateway for one key: its calls, and the metadata that each call carries."""

    stub: openshell_pb2_grpc.OpenShellStub
    metadata: tuple[tuple[str, str], ...]
    channel: grpc.aio.Channel


@dataclass(slots=True)
class Channels:
    """The open channels, by key."""

    settings: OpenShellSettings
    _channels: dict[str, KeyedChannel] = field(default_factory=dict)

    def for_key(self, key: VendorKey) -> KeyedChannel:
        """Return the channel of a key, opened at its first use. Raises `Failed` for a malformed
        key or gateway."""
        if not key.value.strip():
            raise Failed("the key of ext.openshell is empty")
        channel = self._channels.get(key.value)
        if channel is None:
            channel = self._channels[key.value] = self._open_channel(key)
        return channel

    def _open_channel(self, key: VendorKey) -> KeyedChannel:
        address = urlsplit(self.settings.gateway)
        if not address.hostname:
            raise Failed("ext.openshell needs its gateway: set `gateway` in the table `openshell`")
        plain = address.scheme == "http"
        port = address.port or (80 if plain else 443)
        target = f"{address.hostname}:{port}"
        chain, private = _CERTIFICATES.search(key.value), _PRIVATE.search(key.value)
        identity = chain is not None and private is not None
        metadata = () if identity else (("authorization", f"Bearer {key.value.strip()}"),)
        options = [
            ("grpc.keepalive_time_ms", KEEPALIVE_MILLISECONDS),
            ("grpc.enable_http_proxy", 0),
            # Two homes of one process must not share a connection that a key opened.
            ("grpc.use_local_subchannel_pool", 1),
        ]
        if plain:
            if identity:
                raise Failed("a client certificate is for a gateway at https://")
            channel = grpc.aio.insecure_channel(target, options)
        else:
            credentials = grpc.ssl_channel_credentials(
                root_certificates=self._authority(),
                private_key=private.group().encode() if private and identity else None,
                certificate_chain=chain.group().encode() if chain and identity else None,
            )
            channel = grpc.aio.secure_channel(target, credentials, options)
        stub = openshell_pb2_grpc.OpenShellStub(channel)  # type: ignore[no-untyped-call]
        return KeyedChannel(stub, metadata, channel)

    def _authority(self) -> bytes | None:
        if not self.settings.ca:
            return None
        try:
            return Path(self.settings.ca).read_bytes()
        except OSError as error:
            raise Failed(f"openshell.ca cannot be read: {error.strerror}") from error

    async def close(self) -> None:
        """Close every channel; idempotent."""
        while self._channels:
            _, keyed = self._channels.popitem()
            await keyed.channel.close()
