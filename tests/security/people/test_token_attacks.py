"""Attacks on signed tokens: every one is answered like an unknown token, in the same words.

Most are forged with the real signing key: what is refused then is refused for its claims, its
header or its form, and not by luck for its signature.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from joserfc.jwk import ECKey, OctKey, RSAKey
from joserfc.jws import serialize_compact

from atoll.services.people.bearers import WRONG
from tests.surfaces.http.world import World, client_of, world


@pytest.fixture
async def atoll() -> AsyncIterator[World]:
    async with world() as made:
        yield made


class Forger:
    """An attacker who holds the signing key of the installation, and a token that it signed."""

    def __init__(self, atoll: World, token: str, private: dict[str, Any], pat: str) -> None:
        self.atoll, self.token, self.pat = atoll, token, pat
        self.key = ECKey.import_key(private)
        self.kid = private["kid"]
        self.claims: dict[str, Any] = json.loads(unspelled(token.split(".")[1]))

    def sign(self, header: dict[str, Any] | None = None, **claims: object) -> str:
        """Return a token with these claims changed, signed by the real key."""
        told = {**self.claims, **claims}
        payload = {name: value for name, value in told.items() if value is not ...}
        return self.raw(json.dumps(payload).encode(), header)

    def raw(self, payload: bytes, header: dict[str, Any] | None = None) -> str:
        """Return a token with this payload and header, signed by the real key."""
        head = header or {"alg": "ES256", "kid": self.kid, "typ": "JWT"}
        signed = f"{spelled(json.dumps(head).encode())}.{spelled(payload)}"
        return f"{signed}.{spelled(self._signature(signed.encode()))}"

    def _signature(self, data: bytes) -> bytes:
        from cryptography.hazmat.primitives.asymmetric import ec
        from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
        from cryptography.hazmat.primitives.hashes import SHA256

        private = self.key.private_key
        assert isinstance(private, ec.EllipticCurvePrivateKey)
        r, s = decode_dss_signature(private.sign(data, ec.ECDSA(SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def spelled(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unspelled(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


@pytest.fixture
async def forger(atoll: World) -> Forger:
    async with client_of(atoll.url, atoll.token) as client:
        pat = (await client.post("/auth/pat", json={"name": "x"})).json()["token"]
        made = await client.post("/auth/token", json={}, headers={"Authorization": f"Bearer {pat}"})
    async with atoll.ground.store.read() as rows:
        (key,) = await rows.signing_keys.all()
        sealed = await rows.signing_keys.private(key.kid)
    vault = atoll.services.tenancy.credentials.signing_keys._vault
    assert sealed is not None
    private = json.loads(vault.open(sealed, ("signing-key", key.kid)))
    return Forger(atoll, made.json()["access_token"], private, pat)


async def answer_to(atoll: World, token: str) -> httpx.Response:
    async with client_of(atoll.url) as client:
        # As bytes: an attacker is not bound to what a client library can spell.
        head = [(b"authorization", b"Bearer " + token.encode("utf-8", "surrogatepass"))]
        return await client.get("/v1/me", headers=head)


async def assert_refused(atoll: World, tokens: dict[str, str]) -> None:
    """Each is answered 401, byte for byte as an unknown token."""
    unknown = await answer_to(atoll, "a.b.c")
    assert (unknown.status_code, unknown.json()["detail"]) == (401, WRONG)
    for name, token in tokens.items():
        answer = await answer_to(atoll, token)
        assert (answer.status_code, answer.content) == (401, unknown.content), name
        assert answer.headers["www-authenticate"] == unknown.headers["www-authenticate"], name


async def test_forger_signs_what_is_believed(forger: Forger) -> None:
    """The other tests mean something: the forger's plain token passes."""
    assert (await answer_to(forger.atoll, forger.sign())).status_code == 200


