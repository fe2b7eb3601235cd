"""The route of broker requests of one shape: a checked passage with everything prepared.

The request head without the values of each request and the search for keys in responses are made
once. A route decides nothing.
"""

from dataclasses import dataclass, field

from atoll.domain.broker.passage import Passage
from atoll.domain.broker.price import PRICES
from atoll.domain.redaction.literals import Literals
from atoll.domain.repository.git_remote import BrokerRemote
from atoll.runtime.doors.broker.credentials import CredentialRef
from atoll.runtime.doors.broker.request import BrokerRequest
from atoll.runtime.doors.broker.response import ResponsePlans

_BODIED = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True)
class BrokerRoute:
    """A passage with the credential it uses. `opening` is our part of the head, `passed` are the
    client's header lines up to the value, with the value's index. `keys` are texts that may not
    come back. A request that `costs` is metered. A push to `pushed` passes the push gate. The body
    goes out only after it was checked when `judged` is set."""

    passage: Passage = field(repr=False)
    credential: CredentialRef
    method: str
    opening: bytes = field(repr=False)
    passed: tuple[tuple[int, bytes], ...]
    keys: Literals = field(repr=False)
    costs: bool
    plans: ResponsePlans
    pushed: BrokerRemote | None = field(default=None, repr=False)
    judged: bool = False

    def render_head(self, request: BrokerRequest) -> bytes:
        """Return the head of one request as the upstream receives it."""
        values, length = request.values, request.length
        lines = [self.opening, *[prefix + values[at] for at, prefix in self.passed]]
        if length is None:
            lines.append(b"\r\nTransfer-Encoding: chunked")
        elif length or self.method in _BODIED:
            lines.append(b"\r\nContent-Length: %d" % length)
        lines.append(b"\r\n\r\n")
        return b"".join(lines)


def make_route(
    request: BrokerRequest,
    passage: Passage,
    credential: CredentialRef,
    pushed: BrokerRemote | None = None,
) -> BrokerRoute:
    """Return the route of a passage for requests of this shape."""
    shape = request.shape
    ours = passage.headers[: len(passage.headers) - len(passage.passed)]
    opening = [f"{shape.method} {passage.target} HTTP/1.1", *map(": ".join, ours)]
    passed = [(at, f"\r\n{shape.names[at]}: ".encode("latin-1")) for at in passage.passed]
    return BrokerRoute(
        passage,
        credential,
        method=shape.method,
        opening="\r\n".join(opening).encode("latin-1"),
        passed=tuple(passed),
        keys=Literals(passage.masks),
        costs=_costs(passage, credential),
        plans=ResponsePlans(passage, shape.method, shape.http11),
        pushed=pushed,
    )


def _costs(passage: Passage, credential: CredentialRef) -> bool:
    return credential.kind == "provider" and credential.name in PRICES and passage.rule != "models"
