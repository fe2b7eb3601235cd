"""After `new`: which language tools the repository seems to want, and which are not inside."""

import base64
import binascii

from atoll.client.bodies import ExecBody
from atoll.client.client import Client
from atoll.client.shapes import Sandbox
from atoll.domain.errors import AtollError
from atoll.domain.repository.requirement import SCRIPT, Requirement, question, read_answer
from atoll.surfaces.cli.console.output import note

SECONDS = 10


def tell_requirements(api: Client, sandbox: Sandbox) -> None:
    """Print what each repository seems to need. An error only prints less."""
    for repo in sandbox.repos:
        path = repo.path
        try:
            found = _ask(api, sandbox, path)
        except AtollError:
            return
        if found:
            words = ", ".join(_spelled(one) for one in found)
            note(f"{path} seems to need {words}")


def _ask(api: Client, sandbox: Sandbox, path: str) -> tuple[Requirement, ...]:
    argv = ["/bin/sh", "-c", SCRIPT, "atoll", *question(path)]
    request: ExecBody = {"argv": argv, "cwd": "/workspace", "stdin": "", "timeout": SECONDS}
    ended = api.execs.run(sandbox.sandbox_id, request)
    try:
        said = base64.b64decode(ended.stdout, validate=True)
    except binascii.Error:
        return ()
    return read_answer(said.decode("ascii", "replace"))


def _spelled(one: Requirement) -> str:
    return f"{one.program} ({one.mark}{'' if one.there else ': not in this sandbox'})"
