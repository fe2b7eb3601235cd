"""A worker without an agent: each request is answered at once with its own params."""

import json
from typing import Any

from atoll.domain.errors import Conflict

AT = "2026-01-01T00:00:00Z"


class FakeWorker:
    """A ledger and a spool in memory."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {}
        self._receipts: dict[str, dict[str, Any]] = {}
        self._entries: list[dict[str, Any]] = []
        self._acknowledged = 0

    def request(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return the one receipt of a request. Raises `Conflict`."""
        name = str(body["request_id"])
        params = body.get("params", {})
        digest = json.dumps([body["method"], params], sort_keys=True)
        if self._digests.setdefault(name, digest) != digest:
            raise Conflict("The request was made before with other content.", code="conflict")
        if name not in self._receipts:
            n = len(self._entries) + 1
            receipt = {"request_id": name, "kind": "response", "n": n, "data": params}
            self._receipts[name] = receipt
            self._entries.append({**receipt, "at": AT})
        return {"receipt": self._receipts[name]}

    def page(self, after: int, limit: int) -> dict[str, Any]:
        """Return entries above `after`."""
        floor = max(after, self._acknowledged)
        found = [one for one in self._entries if one["n"] > floor][:limit]
        last, full = len(self._entries), False
        return {"entries": found, "last": last, "acknowledged": self._acknowledged, "full": full}

    def acknowledge(self, n: int) -> None:
        """Hide entries up to `n`."""
        self._acknowledged = max(self._acknowledged, min(n, len(self._entries)))