async def test_no_algorithm_but_ours_is_believed(forger: Forger) -> None:
    head, body, tail = forger.token.split(".")
    async with client_of(forger.atoll.url) as client:
        public = (await client.get("/.well-known/jwks.json")).json()["keys"][0]
    ec_key = ECKey.import_key(public)
    tokens: dict[str, str] = {}
    for alg in ("none", "None", "NONE", "nOnE", ""):
        none = spelled(json.dumps({"alg": alg, "kid": forger.kid, "typ": "JWT"}).encode())
        tokens |= {f"{alg} bare": f"{none}.{body}.", f"{alg} kept": f"{none}.{body}.{tail}"}
    # HS256 by everything that is public, as a library would take the key of a careless server.
    secrets = {
        "pem": ec_key.as_pem(private=False),
        "der": ec_key.as_der(private=False),
        "jwk": json.dumps(public).encode(),
        "x": public["x"].encode(),
        "empty": b"",
    }
    for name, secret in secrets.items():
        for alg, digest in (("HS256", hashlib.sha256), ("HS512", hashlib.sha512)):
            confused = spelled(json.dumps({"alg": alg, "kid": forger.kid, "typ": "JWT"}).encode())
            mark = hmac.new(secret, f"{confused}.{body}".encode(), digest).digest()
            tokens[f"{alg} by {name}"] = f"{confused}.{body}.{spelled(mark)}"
            tokens[f"{name} as ES256"] = f"{head}.{body}.{spelled(mark.ljust(64, b'0')[:64])}"
    rsa = RSAKey.generate_key(2048)
    header = {"kid": forger.kid, "typ": "JWT"}
    for alg in ("RS256", "PS256"):
        tokens[alg] = serialize_compact(
            {"alg": alg, **header}, unspelled(body), rsa, algorithms=[alg]
        )
    octet = OctKey.import_key("k" * 32)
    tokens["HS256 own"] = serialize_compact(
        {"alg": "HS256", **header}, unspelled(body), octet, algorithms=["HS256"]
    )
    tokens["zero signature"] = f"{head}.{body}.{spelled(bytes(64))}"
    tokens["zero r"] = f"{head}.{body}.{spelled(bytes(32) + b's' * 32)}"
    await assert_refused(forger.atoll, tokens)


async def test_no_key_but_ours_is_believed(forger: Forger) -> None:
    own = ECKey.generate_key("P-256")
    public, body = own.as_dict(private=False), forger.token.split(".")[1]
    ours = {"alg": "ES256", "kid": forger.kid, "typ": "JWT"}
    tokens: dict[str, str] = {}
    headers: dict[str, dict[str, Any]] = {
        "foreign": {},
        "unknown kid": {"kid": "AAAAAAAAAAAA"},
        "path": {"kid": "../../dev/null"},
        "query": {"kid": "' OR '1'='1"},
        "no kid": {"kid": None},
        "number": {"kid": 1},
        "list": {"kid": [forger.kid]},
        "long": {"kid": "k" * 5000},
        "jku": {"jku": "https://evil.example/jwks.json"},
        "own jku": {"jku": f"{forger.atoll.url}/.well-known/jwks.json"},
        "x5u": {"x5u": "https://evil.example/cert"},
        "x5c": {"x5c": ["MIIB"]},
        "jwk": {"jwk": public},
        "crit": {"crit": ["exp"]},
        "crit empty": {"crit": []},
        "cty": {"cty": "JWT"},
        "b64": {"b64": False, "crit": ["b64"]},
        "zip": {"zip": "DEF"},
    }
    for name, more in headers.items():
        by_own = Forger(forger.atoll, forger.token, {**own.as_dict(private=True), "kid": "k"}, "")
        tokens[f"{name} by another key"] = by_own.raw(unspelled(body), {**ours, **more})
        if more:
            # Also when the signature is right: no header of another shape is read.
            tokens[f"{name} by our key"] = forger.raw(unspelled(body), {**ours, **more})
    await assert_refused(forger.atoll, tokens)


