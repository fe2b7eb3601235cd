"""Short responses that a door makes itself. The connection ends after each."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RefusalResponse:
    """A refusal as a problem document. `status` is the HTTP status and its phrase."""

    status: str
    code: str
    detail: str

    def encode(self) -> bytes:
        """Return the whole HTTP response."""
        number = int(self.status.split(" ", 1)[0])
        title = self.status.split(" ", 1)[1]
        problem = {
            "type": "about:blank",
            "title": title,
            "status": number,
            "code": self.code,
            "detail": self.detail,
        }
        body = json.dumps(problem).encode()
        head = (
            f"HTTP/1.1 {self.status}\r\nContent-Type: application/problem+json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        return head.encode() + body


def text_response(status: str, text: str, *, code: int | None = None) -> bytes:
    """Return a whole HTTP response with one line of text, and the exit `code` of a command."""
    ended = "" if code is None else f"Atoll-Exit: {code}\r\n"
    body = f"{text}\n".encode() if text else b""
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n{ended}Connection: close\r\n\r\n"
    )
    return head.encode() + body
