"""Addresses under which other machines reach this server, and the certificate it shows them.

Nothing here listens; `presence` binds, and `serve` passes on what is found here.
"""

import fcntl
import socket
import ssl
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from atoll.domain.errors import AtollError, Invalid, Unavailable
from atoll.domain.previews.origin import LOOPBACK_DOMAIN, check_apart
from atoll.surfaces.http.previews.origins import PreviewOrigins
from atoll.surfaces.http.server.host_names import Names
from atoll.surfaces.http.server.settings import ServerSettings

WILDCARDS = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_SIOCGIFADDR = 0x8915
_ELSEWHERE = ("192.0.2.1", 9)
"""An address of no machine (RFC 5737): only the route to it is asked for."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The address for people on other machines: `url` is the base of links for them, None where
    only this machine reaches the server; `hosts` are names to answer to for it. `plain`: what
    passes there can be read on the way."""

    url: str | None = None
    hosts: tuple[str, ...] = ()
    plain: bool = False


def lan_address() -> str:
    """Return this machine's address in its local network. Raises `Unavailable` where it has none,
    `Invalid` where its only address is a public one."""
    found = list(_addresses())
    near = [one for one in found if not ip_address(one).is_global]
    if near:
        return near[0]
    if found:
        raise Invalid(
            f"this machine's address {found[0]} is a public one, no local network's: name it with "
            "--host, and use --tls or a tunnel (docs/run/outside.md)",
            field="lan",
        )
    raise Unavailable("this machine has no address in a network: connect it, or use --host")


def reach_of(own: ServerSettings, port: int) -> Reach:
    """Return how other machines reach the server on `port`. Raises `Invalid` for a certificate that
    cannot be read."""
    outer = own.host not in {"localhost", "127.0.0.1", "::1"}
    named = _certified_names(own.tls_cert) if own.tls_cert is not None else ()
    if own.public_url is not None:
        plain = not own.public_url.startswith("https://")
        return Reach(own.public_url, named, plain=plain and outer)
    if not outer:
        return Reach(hosts=named)
    address = _seen_address(own.host)
    if address is None:
        return Reach(hosts=named)
    spelled = f"[{address}]" if ":" in address else address
    name = named[0] if named else spelled
    scheme = "https" if own.secure else "http"
    return Reach(f"{scheme}://{name}:{port}", (*named, spelled), plain=not own.secure)


def origins_of(own: ServerSettings, reach: Reach, names: Names, *, here: str) -> PreviewOrigins:
    """Return the names of previews: in the configured domain, reached as the server is from
    elsewhere; else on this machine alone. `here` is the URL of the listener on loopback. Raises
    `Invalid` for a domain that is not apart from the server's names."""
    domain = own.preview_domain or LOOPBACK_DOMAIN
    check_apart(domain, names.hosts)
    base = urlsplit(own.public_url or reach.url or here) if own.preview_domain else urlsplit(here)
    pages = {here, *names.origins, *(() if reach.url is None else (reach.url,))}
    port = urlsplit(here).port
    pages |= {f"http://{host}:{port}" for host in (LOOPBACK_DOMAIN, "127.0.0.1")}
    return PreviewOrigins(
        domain,
        scheme=base.scheme,
        port=base.port,
        pages=tuple(sorted(page.rstrip("/") for page in pages if "[" not in page)),
    )


def tls_context(own: ServerSettings) -> ssl.SSLContext | None:
    """Return the context of the server's certificate; None without one. Raises `Invalid`."""
    if own.tls_cert is None or own.tls_key is None:
        return None
    for name, path in (("tls_cert", own.tls_cert), ("tls_key", own.tls_key)):
        try:
            Path(path).open("rb").close()
        except OSError as error:
            raise Invalid(
                f"the file {path} cannot be read: {error.strerror}; name a PEM file that Atoll's "
                "user may read, or give it as `atoll up --tls CERT,KEY`",
                field=name,
            ) from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        # Without a password here OpenSSL would ask for one at the terminal.
        context.load_cert_chain(own.tls_cert, own.tls_key, password=partial(str, ""))
    except (ssl.SSLError, OSError, ValueError) as error:
        raise Invalid(_why_not(error), field="tls_cert") from error
    return context


def _why_not(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    if reason == "KEY_VALUES_MISMATCH":
        return "the TLS key is not the key of this certificate: name the pair that belongs together"
    if reason in {"NO_START_LINE", "PEM_LIB", "NOT_ENOUGH_DATA", "BAD_BASE64_DECODE"}:
        return "the TLS files must be a certificate and a key in PEM form (-----BEGIN …)"
    return (
        f"the TLS files cannot be used ({reason or 'the key may have a password'}): name a "
        "certificate and its key in PEM form, the key without a password"
    )


def _certified_names(path: str) -> tuple[str, ...]:
    """Return the DNS names of a certificate, but for wildcards."""
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(Path(path).read_bytes())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        # Why a file cannot be used, the context says.
        return ()
    listed = names.get_values_for_type(x509.DNSName)
    return tuple(name.lower() for name in listed if not name.startswith("*"))


def _seen_address(host: str) -> str | None:
    if host not in WILDCARDS:
        return host
    try:
        return lan_address()
    except AtollError:
        return None


def _addresses() -> Iterator[str]:
    """Yield this machine's IPv4 addresses, the one of the default route first; no loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            # A datagram socket that only connects sends nothing.
            asked.connect(_ELSEWHERE)
            yield asked.getsockname()[0]
        except OSError:
            pass
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, request)
            except OSError:
                continue
            address = socket.inet_ntoa(answer[20:24])
            if not ip_address(address).is_loopback:
                yield address
