"""Model and permission mode of an agent that speaks ACP: its modes, models and select options.

While everything is allowed (the agent was started so) Atoll approves each request by itself. That
is a mode of its own here, `ALLOW_ALL`: another mode sends the requests to the person again.
"""

from msgspec.structs import replace

from atoll.domain.agents.card import Value
from atoll.domain.agents.lenient_json import Message, read_object, read_objects, read_text
from atoll.domain.agents.settings import (
    SettingName,
    reported_settings,
    selected_option,
    setting,
    with_value,
)
from atoll.wire.contract.agents import SettingsRecord

ALLOW_ALL, ASK = "allow-all", "ask"
_CATEGORIES: tuple[tuple[SettingName, str], ...] = (("model", "model"), ("permission_mode", "mode"))


class AcpSettings:
    """The settings of one session."""

    def __init__(self, *, asks: bool) -> None:
        self.asks = asks
        self.record = SettingsRecord()
        self._has_modes = False
        self._options: dict[SettingName, str] = {}
        self._own_mode = ASK

    def opened(self, result: Message) -> SettingsRecord:
        """Read the answer to the session's start."""
        self._take(reported_settings(result))
        self._take_options(read_objects(result, "configOptions"), only_new=True)
        self._has_modes = self.record.permission_mode is not None
        return self._settings_record()

    def told(self, update: Message) -> SettingsRecord | None:
        """Read a notification of the session; None where it is about something else."""
        match read_text(update, "sessionUpdate"):
            case "current_mode_update":
                self._own_mode = read_text(update, "currentModeId")
            case "config_option_update":
                self._take_options(read_objects(update, "configOptions"))
            case _:
                return None
        return self._settings_record()

    def request(self, name: SettingName, value: str) -> tuple[str, dict[str, Value]] | None:
        """Return the method and parameters of a change; None where Atoll makes it by itself."""
        if name == "permission_mode" and (value == ALLOW_ALL or not self._has_modes):
            return None
        option = self._options.get(name)
        if option is not None:
            return "session/set_config_option", {"configId": option, "value": value}
        if name == "model":
            return "session/set_model", {"modelId": value}
        return "session/set_mode", {"modeId": value}

    def changed(self, name: SettingName, value: str) -> SettingsRecord:
        """Take a change that the agent accepted."""
        if name == "model":
            self.record = with_value(self.record, name, value)
        elif value == ALLOW_ALL:
            self.asks = False
        else:
            self.asks, self._own_mode = True, value
        return self._settings_record()

    def _take(self, record: SettingsRecord) -> None:
        if record.permission_mode is not None:
            self._own_mode = record.permission_mode.now
        self.record = record

    def _take_options(self, options: list[Message], *, only_new: bool = False) -> None:
        """Take select options; with `only_new` those for which there is no other method."""
        for name, category in _CATEGORIES:
            selected = selected_option(options, category)
            if selected is None or (only_new and getattr(self.record, name) is not None):
                continue
            if only_new:
                self._options[name] = selected[0]
            if name == "model":
                self.record = replace(self.record, model=selected[1])
            else:
                self._own_mode = selected[1].now
                self.record = replace(self.record, permission_mode=selected[1])

    def _settings_record(self) -> SettingsRecord:
        """Return the settings with Atoll's own mode beside the agent's."""
        modes = self.record.permission_mode
        choices = () if modes is None else modes.choices
        pairs = [(choice.id, choice.label) for choice in choices if choice.id != ALLOW_ALL]
        pairs = pairs or [(ASK, "Ask before each action")]
        value = self._own_mode if self.asks else ALLOW_ALL
        shown = setting(value, [(ALLOW_ALL, "Allow everything"), *pairs])
        self.record = replace(self.record, permission_mode=shown)
        return self.record


def update_of(message: Message) -> Message:
    """Return the update in a notification of the session."""
    return read_object(read_object(message, "params"), "update")
