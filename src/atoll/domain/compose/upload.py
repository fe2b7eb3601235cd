"""A compose file that came with a create, in place of one of the sandbox's repository.

Only its size is judged here: what it may say is judged at each start (`domain.compose.reading`), as
it is of a file of the repository.
"""

from typing import Final

from atoll.domain.errors import Invalid
from atoll.domain.profile.yaml_tree import MAX_BYTES

FIELD: Final = "inputs.compose_bundle"


def check_upload(text: str | None, *, ref: str | None) -> None:
    """Raise `Invalid` for a file beside a reference to one, and for what is no text of its size."""
    if text is None:
        return
    if ref is not None:
        raise Invalid("give a compose file or a reference to one, not both", field=FIELD)
    size = len(text.encode("utf-8", "surrogatepass"))
    if not text.strip() or "\0" in text or size > MAX_BYTES:
        raise Invalid(f"a compose file is 1 to {MAX_BYTES} bytes of text without NUL", field=FIELD)
