"""The trial of one agent in a running Atoll: each thing that Atoll relies on, one after the other.

What an agent cannot do by its kind is said as such, and is no failure.
"""

import json
import re
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from atoll.domain.agents.agent import Agent
from atoll.domain.agents.login_use import LOGIN_USES, LoginInside
from atoll.domain.errors import Failed
from atoll.domain.wall.interior import BROKER
from atoll.testing.model_server import ModelServer
from atoll.testing.server import TestServer

TOOLS: Final = {
    "codex": 'exec_command {{"cmd":"{command}"}}',
    "claude-code": 'Bash {{"command":"{command}","description":"write"}}',
    "opencode": 'bash {{"command":"{command}","description":"write"}}',
    "qwen-code": 'run_shell_command {{"command":"{command}","is_background":false}}',
    "gemini-cli": 'run_shell_command {{"command":"{command}"}}',
    "acp:copilot": 'bash {{"command":"{command}","description":"write"}}',
    "acp:kimi": 'Bash {{"command":"{command}","description":"write"}}',
}
"""A call of each agent's shell tool."""

ASKING: Final = {
    "codex": (
        'exec_command {{"cmd":"{command}","sandbox_permissions":"require_escalated",'
        '"justification":"write"}}'
    )
}
"""The same where an agent asks its person for some calls alone."""

CHOICES: Final = {
    "opencode": {
        "OPENCODE_CONFIG_CONTENT": '{"model":"openai/gpt-5","small_model":"openai/gpt-5"}'
    },
    "qwen-code": {"OPENAI_MODEL": "fake-model"},
    "gemini-cli": {"GEMINI_MODEL": "gemini-2.5-flash"},
    "aider": {"AIDER_MODEL": "openai/fake-model"},
}
"""The model, which a person has to choose."""

_ASKS: Final = {
    "claude-code": (
        'AskUserQuestion {"questions":[{"question":"Which?","header":"Which",'
        '"multiSelect":false,"options":[{"label":"One","description":"1"},'
        '{"label":"Two","description":"2"}]}]}'
    )
}
"""A call of the tool by which an agent asks its person."""

_LOGIN_ROWS: Final = {
    "broker/chatgpt/backend-api/codex": "broker/openai/v1",
    "broker/claude": "broker/anthropic",
}
"""The model server stands behind the rows of keys, and a login is that of nobody."""

# Words: each file of a login with its content, `--`, and the command.
_LOGIN: Final = """
export HOME=/tmp/login CODEX_HOME=/tmp/login/.codex; unset CLAUDE_CONFIG_DIR OPENAI_API_KEY
mkdir -p "$HOME"
while [ "$1" != -- ]; do
  mkdir -p "$HOME/${1%/*}"; printf %s "$2" > "$HOME/$1"; shift 2
done
shift; exec "$@"
"""

_MODE_OPTIONS: Final = ("--permission-mode", "--approval-mode")
_TOOL_NAMES: Final = re.compile(r"mcp__atoll|atoll_+[a-z]")
SECONDS: Final = 180.0
"""A machine with other work takes ten times what a calm one does."""


@dataclass(frozen=True, slots=True)
class TrialLine:
    """A line of the report. `works` is None where it does not apply."""

    check: str
    works: bool | None
    detail: str = ""

    @property
    def line(self) -> str:
        """The line as a person reads it."""
        word = {True: "works", False: "FAILS", None: "-"}[self.works]
        return f"{word:<6} {self.check:<18} {self.detail}".rstrip()


