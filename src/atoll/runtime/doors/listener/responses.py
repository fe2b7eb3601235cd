"""A door's short way of saying no: a whole HTTP answer, after which the connection ends."""

import json
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Closed:
    """Why a door is closed. `status` is the HTTP status and its phrase."""

    status: str
    code: str
    detail: str

    def answer(self) -> bytes:
        """The whole HTTP answer."""
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
