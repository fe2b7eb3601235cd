"""The jobs of one `atoll new`: a sandbox each, one for every agent that was named.

Several agents receive the same prompt on branches of their own, which end with the agent's name.
A prompt from the standard input is kept in a file where no sandbox comes of it.
"""

import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from tempfile import NamedTemporaryFile

import click

from atoll.domain.errors import Invalid
from atoll.domain.repository.branch import branch_for_agent
from atoll.surfaces.cli.console.memory import state_file
from atoll.surfaces.cli.console.output import note
from atoll.surfaces.cli.console.plan import SandboxPlan
from atoll.surfaces.cli.create.issues import IssuePlan
from atoll.surfaces.cli.create.project import ProjectUse
from atoll.wire.words.sandboxes import MAX_TASK_PROMPT

FROM_STDIN = "-"
MAX_KEPT_BYTES = 16 * 2**20
MAX_KEPT_PROMPTS = 20
"""Prompts that are kept; an older one goes when another comes."""


@dataclass(frozen=True, slots=True)
class Job:
    """A sandbox to make. `group` names the jobs that have the same prompt, `base` the branch that
    theirs are named after, `issue` is the address of what the prompt began with. `webhook` is the
    endpoint of its events and the name of the secret that signs them; no preset keeps it."""

    plan: SandboxPlan
    name: str | None = None
    prompt: str | None = None
    group: str | None = None
    max_working: int | None = None
    project: ProjectUse | None = None
    base: str | None = None
    issue: str | None = None
    webhook: tuple[str, str] | None = None

    @property
    def sends(self) -> bool:
        """True when this machine sends files once the sandbox is ready."""
        copies = self.project is not None and self.project.copies
        return bool(self.plan.copy or self.plan.mirror or copies)

    @property
    def sets_up_later(self) -> bool:
        """True when this machine starts the set-up, after it sent its files."""
        return self.sends and self.project is not None and self.project.sets_up

    @property
    def prompts_later(self) -> bool:
        """True when this machine gives the agent its task: no set-up does, once it is done."""
        return self.sends and not self.sets_up_later


@dataclass(slots=True)
class PromptKeeper:
    """The keeper of a prompt that was read from the standard input, where nobody else has it."""

    environ: Mapping[str, str]
    data: bytes = b""

    def read(self, text: str | None) -> str | None:
        """Return the prompt; `-` reads it from the standard input. Raises `UsageError` for an empty
        or a long one, `Invalid` for one that is not UTF-8."""
        if text == FROM_STDIN:
            self.data = sys.stdin.buffer.read(MAX_KEPT_BYTES)
            try:
                text = self.data.decode()
            except UnicodeDecodeError as error:
                raise Invalid(f"the prompt on standard input is not UTF-8: {error}") from error
        if text is not None:
            _check(text)
        return text

    @contextmanager
    def keep_unless_done(self) -> Iterator[None]:
        """Keep the prompt when the block ends with an error."""
        try:
            yield
        except BaseException:
            self.keep()
            raise

    def keep(self) -> None:
        """Write the prompt to a file and name it; where that fails, print the prompt."""
        if not self.data.strip():
            return
        folder = state_file(self.environ, "prompts")
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with NamedTemporaryFile(  # 0600
                dir=folder, prefix="prompt-", suffix=".txt", delete=False
            ) as file:
                file.write(self.data)
            files = sorted(folder.glob("prompt-*.txt"), key=lambda path: path.stat().st_mtime)
            for path in files[:-MAX_KEPT_PROMPTS]:
                path.unlink(missing_ok=True)
        except OSError as error:
            note(f"atoll: your prompt could not be kept ({error.strerror}); it was:")
            note(self.data.decode("utf-8", "replace"))
            return
        note(f"atoll: your prompt is kept: `atoll new … --prompt - < {file.name}`")


def _check(text: str) -> None:
    """Raise `UsageError` for a prompt that is empty or long."""
    if not text.strip():
        raise click.UsageError("The prompt is empty: write what the agent is to do.")
    if len(text.encode("utf-8", "surrogatepass")) > MAX_TASK_PROMPT:
        raise click.UsageError(
            f"The prompt is longer than {MAX_TASK_PROMPT} bytes: put it into a file of the "
            "repository and name that file."
        )


def jobs(
    planned: IssuePlan,
    agents: tuple[str, ...],
    *,
    name: str | None,
    max_working: int | None,
    webhook: tuple[str, str] | None = None,
) -> list[Job]:
    """Return a job for each agent. Raises `UsageError` for several agents without a prompt."""
    plan, prompt = planned.plan, planned.prompt
    most = max_working if prompt else None
    if len(agents) < 2:
        return [Job(plan, name, prompt, max_working=most, issue=planned.issue, webhook=webhook)]
    if prompt is None:
        raise click.UsageError("Several agents need a --prompt, which each of them receives.")
    if len(set(agents)) < len(agents):
        raise click.UsageError("Name each agent once.")
    group = f"tg_{uuid.uuid4().hex[:16]}"
    # Without a branch the server names one after the prompt and the agent.
    branch = plan.branch
    return [
        Job(
            replace(plan, agent=agent, branch=branch and branch_for_agent(branch, agent)),
            None if name is None else branch_for_agent(name, agent),
            prompt,
            group,
            max_working=most,
            base=plan.branch,
            issue=planned.issue,
            webhook=webhook,
        )
        for agent in agents
    ]
