"""Credentials as `nsc` of NATS makes them: an operator, an account with JetStream, and its user."""

import base64
import json
import os
import time
from pathlib import Path

import nkeys

WITHOUT_BOUND = dict.fromkeys(
    ("subs", "data", "payload", "imports", "exports", "conn", "leaf", "streams", "consumer"), -1
)


def operator_mode(folder: Path) -> tuple[Path, Path]:
    """Write a server's configuration and a user's `.creds` file; return their paths."""
    operator, account, user, system = (
        nkeys.from_seed(nkeys.encode_seed(os.urandom(32), prefix))
        for prefix in (
            nkeys.PREFIX_BYTE_OPERATOR,
            nkeys.PREFIX_BYTE_ACCOUNT,
            nkeys.PREFIX_BYTE_USER,
            nkeys.PREFIX_BYTE_ACCOUNT,
        )
    )
    limits: dict[str, object] = {
        **WITHOUT_BOUND,
        "mem_storage": -1,
        "disk_storage": -1,
        "wildcards": True,
    }
    bare: dict[str, object] = {"limits": {**WITHOUT_BOUND, "wildcards": True}}
    accounts = {
        _name(account): _signed(operator, account, "account", {"limits": limits}),
        _name(system): _signed(operator, system, "account", bare),
    }
    preloaded = "\n".join(f"{name}: {text}" for name, text in accounts.items())
    (folder / "nats.conf").write_text(
        f"operator: {_signed(operator, operator, 'operator', {})}\n"
        f"system_account: {_name(system)}\n"
        f'jetstream {{ store_dir: "{folder}/js" }}\n'
        f"resolver: MEMORY\nresolver_preload {{\n{preloaded}\n}}\n"
    )
    token = _signed(account, user, "user", {"subs": -1, "data": -1, "payload": -1})
    (folder / "user.creds").write_text(
        f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed.decode()}\n------END USER NKEY SEED------\n"
    )
    return folder / "nats.conf", folder / "user.creds"


def _name(key: nkeys.KeyPair) -> str:
    return str(key.public_key.decode())


def _signed(by: nkeys.KeyPair, of: nkeys.KeyPair, kind: str, more: dict[str, object]) -> str:
    claims = {
        "jti": base64.b32encode(os.urandom(32)).decode().rstrip("="),
        "iat": int(time.time()),
        "iss": _name(by),
        "name": kind,
        "sub": _name(of),
        "nats": {"type": kind, "version": 2, **more},
    }
    text = f"{_encoded({'typ': 'JWT', 'alg': 'ed25519-nkey'})}.{_encoded(claims)}"
    return f"{text}.{_spelled(by.sign(text.encode()))}"


def _encoded(part: object) -> str:
    return _spelled(json.dumps(part).encode())


def _spelled(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
