"""Settings of an agent in machine mode: its model and its permission mode.

A person changes them while the agent runs. Names and choices come from the agent, that is from
inside the sandbox, so they are bounded and made harmless here.
"""

import re
from collections.abc import Iterable
from typing import Literal

from msgspec.structs import replace

from atoll.domain.agents.lenient_json import Message, read_object, read_objects, read_text
from atoll.domain.agents.status import line_of
from atoll.domain.errors import Invalid
from atoll.wire.contract.agents import SettingChoice, SettingRecord, SettingsRecord

SettingName = Literal["model", "permission_mode"]

MAX_CHOICES = 100
MAX_LABEL = 60
_VALUE = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]{0,198}[\x21-\x7e])?\Z")

NO_SETTINGS = SettingsRecord()


def is_value(word: str) -> bool:
    """Return whether a word may name a model or a mode: printable ASCII, at most 200 characters."""
    return _VALUE.match(word) is not None


def setting(value: str, choices: Iterable[tuple[str, str]], *, free: bool = False) -> SettingRecord:
    """Return a setting with its choices as (value, label); unusable ones are left out. `free`
    means that other values than the choices are accepted, too."""
    seen: dict[str, SettingChoice] = {}
    for choice_id, label in choices:
        if len(seen) == MAX_CHOICES:
            break
        if is_value(choice_id) and choice_id not in seen:
            seen[choice_id] = SettingChoice(choice_id, line_of(label, MAX_LABEL) or choice_id)
    return SettingRecord(value if is_value(value) else "", tuple(seen.values()), free)


def chosen_value(settings: SettingsRecord, name: SettingName, value: str) -> str:
    """Return a value that this setting accepts. Raises `Invalid` with the choices."""
    record = settings.model if name == "model" else settings.permission_mode
    noun = name.replace("_", " ")
    if record is None:
        raise Invalid(
            f"the {noun} of this agent cannot be changed from here: it is at a terminal, where its "
            "own commands change it, or is still starting, or has no such choice",
            field=name,
        )
    known = [choice.id for choice in record.choices]
    if value in known or (record.free and is_value(value)):
        return value
    listed = ", ".join(known[:20]) or "none"
    raise Invalid(f"{value[:80]!r} is no {noun} of this agent; its choices: {listed}", field=name)


def with_value(settings: SettingsRecord, name: SettingName, value: str) -> SettingsRecord:
    """Return the settings after a change that the agent accepted or reported."""
    if name == "model":
        return _with_model(settings, value)
    old = settings.permission_mode
    if old is None or not is_value(value):
        return settings
    return replace(settings, permission_mode=replace(old, now=value))


def _with_model(settings: SettingsRecord, value: str) -> SettingsRecord:
    if not is_value(value):
        return settings
    old = settings.model
    new = SettingRecord(value, (), True) if old is None else replace(old, now=value)
    return replace(settings, model=new)


def listed_choices(message: Message, of: str, value: str, label: str) -> list[tuple[str, str]]:
    """Return the (value, label) pairs of a list of objects that an agent sent."""
    return [
        (read_text(entry, value), read_text(entry, label)) for entry in read_objects(message, of)
    ]


def selected_option(options: Iterable[Message], category: str) -> tuple[str, SettingRecord] | None:
    """Return the id and the setting of an agent's select option of this category."""
    for option in options:
        if read_text(option, "category", "id") != category or read_text(option, "type") != "select":
            continue
        flat = [
            pair
            for choice in read_objects(option, "options")
            for pair in (
                listed_choices(choice, "options", "value", "name")
                if "options" in choice
                else [(read_text(choice, "value"), read_text(choice, "name"))]
            )
        ]
        return read_text(option, "id"), setting(read_text(option, "currentValue"), flat)
    return None


def reported_settings(result: Message) -> SettingsRecord:
    """Return the settings that the answer to an ACP session's start names."""
    models, modes = read_object(result, "models"), read_object(result, "modes")
    record = SettingsRecord()
    if models:
        choices = listed_choices(models, "availableModels", "modelId", "name")
        record = replace(record, model=setting(read_text(models, "currentModelId"), choices))
    if modes:
        choices = listed_choices(modes, "availableModes", "id", "name")
        record = replace(
            record, permission_mode=setting(read_text(modes, "currentModeId"), choices)
        )
    return record
