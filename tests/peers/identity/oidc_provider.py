"""A real login provider: `oidc-provider-mock`, a process of its own on loopback."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx

_RUNNING = re.compile(rb"running on (http://127\.0\.0\.1:\d+)")


@dataclass
class OidcProcess:
    """A running provider. `issuer` is its address."""

    issuer: str
    process: "subprocess.Popen[bytes]"

    def put_user(self, sub: str, **claims: Any) -> None:
        """Make a user, or change their claims."""
        httpx.put(f"{self.issuer}/users/{sub}", json=claims).raise_for_status()

    def revoke(self, sub: str) -> None:
        """End all logins of a user at the provider."""
        httpx.post(f"{self.issuer}/users/{sub}/revoke-tokens").raise_for_status()

    def confirm(self, url: str, sub: str) -> str:
        """Log a user in on the provider's page at `url`; return where it leads the browser."""
        return confirmed(url, sub)

    def deny(self, url: str) -> str:
        """Refuse on the provider's page; return where it leads the browser."""
        return httpx.post(url, data={"action": "deny"}).headers["location"]

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.wait(20)


def confirmed(url: str, sub: str) -> str:
    """Log a user in on a provider's page at `url`; return where it leads the browser."""
    answer = httpx.post(url, data={"sub": sub})
    assert answer.status_code == 302, answer.text[:500]
    return answer.headers["location"]


@contextmanager
def oidc_provider(*users: dict[str, Any], max_age: int = 3600) -> Iterator[OidcProcess]:
    """A provider with these users, each a dict of claims with `sub`."""
    words = [sys.executable, "-m", "oidc_provider_mock", "-p", "0", "-e", str(max_age)]
    for user in users:
        words += ["--user-claims", json.dumps(user)]
    environ = {**os.environ, "PYTHONUNBUFFERED": "1", "NO_COLOR": "1"}
    with subprocess.Popen(words, stderr=subprocess.PIPE, env=environ) as process:
        try:
            assert process.stderr is not None
            said = b""
            for line in process.stderr:
                said += line
                found = _RUNNING.search(line)
                if found is not None:
                    break
            else:
                raise RuntimeError(said.decode())
            # Nobody reads its log, and a full pipe would stop it.
            threading.Thread(target=process.stderr.read, daemon=True).start()
            yield OidcProcess(found[1].decode(), process)
        finally:
            process.terminate()
            process.wait(20)
