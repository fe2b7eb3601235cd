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


def print_requirements(api: Client, sandbox: Sandbox) -> None:
    """Print what each repository seems to need. An error only prints less."""
    for repo in sandbox.repos:
        path = repo.path
        try:
            requirements = _ask(api, sandbox, path)
        except AtollError:
            return
        if requirements:
            words = ", ".join(_line_of(requirement) for requirement in requirements)
            note(f"{path} seems to need {words}")


def _ask(api: Client, sandbox: Sandbox, path: str) -> tuple[Requirement, ...]:
    argv = ["/bin/sh", "-c", SCRIPT, "atoll", *question(path)]
    request: ExecBody = {"argv": argv, "cwd": WORKSPACE, "stdin": "", "timeout": SECONDS}
    ended = api.execs.run(sandbox.sandbox_id, request)
    try:
        output = base64.b64decode(ended.stdout, validate=True)
    except binascii.Error:
        return ()
    return read_answer(output.decode("ascii", "replace"))


def _line_of(requirement: Requirement) -> str:
    absent = "" if requirement.there else ": not in this sandbox"
    return f"{requirement.program} ({requirement.mark}{absent})"


def missing_parts(sandbox: Sandbox, repo: Repo) -> list[str]:
    """Return a sentence for each kind of thing that was not brought along, with the command that
    brings it."""
    sentences = []
    inside = f"atoll exec {name_of(sandbox)} --cwd {shlex.quote(repo.path)} --"
    if paths := repo.submodules:
        more = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
        sentences.append(
            f"submodules are not laid out ({', '.join(paths[:SHOWN])}{more}): "
            f"`{inside} git submodule update --init --recursive` brings them"
        )
    if count := repo.lfs_files:
        files = f"{count} file{'' if count == 1 else 's'}"
        sentences.append(f"{files} of LFS are pointers: `{inside} git lfs pull` brings them")
    return sentences


def print_missing_parts(sandbox: Sandbox) -> None:
    """Print what a new sandbox does not have."""
    for repo in sandbox.repos:
        for line in missing_parts(sandbox, repo):
            note(f"{repo.path}: {line}")
