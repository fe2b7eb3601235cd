"""A push service and its browsers: HTTPS on loopback, which checks VAPID and decrypts.

It reads messages as a browser would, from the RFCs (8188, 8291, 8292), with no line of the sender.
"""

import base64
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from aiohttp import web
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.x509.oid import NameOID

from atoll.domain.people.push import PushTarget

CURVE = ec.SECP256R1()


def unspelled(text: str) -> bytes:
    """Read base64url without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Browser:
    """A browser with its keys, and the messages it read."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(CURVE))
    auth: bytes = b"0123456789abcdef"
    read: list[bytes] = field(default_factory=list)

    @property
    def public(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def target(self) -> PushTarget:
        return PushTarget(self.endpoint, self.public, self.auth)

    def decrypt(self, body: bytes) -> bytes:
        """Read one record (RFC 8188 §2, RFC 8291 §3.4)."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        theirs, content = body[21 : 21 + length], body[21 + length :]
        assert length == 65
        assert 18 <= len(content) <= size <= 4096
        other = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, theirs)
        info = b"WebPush: info\0" + self.public + theirs
        secret = HKDF(SHA256(), 32, self.auth, info).derive(self.key.exchange(ec.ECDH(), other))
        key = HKDF(SHA256(), 16, salt, b"Content-Encoding: aes128gcm\0").derive(secret)
        nonce = HKDF(SHA256(), 12, salt, b"Content-Encoding: nonce\0").derive(secret)
        padded = AESGCM(key).decrypt(nonce, content, None).rstrip(b"\0")
        assert padded[-1:] == b"\x02"
        return padded[:-1]


@dataclass
class PushService:
    """Its browsers by path; each next request is answered with one of `statuses` while there are
    any. `bodies` and `headers` are as they came."""

    url: str
    trust: ssl.SSLContext
    certificate: Path
    browsers: dict[str, Browser] = field(default_factory=dict)
    statuses: list[int] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    public_key: str = ""

    def subscribe(self, name: str = "one") -> Browser:
        """A new browser."""
        self.browsers[f"/{name}"] = Browser(f"{self.url}/{name}")
        return self.browsers[f"/{name}"]

    async def take(self, request: web.Request) -> web.Response:
        """Take one message, as RFC 8030 §5 says."""
        self.bodies.append(await request.read())
        self.headers.append(dict(request.headers))
        if self.statuses:
            return web.Response(status=self.statuses.pop(0), headers={"Location": f"{self.url}/x"})
        browser = self.browsers.get(request.path)
        if browser is None:
            return web.Response(status=410)
        self._check_vapid(request)
        assert request.headers["Content-Encoding"] == "aes128gcm"
        assert int(request.headers["TTL"]) > 0
        browser.read.append(browser.decrypt(self.bodies[-1]))
        return web.Response(status=201)

    def _check_vapid(self, request: web.Request) -> None:
        scheme, _, rest = request.headers["Authorization"].partition(" ")
        parts = dict(part.strip().split("=", 1) for part in rest.split(","))
        self.public_key = parts["k"]
        signed, _, signature = parts["t"].rpartition(".")
        raw = unspelled(signature)
        r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
        key = ec.EllipticCurvePublicKey.from_encoded_point(CURVE, unspelled(parts["k"]))
        key.verify(encode_dss_signature(r, s), signed.encode(), ec.ECDSA(SHA256()))
        head, claims = (json.loads(unspelled(part)) for part in signed.split("."))
        assert (scheme, head) == ("vapid", {"typ": "JWT", "alg": "ES256"})
        assert claims["aud"] == self.url
        assert claims["sub"].startswith(("mailto:", "https://"))
        left = datetime.fromtimestamp(claims["exp"], UTC) - datetime.now(UTC)
        assert timedelta() < left <= timedelta(hours=24)


@asynccontextmanager
async def push_service(folder: Path) -> AsyncIterator[PushService]:
    """A push service at `https://localhost:PORT`, under an authority of its own."""
    certificate = _certificate(folder)
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(certificate)
    service = PushService("", ssl.create_default_context(cafile=str(certificate)), certificate)
    app = web.Application()
    app.router.add_post("/{name}", service.take)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=serving).start()
        service.url = f"https://localhost:{runner.addresses[0][1]}"
        yield service
    finally:
        await runner.cleanup()


def _certificate(folder: Path) -> Path:
    key = ec.generate_private_key(CURVE)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, SHA256())
    )
    path = folder / "push.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + made.public_bytes(Encoding.PEM))
    return path
