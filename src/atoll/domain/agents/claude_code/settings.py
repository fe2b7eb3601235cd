"""Model and permission mode of Claude Code, as its control messages report and change them.

Claude accepts any word as a mode, also one that does not exist: only its documented ones are
offered.
"""

from atoll.domain.agents.lenient_json import Message, read_object, read_objects, read_text
from atoll.domain.agents.settings import SettingName, setting, with_value
from atoll.wire.contract.agents import SettingsRecord

_MODES = (
    ("default", "Ask before each action"),
    ("acceptEdits", "Accept edits"),
    ("plan", "Plan only"),
)
_BYPASS = ("bypassPermissions", "Allow everything")
"""A mode for an agent that was started with it only; Claude refuses it otherwise."""


class ClaudeSettings:
    """The settings of one Claude, and the changes that it has not answered yet. `changed` holds
    what a person has changed, which a new start does not know."""

    def __init__(self, *, asks: bool) -> None:
        modes = _MODES if asks else (*_MODES, _BYPASS)
        start = "default" if asks else _BYPASS[0]
        self.record = SettingsRecord(
            model=setting("", (), free=True), permission_mode=setting(start, modes)
        )
        self.changed: dict[SettingName, str] = {}
        self._names: dict[str, str] = {}
        self._changes: dict[str, tuple[SettingName, str]] = {}

    def asked(self, request: str, name: SettingName, value: str) -> None:
        """Remember a change until Claude answers it."""
        self._changes = {request: (name, value)}

    def replied(self, response: Message) -> tuple[SettingsRecord | None, str | None]:
        """Read the answer to one of our requests: the new settings, and how a change ended."""
        models = read_objects(read_object(response, "response"), "models")
        if models:
            return self._note_models(models), None
        change = self._changes.pop(read_text(response, "request_id"), None)
        if change is None:
            return None, None
        if read_text(response, "subtype") != "success":
            return None, read_text(response, "error") or "Claude gave no reason"
        self.changed[change[0]] = change[1]
        return self._set(*change), ""

    def told(self, message: Message) -> SettingsRecord | None:
        """Read a system message; None where it says nothing new."""
        before = self.record
        mode, model = read_text(message, "permissionMode"), read_text(message, "model")
        if mode:
            self._set("permission_mode", mode)
        if model and read_text(message, "subtype") == "init":
            self._set("model", self._name_of(model))
        return None if self.record == before else self.record

    def _note_models(self, models: list[Message]) -> SettingsRecord:
        """Record the models that the agent offers."""
        pairs = [(read_text(model, "value"), read_text(model, "displayName")) for model in models]
        present = self.record.model.now if self.record.model is not None else ""
        model = setting(present or "default", pairs, free=True)
        offered = {choice.id for choice in model.choices}
        self._names = {
            read_text(model, "value"): read_text(model, "resolvedModel")
            for model in models
            if read_text(model, "value") in offered
        }
        self.record = SettingsRecord(model=model, permission_mode=self.record.permission_mode)
        return self.record

    def _name_of(self, model: str) -> str:
        """Return the choice that stands for a model; the present one if it does."""
        present = self.record.model.now if self.record.model is not None else ""
        standing = [name for name, resolved in self._names.items() if resolved == model]
        if present in standing:
            return present
        return standing[0] if standing else model

    def _set(self, name: SettingName, value: str) -> SettingsRecord:
        self.record = with_value(self.record, name, value)
        return self.record