class AgentTrial:
    """The trial of one agent in one version; `tool` is a call of its shell tool."""

    def __init__(
        self, server: TestServer, model: ModelServer, agent: Agent, version: str, tool: str
    ) -> None:
        self._server = server
        self._model = model
        self._agent = agent
        self._version = version
        self._tool = tool
        self._box = ""
        self._typed = ""

    def run(self) -> Iterator[TrialLine]:
        """Yield the outcome of each check, in order."""
        machine = self._agent.machine is not None
        yield self._report("a sandbox has it", self._try_sandbox)
        if not self._box:
            return
        yield self._report("a task", self._try_task if self._agent.task_argv else None)
        yield self._report("the key stays out", self._try_placeholder)
        yield self._report("a login", self._try_login if self._agent.name in LOGIN_USES else None)
        yield self._report("asks first", self._try_asking if machine and self._tool else None)
        yield self._report("allows all", self._try_allowing if machine and self._tool else None)
        question = _ASKS.get(self._agent.name)
        yield self._report("questions", self._try_question if question and machine else None)
        at_terminal = self._agent.argv and self._agent.prompt_argv is not None and self._tool
        yield self._report("hooks and cards", self._try_terminal if at_terminal else None)
        yield self._report("permission mode", self._try_mode if self._typed else None)
        yield self._report("Atoll's tools", self._try_tools if self._agent.mcp else None)
        yield self._report("resumes", self._try_resuming if at_terminal or machine else None)

    def _report(self, check: str, act: "Callable[[], str] | None") -> TrialLine:
        if act is None:
            return TrialLine(check, None, "not tried: this agent has none, or no script for it")
        since = time.monotonic()
        try:
            detail = act()
        except (Failed, OSError, KeyError, ValueError, subprocess.TimeoutExpired) as error:
            return TrialLine(check, False, getattr(error, "message", str(error))[-300:])
        return TrialLine(check, True, f"{detail} ({time.monotonic() - since:.1f} s)")

    def _try_sandbox(self) -> str:
        env = [f"--env={k}={v}" for k, v in CHOICES.get(self._agent.name, {}).items()]
        reference = f"{self._agent.name}@{self._version}" if self._version else self._agent.name
        made = self._server.run("new", "--agent", reference, "--detach", "--json", *env)
        if made.returncode:
            raise Failed(made.stderr.strip())
        self._box = str(json.loads(made.stdout)["sandbox_id"])
        if not self._agent.argv:
            return "its command answers `initialize`"
        done = self._run_inside(self._agent.command, "--version")
        return f"it says {done.strip().splitlines()[-1][:60]!r}"

    def _try_task(self) -> str:
        words = self._prompt_to_write("task") if self._tool else "[[write task.txt made]]"
        self._run_inside("env", *_environment(self._agent), *self._agent.task_argv, words)
        self._check_file("task")
        return "one prompt, run to its end, wrote a file"

    def _try_placeholder(self) -> str:
        if self._model.rejected:
            raise Failed(f"{self._model.rejected} requests came to the model without the key")
        half = self._model.key[len(self._model.key) // 2 :]
        look = 'env | grep -F -- "$1"; grep -rlF -- "$1" "$HOME" /workspace; :'
        output = self._run_inside("sh", "-c", look, "sh", half)
        if output.strip():
            raise Failed(f"the key is inside: {output.strip()}")
        return f"{len(self._model.requests)} requests had it outside"

    def _try_login(self) -> str:
        use = LOGIN_USES[self._agent.name]
        files = [
            word
            for file in use.files
            for word in (file.path, _by_key(file.of(LoginInside("account"))))
        ]
        env = [f"{name}={_by_key(value)}" for name, value in use.environment(BROKER)]
        argv = (*self._agent.task_argv, self._prompt_to_write("login"))
        self._run_inside("sh", "-c", _LOGIN, "sh", *files, "--", "env", *env, *argv)
        self._check_file("login")
        return "it works with a login whose tokens are placeholders"

    def _try_asking(self) -> str:
        tool = ASKING.get(self._agent.name, self._tool)
        prompt = self._prompt_to_write("asked", tool)
        agent = self._start_agent({"mode": "machine", "permissions": "ask", "prompt": prompt})
        card = self._wait_for(lambda: self._card(agent, "approval", "pending"), "it did not ask")
        if self._exists("asked"):
            raise Failed("it acted before it was allowed")
        option = next(option["id"] for option in card["options"] if option["effect"] == "allow")
        self._answer(agent, card, option)
        self._wait_for(lambda: self._exists("asked") or None, "it did not act once allowed")
        return "it asked, and acted once allowed"

    def _try_allowing(self) -> str:
        agent = self._start_writing("machine", "allowed")
        self._wait_for(lambda: self._exists("allowed") or None, "it did not act: its mode asks")
        self._wait_for(lambda: self._card(agent, "turn", "done"), "its turn did not end")
        return "it acted without a question"

    def _try_question(self) -> str:
        prompt = f"Please ask. [[tool {_ASKS[self._agent.name]}]]"
        agent = self._start_agent({"mode": "machine", "permissions": "ask", "prompt": prompt})
        card = self._wait_for(lambda: self._card(agent, "question", "pending"), "it did not ask")
        self._answer(agent, card, "Two")
        self._wait_for(lambda: self._card(agent, "turn", "done"), "its turn did not end")
        return "asked on a card, and answered by it"

    def _try_terminal(self) -> str:
        agent = self._typed = self._start_writing("tui", "typed")
        self._wait_for(lambda: self._exists("typed") or None, "no file was written at its terminal")
        self._wait_for(
            lambda: self._card(agent, "turn", "done"), "no hook or transcript ended its turn"
        )
        kinds = {str(card["kind"]) for card in self._cards(agent)}
        lacking = {"turn", "text"} - kinds
        if lacking or not kinds & {"bash", "tool-call"}:
            raise Failed(f"its cards are {', '.join(sorted(kinds))} only")
        return f"a turn began and ended; cards: {', '.join(sorted(kinds))}"

    def _try_mode(self) -> str:
        if self._card(self._typed, "approval", "pending"):
            raise Failed("it asks at its terminal, where all is allowed")
        argv = self._agent.argv
        named = next((at for at, word in enumerate(argv) if word in _MODE_OPTIONS), None)
        if named is None:
            return "it acted without a question at its terminal; its configuration says so"
        words = " ".join(argv[named : named + 2])
        running = self._run_inside("sh", "-c", r"cat /proc/*/cmdline 2>/dev/null | tr '\0' ' '; :")
        if words not in running:
            raise Failed(f"no process runs with {words}")
        return f"it acted without a question at its terminal, with {words}"

    def _try_tools(self) -> str:
        if not any(_TOOL_NAMES.search(body) for body in self._model.bodies):
            raise Failed("no request to the model named one")
        return "the model was offered them"

    def _try_resuming(self) -> str:
        self._run_command("stop", self._box)
        self._run_command("start", self._box)
        log = self._run_command("logs", self._box)
        if "goes on in its conversation" not in log:
            raise Failed(f"no conversation goes on: {log.strip()[-200:]}")
        return "its conversation goes on after a stop and a start"

    # What the checks are made of.

    def _prompt_to_write(self, file: str, tool: str = "") -> str:
        command = f"echo made > {file}.txt"
        return f"Please write. [[tool {(tool or self._tool).format(command=command)}]]"

    def _start_writing(self, mode: str, file: str) -> str:
        return self._start_agent({"mode": mode, "prompt": self._prompt_to_write(file)})

    def _start_agent(self, body: dict[str, str]) -> str:
        agent = self._call("POST", "/agents", {"agent": self._agent.name, **body})
        return str(agent["id"])

    def _answer(self, agent: str, card: dict[str, Any], option: str) -> None:
        path = f"/terminals/{agent}/cards/{card['id']}/answer"
        self._call("POST", path, {"option": option})

    def _card(self, agent: str, kind: str, state: str) -> dict[str, Any] | None:
        cards = [c for c in self._cards(agent) if (c["kind"], c["state"]) == (kind, state)]
        if state == "pending":
            cards = [card for card in cards if card["data"].get("answerable") is True]
        return cards[-1] if cards else None

    def _cards(self, agent: str) -> list[dict[str, Any]]:
        return list(self._call("GET", f"/terminals/{agent}/cards?since=0")["cards"])

    def _exists(self, file: str) -> bool:
        done = self._server.run("exec", self._box, "--", "cat", f"/workspace/{file}.txt")
        return done.returncode == 0 and done.stdout.strip() == "made"

    def _check_file(self, file: str) -> None:
        if not self._exists(file):
            raise Failed(f"it ended, but {file}.txt is not there")

    def _run_inside(self, *words: str) -> str:
        return self._run_command("exec", self._box, "--", *words)

    def _run_command(self, *words: str) -> str:
        done = self._server.run(*words, timeout=2 * SECONDS, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise Failed(f"{words[0]} ended with {done.returncode}: {_last_words(done)}")
        return str(done.stdout)

    def _wait_for(self, look: Callable[[], Any], failure: str) -> Any:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            outcome = look()
            if outcome is not None:
                return outcome
            time.sleep(0.2)  # asks a server that has no wait for this
        raise Failed(failure)

    def _call(self, method: str, path: str, body: object = None) -> Any:
        request = urllib.request.Request(  # noqa: S310 - ours
            f"{self._server.url}/v1/sandboxes/{self._box}{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._server.token}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310 - ours
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as error:
            problem = json.loads(error.read() or b"{}")
            raise Failed(str(problem.get("detail") or error)) from error


def _by_key(text: str) -> str:
    """Return a text with the rows of the broker that have a key instead of a login."""
    for login, key in _LOGIN_ROWS.items():
        text = text.replace(login, key)
    return text


def _environment(agent: Agent) -> list[str]:
    return [f"{name}={value}" for name, value in CHOICES.get(agent.name, {}).items()]


def _last_words(done: Any) -> str:
    return " ".join((done.stderr + done.stdout).split())[-240:]
