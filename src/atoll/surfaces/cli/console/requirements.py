"""After `new`: language tools that a repository seems to want, submodules and LFS objects that it
has, and which of them are not inside."""

import base64
import binascii
import shlex

from atoll.client.client import Client
from atoll.client.made.execs import ExecBody
from atoll.client.made.sandboxes.views import Repo, Sandbox
from atoll.domain.errors import AtollError
from atoll.domain.repository.requirement import SCRIPT, Requirement, question, read_answer
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.console.waiting import name_of
from atoll.wire.words.walls import WORKSPACE

SECONDS = 10
SHOWN = 5


def tell_requirements(api: Client, sandbox: Sandbox) -> None:
    """Print what each repository seems to need. An error only prints less."""
    for repo in sandbox.repos:
        path = repo.path
        try:
            found = _ask(api, sandbox, path)
        except AtollError:
            return
        if found:
            words = ", ".join(_line_of(one) for one in found)
            note(f"{path} seems to need {words}")


def _ask(api: Client, sandbox: Sandbox, path: str) -> tuple[Requirement, ...]:
    argv = ["/bin/sh", "-c", SCRIPT, "atoll", *question(path)]
    request: ExecBody = {"argv": argv, "cwd": WORKSPACE, "stdin": "", "timeout": SECONDS}
    ended = api.execs.run(sandbox.sandbox_id, request)
    try:
        said = base64.b64decode(ended.stdout, validate=True)
    except binascii.Error:
        return ()
    return read_answer(said.decode("ascii", "replace"))


def _line_of(one: Requirement) -> str:
    return f"{one.program} ({one.mark}{'' if one.there else ': not in this sandbox'})"


def left_out(sandbox: Sandbox, repo: Repo) -> list[str]:
    """Return a sentence for each kind of thing that was not brought along, with the command that
    brings it."""
    said = []
    inside = f"atoll exec {name_of(sandbox)} --cwd {shlex.quote(repo.path)} --"
    if paths := repo.submodules:
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        said.append(
            f"submodules are not laid out ({', '.join(paths[:SHOWN])}{more}): "
            f"`{inside} git submodule update --init --recursive` brings them"
        )
    if count := repo.lfs_files:
        files = f"{count} file{'' if count == 1 else 's'}"
        said.append(f"{files} of LFS are pointers: `{inside} git lfs pull` brings them")
    return said


def tell_left_out(sandbox: Sandbox) -> None:
    """Print what a new sandbox does not have."""
    for repo in sandbox.repos:
        for line in left_out(sandbox, repo):
            note(f"{repo.path}: {line}")
