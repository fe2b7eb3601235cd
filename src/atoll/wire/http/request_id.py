"""The id of a request: a header that names it in every process that it reaches, and in their logs.

It comes from clients, so it is read strictly: what is malformed counts as absent. This module
loads in no time, for the command line.
"""

import re
from typing import Final

HEADER: Final = "X-Request-ID"

_REQUEST_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}").fullmatch


def read_request_id(text: str | None) -> str | None:
    """Return a request id; None when it is not 1 to 128 letters, digits and `._:-`."""
    return text if text and _REQUEST_ID(text) else None
