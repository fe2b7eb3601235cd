"""Five tasks of one morning: who is asked for what, and what each model then does."""

from dataclasses import dataclass
from typing import Literal

from tests.e2e.agents.agent_world import TOOLS

Role = Literal["asks", "done", "fails", "works", "thinks"]
"""What home shows of a task at its height; one that `thinks` works, too, and asks later."""

TERMINAL = "at a terminal"
CARDS = "with cards, without asking"
ASKING = "with cards, asking before it acts"

LOGIN = """\
def log_in(name: str, password: str) -> bool:
    if name not in PEOPLE:
        return False
    return PEOPLE[name].accepts(password)
"""
BOATS = """\
def boats(harbour: Harbour) -> list[Boat]:
    return list(harbour.boats)
"""
HEALTH = """\
def health(store: Store) -> dict[str, str]:
    try:
        store.ping()
    except Exception:
        return {"status": "bad"}
    return {"status": "ok"}
"""
FILES = {
    "README.md": "# Harbour\n\nBerths for boats, by the night.\n",
    "harbour/login.py": LOGIN,
    "harbour/boats.py": BOATS,
}


@dataclass(frozen=True)
class Task:
    """One sentence for one agent, and the shell command that its model calls for."""

    role: Role
    agent: str
    mode: str
    sentence: str
    branch: str
    command: str
    says: str

    @property
    def script(self) -> str:
        """What the scripted model reads behind the sentence."""
        if self.role == "fails":
            return "[[fail]]"
        return f"[[hold {self.branch}]]{call(self, self.command)}[[say {self.says}]]"


def call(task: Task, command: str) -> str:
    """Return the call of a task's agent's own shell, by which it asks where it should."""
    quoted = command.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    if (task.agent, task.mode) == ("codex", ASKING):
        asks = '"sandbox_permissions":"require_escalated","justification":"It changes files."'
        return f'[[tool exec_command {{"cmd":"{quoted}",{asks}}}]]'
    return f"[[tool {TOOLS[task.agent].format(command=quoted)}]]"


def cast(
    *, asks: str, done: str, fails: str, works: str, thinks: str
) -> tuple[Task, Task, Task, Task, Task]:
    """Return the morning's tasks, each with the agent of its role."""
    return (
        Task(
            "done", done, TERMINAL,
            "Add a health check for the monitoring",
            "add-health-check-monitoring",
            f"cat > harbour/health.py <<'END'\n{HEALTH}END\n"
            "git add . && git commit -qm 'Add a health check'",
            "The health check is in harbour/health.py.",
        ),
        Task(
            "asks", asks, ASKING,
            "Fix the login: an empty password must be refused",
            "fix-login-empty-password-must-refused",
            "sed -i 's/not in PEOPLE/not in PEOPLE or not password/' harbour/login.py && "
            "git commit -qam 'Refuse an empty password'",
            "An empty password is refused now.",
        ),
        Task(
            "thinks", thinks, ASKING,
            "Sort the boats by name",
            "sort-boats-name",
            "sed -i 's/list(harbour.boats)/sorted(harbour.boats)/' harbour/boats.py && "
            "git commit -qam 'Sort the boats by name'",
            "The boats are sorted by name.",
        ),
        Task(
            "works", works, TERMINAL,
            "Write an example for the README",
            "write-example-readme",
            "echo 'Try it: python -m harbour' >> README.md",
            "The README has an example.",
        ),
        Task(
            "fails", fails, CARDS,
            "Rename boats to vessels everywhere",
            "rename-boats-vessels-everywhere",
            "true",
            "",
        ),
    )  # fmt: skip


COMMENTS = (
    ('"bad"', "Say which store is down, please."),
    ('"ok"', "Add the number of boats here."),
)
"""Comments on lines of the task that is done: a word of the line, and what is to be changed."""
REVISED = HEALTH.replace('{"status": "bad"}', '{"status": "bad", "store": store.name}').replace(
    '{"status": "ok"}', '{"status": "ok", "boats": str(store.count())}'
)


def revision(task: Task) -> str:
    """Return what the model does about the comments."""
    command = f"cat > harbour/health.py <<'END'\n{REVISED}END"
    return f"[[hold {task.branch}-2]]{call(task, command)}[[say Both are in harbour/health.py.]]"
