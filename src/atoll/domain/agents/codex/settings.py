"""Model and permission mode of Codex. Both are sent with the next turn and hold from then on."""

from dataclasses import dataclass

from atoll.domain.agents.card import Value
from atoll.domain.agents.codex.turns import opens
from atoll.domain.agents.lenient_json import Message, read_objects, read_text
from atoll.domain.agents.settings import SettingName, setting, with_value
from atoll.wire.contract.agents import SettingsRecord


@dataclass(frozen=True, slots=True)
class _Mode:
    """A permission mode as people know it from Codex: when it asks, and its own sandbox."""

    label: str
    approvals: str
    thread: str
    turn: str


_MODES = {
    "read-only": _Mode("Read only, asks for the rest", "on-request", "read-only", "readOnly"),
    "ask": _Mode("Ask to go beyond its files", "on-request", "workspace-write", "workspaceWrite"),
    # Codex's setting that turns its own sandbox off: it runs in ours.
    "full-access": _Mode("Allow everything", "never", "danger-full-access", "dangerFullAccess"),
}


class CodexSettings:
    """The settings of one Codex."""

    def __init__(self, *, asks: bool) -> None:
        modes = [(name, mode.label) for name, mode in _MODES.items()]
        self._start = "ask" if asks else "full-access"
        self._model = ""
        self._moved = False
        self.record = SettingsRecord(
            model=setting("", (), free=True), permission_mode=setting(self._start, modes)
        )

    def thread_params(self) -> dict[str, Value]:
        """Return what a thread starts with."""
        mode = _MODES[self._start]
        return {"approvalPolicy": mode.approvals, "sandbox": mode.thread}

    def turn_params(self) -> dict[str, Value]:
        """Return what a turn starts with: nothing while nobody changed anything."""
        params: dict[str, Value] = {"model": self._model} if self._model else {}
        if self._moved and self.record.permission_mode is not None:
            mode = _MODES[self.record.permission_mode.now]
            policy: dict[str, Value] = {"type": mode.turn}
            params |= {"approvalPolicy": mode.approvals, "sandboxPolicy": policy}
        return params

    def held(self, method: str, params: Message) -> dict[str, Value]:
        """Return the params of a worker's request under the permissions of this agent. Codex would
        take those of its config file otherwise, which the agent itself can write."""
        if opens(method):
            return {**params, **self.thread_params()}
        if method == "turn/start":
            ours = self.turn_params()
            model: dict[str, Value] = {"model": ours.pop("model")} if "model" in ours else {}
            return {**model, **params, **ours}
        return dict(params)

    def started(self, result: Message) -> SettingsRecord:
        """Read the answer to a thread's start: its model, unless a person named one meanwhile."""
        self.record = with_value(self.record, "model", self._model or read_text(result, "model"))
        return self.record

    def offered(self, result: Message) -> SettingsRecord:
        """Read the list of models."""
        shown = [model for model in read_objects(result, "data") if model.get("hidden") is not True]
        pairs = [
            (read_text(model, "model", "id"), read_text(model, "displayName")) for model in shown
        ]
        present = self.record.model.now if self.record.model is not None else ""
        self.record = SettingsRecord(
            model=setting(present, pairs, free=True), permission_mode=self.record.permission_mode
        )
        return self.record

    def change(self, name: SettingName, value: str) -> SettingsRecord:
        """Take a person's change, for the next turn."""
        if name == "model":
            self._model = value
        else:
            self._moved = True
        self.record = with_value(self.record, name, value)
        return self.record
