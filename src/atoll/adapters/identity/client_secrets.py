"""Secrets by which this installation proves itself to login providers: from files or variables."""

from collections.abc import Mapping
from pathlib import Path

from atoll.domain.errors import Failed
from atoll.domain.people.realm import Realm

MAX_BYTES = 4096


def read_secrets(realms: Mapping[str, Realm], environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the secret of each realm that names one; a realm without is a public client, which
    PKCE protects. Blocking. Raises `Failed` for one that is not there."""
    found = ((name, _secret(realm, environ)) for name, realm in realms.items())
    return {name: secret for name, secret in found if secret}


def _secret(realm: Realm, environ: Mapping[str, str]) -> str:
    if realm.client_secret_env:
        text = environ.get(realm.client_secret_env, "").strip()
    elif realm.client_secret_file:
        text = _read(realm, Path(realm.client_secret_file))
    else:
        return ""
    if not text or not text.isprintable():
        raise Failed(f"the client secret of realm {realm.realm} is empty or not one line of text")
    return text


def _read(realm: Realm, path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise Failed(f"the client secret of realm {realm.realm} is larger than {MAX_BYTES}")
        return data.decode().strip()
    except (OSError, UnicodeError) as error:
        raise Failed(f"the client secret of realm {realm.realm} cannot be read") from error
