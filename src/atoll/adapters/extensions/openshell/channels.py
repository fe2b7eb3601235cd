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
class Way:
    """A way to a gateway for one key: its calls, and what goes with each of them."""

    stub: openshell_pb2_grpc.OpenShellStub
    metadata: tuple[tuple[str, str], ...]
    channel: grpc.aio.Channel


@dataclass(slots=True)
class Channels:
    """The channels that are open."""

    settings: OpenShellSettings
    _ways: dict[str, Way] = field(default_factory=dict)

    def to(self, key: VendorKey) -> Way:
        """Return the way for a key. Raises `Failed` for a key or a gateway that cannot be."""
        if not key.value.strip():
            raise Failed("the key of ext.openshell is empty")
        known = self._ways.get(key.value)
        if known is None:
            known = self._ways[key.value] = self._opened(key)
        return known

    def _opened(self, key: VendorKey) -> Way:
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
        return Way(stub, metadata, channel)

    def _authority(self) -> bytes | None:
        if not self.settings.ca:
            return None
        try:
            return Path(self.settings.ca).read_bytes()
        except OSError as error:
            raise Failed(f"openshell.ca cannot be read: {error.strerror}") from error

    async def close(self) -> None:
        """Close all of them; idempotent."""
        while self._ways:
            _, way = self._ways.popitem()
            await way.channel.close()
