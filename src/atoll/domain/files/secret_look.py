"""Guesses whether a small file holds a secret, from its path and its bytes.

A guess only keeps a file from being copied by itself; its person can still send it. Pure.
"""

import re
from typing import Final

_NAMES: Final = re.compile(
    r"id_(?:rsa|dsa|ecdsa|ed25519)[^/]*|.+\.(?:pem|key|p12|pfx|ppk|kdbx|jks|keystore)"
    r"|\.netrc|_netrc|\.pgpass|\.my\.cnf|\.git-credentials|\.pypirc|\.htpasswd|\.vault-token"
    r"|credentials(?:\.json)?|service-account[^/]*\.json|auth\.json|secrets?\.(?:ya?ml|json|toml|env)"
)
_FOLDERS: Final = frozenset((".ssh", ".gnupg", ".aws", ".kube", ".azure", ".docker"))
_VARIABLE: Final = re.compile(
    rb"^[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]{0,127})[ \t]*=[ \t]*(.{1,65536}?)[ \t\r]*$",
    re.MULTILINE,
)
_SECRET_NAME: Final = re.compile(
    r"(?:.*_)?(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?|DSN|AUTH|PAT)"
    r"(?:_.*)?|DATABASE_URL|.*_DATABASE_URL|REDIS_URL|MONGO(?:DB)?_UR[IL]",
    re.IGNORECASE,
)
_TOKEN: Final = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}"
    rb"|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}|\bglpat-[A-Za-z0-9_-]{16,}"
    rb"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[A-Za-z0-9_-]{30,}"
    rb"|_authToken\s*=|\beyJ[A-Za-z0-9_-]{16,}\.eyJ[A-Za-z0-9_-]{16,}\."
)
_EMPTY: Final = frozenset((b"", b'""', b"''"))
MAX_VARIABLES: Final = 20


def secret_reason(path: str, data: bytes) -> str | None:
    """Return why a file looks as if it held a secret; None when it does not."""
    *folders, name = path.casefold().split("/")
    if _NAMES.fullmatch(name) or not _FOLDERS.isdisjoint(folders):
        return "its name is one of files with keys or logins"
    if names := tuple(name for name, _ in secret_variables(data)):
        more = ", …" if len(names) > 3 else ""
        return f"it sets {', '.join(names[:3])}{more}"
    if _TOKEN.search(data):
        return "it holds what looks like a key"
    return None


def secret_variables(data: bytes) -> tuple[tuple[str, str], ...]:
    """Return the variables of an `.env` file that look like secrets, with their values and without
    quotes; at most `MAX_VARIABLES`."""
    found: dict[str, str] = {}
    for match in _VARIABLE.finditer(data):
        name, value = match[1].decode(), match[2]
        if value in _EMPTY or not _SECRET_NAME.fullmatch(name):
            continue
        if len(value) > 1 and value[:1] == value[-1:] and value[:1] in b"\"'":
            value = value[1:-1]
        try:
            found[name] = value.decode()
        except UnicodeDecodeError:
            continue
    return tuple(found.items())[:MAX_VARIABLES]
