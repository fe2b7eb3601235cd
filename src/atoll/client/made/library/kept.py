"""Kept worktrees: files and commits that outlived their sandbox.

Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.transport import Call, Pairs, Transport, api_path, get


class Kept(Shape):
    """A worktree that outlived its sandbox. `path` is its directory on the server; `bundles` are
    the numbers of the repositories whose new commits are there. `generation` is set for work
    that a recreate saved; without `tree` there is no archive. `pushed` is the branch of a held
    push, whose sandbox may still be there."""

    kept_id = fields.text()
    sandbox_id = fields.text()
    sandbox_name = fields.text()
    path = fields.text()
    bytes = fields.number()
    bundles = fields.numbers()
    kept_at = fields.text()
    kept_until = fields.text()
    generation = fields.number()
    tree = fields.flag()
    pushed = fields.text()


class KeptList(Shape):
    """The caller's kept worktrees, newest first."""

    kept = fields.many(Kept)
    next = fields.text()


class KeptFiles:
    """Files the server keeps of sandboxes that were destroyed or recreated. Every method raises
    the classes of `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, *, query: Pairs = ()) -> KeptList:
        """Return the worktrees and work kept from sandboxes that were destroyed or recreated."""
        return self._transport.read_all(KeptList, get("kept", query=query))

    def get(self, kept_id: str) -> Kept:
        """Return one kept worktree."""
        return self._transport.read(Kept, get("kept", kept_id))

    def delete(self, kept_id: str) -> None:
        """Delete the kept worktree permanently."""
        self._transport.call(Call("DELETE", api_path("kept", kept_id)))