async def test_no_claims_but_ours_are_believed(forger: Forger) -> None:
    now = forger.claims["iat"]
    await assert_refused(
        forger.atoll,
        {
            "expired": forger.sign(exp=now - 1, iat=now - 600, nbf=now - 600),
            "ends now": forger.sign(exp=now, iat=now - 900),
            "too long": forger.sign(exp=now + 901),
            "for ever": forger.sign(exp=2**62),
            "no end": forger.sign(exp=...),
            "end as text": forger.sign(exp=str(now + 600)),
            "end as float": forger.sign(exp=float(now) + 0.5),
            "end as true": forger.sign(exp=True),
            "not yet": forger.sign(nbf=now + 60),
            "made later": forger.sign(iat=now + 60, exp=now + 660),
            "negative": forger.sign(iat=-1, exp=now + 60),
            "other audience": forger.sign(aud="billing"),
            "no audience": forger.sign(aud=...),
            "audiences": forger.sign(aud=["atoll", "billing"]),
            "sandbox without one": forger.sign(aud="sandbox"),
            "other issuer": forger.sign(iss="https://evil.example"),
            "issuer in other letters": forger.sign(iss=forger.claims["iss"].upper()),
            "no issuer": forger.sign(iss=...),
            "no subject": forger.sign(sub=...),
            "somebody else": forger.sign(sub="root"),
            "subject in other letters": forger.sign(sub="pers\u043en"),
            "other organization": forger.sign(org_id="other"),
            "unknown token": forger.sign(origin="token:tok_aaaaaaaaaaaaaaaa"),
            "unknown session": forger.sign(origin="session:" + "0" * 64),
            "unknown home": forger.sign(origin="home:" + "0" * 64),
            "no origin": forger.sign(origin=""),
            "origin of a sandbox": forger.sign(aud="sandbox", sandbox_id="sb_1", origin="sandbox:"),
            "another kind": forger.sign(kind="root"),
            "capabilities as text": forger.sign(capabilities="sandbox.read"),
            "roles of objects": forger.sign(roles=[{"a": 1}]),
        },
    )


async def test_no_form_but_ours_is_read(forger: Forger) -> None:
    head, body, tail = forger.token.split(".")
    claims = unspelled(body)
    double = claims[:-1] + b',"sub":"person"}'
    header = b'{"alg":"none","alg":"ES256","kid":"%s","typ":"JWT"}' % forger.kid.encode()
    await assert_refused(
        forger.atoll,
        {
            "nested": forger.raw(forger.token.encode()),
            "nested in claims": forger.raw(json.dumps(forger.token).encode()),
            "oversized": f"{head}.{'A' * 10_000}.{tail}",
            "oversized and signed": forger.sign(padding="x" * 8000),
            "deep": forger.raw(b"[" * 2000 + b"]" * 2000),
            "deep claims": forger.raw(b'{"a":' * 900 + b"1" + b"}" * 900),
            "claim twice": forger.raw(double),
            "header twice": f"{spelled(header)}.{body}.{tail}",
            "list": forger.raw(b"[]"),
            "null": forger.raw(b"null"),
            "empty": forger.raw(b""),
            "not UTF-8": forger.raw(b'{"sub":"\xff"}'),
            "NaN": forger.raw(claims[:-1] + b',"x":NaN}'),
            "padded": f"{head}.{body}=.{tail}=",
            "standard base64": f"{head}.{body}.{'+' + tail[1:]}",
            "trailing bits": f"{head}.{body}.{tail[:-1]}{chr(ord(tail[-1]) + 1)}",
            "four parts": f"{forger.token}.{tail}",
            "five parts": f"{head}.a.b.{body}.{tail}",
            "no signature": f"{head}.{body}.",
            "only dots": "..",
            "wide dots": forger.token.replace(".", "\uff0e"),
            "wide letters": "\uff45" + forger.token[1:],
            "zero width": forger.token[:20] + "\u200b" + forger.token[20:],
            "cut": forger.token[:-1],
            "lower case": forger.token.lower(),
            "changed body": f"{head}.{spelled(claims.replace(b'person', b'nosrep'))}.{tail}",
            "other token's signature": f"{head}.{body}.{forger.sign().split('.')[2]}",
            "personal, changed": forger.pat[:-1] + ("0" if forger.pat[-1] != "0" else "1"),
            "personal, cut": forger.pat[:-6],
            "personal, other letters": forger.pat.swapcase(),
            "prefix alone": "atoll_pat_",
        },
    )


async def test_claims_never_exceed_the_owner_and_unknown_ones_give_nothing(
    forger: Forger,
) -> None:
    async with client_of(forger.atoll.url, forger.sign(capabilities=["root", "*"])) as client:
        assert (await client.get("/v1/tokens")).status_code == 403
    # No claim makes a token a person's presence.
    async with client_of(forger.atoll.url, forger.sign(interactive=True)) as client:
        assert (await client.get("/v1/me")).json()["interactive"] is False
        assert (await client.post("/auth/tickets")).status_code == 403
