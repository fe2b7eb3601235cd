"""Questions of an agent that speaks ACP: the forms of `elicitation/create`, and Qwen Code's own.

A form is a flat JSON schema: texts, numbers, booleans and choices. One with a single field is
answered by one of its choices or in words, one with several by a line `Field: answer` for each.
Source: agentclientprotocol.com, and the elicitation of MCP that it takes over.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import isfinite
from typing import Final

from atoll.domain.agents.card import Option, Value
from atoll.domain.agents.lenient_json import Message, read_object, read_objects, read_text
from atoll.domain.errors import Invalid

DECLINE: Final = "decline"
MAX_FIELDS, MAX_CHOICES = 16, 50
_CUSTOM: Final = "_custom"
"""The end of the name of a field that takes free words beside the choices of another."""

_YES, _NO = frozenset({"yes", "y", "true"}), frozenset({"no", "n", "false"})


@dataclass(frozen=True, slots=True)
class FormField:
    """A field. `choices` are values and labels, `free` the field that takes other words instead,
    where there is one. `several` of the choices may be taken."""

    name: str
    title: str
    kind: str
    choices: tuple[tuple[str, str], ...] = ()
    free: str = ""
    required: bool = False
    several: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A form: what it asks, and its fields in order."""

    words: str
    fields: tuple[FormField, ...]

    @property
    def options(self) -> tuple[Option, ...]:
        """The answers by one press: the choices of a single field, and to decline."""
        refuse = Option(DECLINE, "Decline", "deny")
        if len(self.fields) != 1:
            accept = () if self.fields else (Option("accept", "Accept", "allow"),)
            return (*accept, refuse)
        options = (Option(value, label) for value, label in self.fields[0].choices)
        return (*options, refuse)

    @property
    def card_text(self) -> str:
        """The text of its card: the words, and the fields where there are several."""
        if len(self.fields) < 2:
            return self.words or "".join(field.title for field in self.fields)
        lines = [self.words, "Answer with a line for each:"]
        for field in self.fields:
            labels = ", ".join(label for _, label in field.choices)
            need = "" if field.required else " (optional)"
            lines.append(f"{field.title}{need}: {labels}" if labels else f"{field.title}{need}: …")
        return "\n".join(filter(None, lines))

    def worker_questions(self) -> Message:
        """Return its questions as workers receive them."""
        return {
            "questions": [
                {
                    "question": field.title if len(self.fields) > 1 else self.words or field.title,
                    "header": field.title,
                    "options": [{"label": label} for _, label in field.choices],
                }
                for field in self.fields
            ]
        }


def read_form(params: Message) -> Form:
    """Return the form of a request. Fields that no form can have are left out."""
    schema = read_object(params, "requestedSchema")
    required = schema.get("required")
    needed = (
        {name for name in required if isinstance(name, str)} if isinstance(required, list) else {}
    )
    names = list(read_object(schema, "properties"))[: 2 * MAX_FIELDS]
    fields = [
        FormField(
            name=name,
            title=read_text(schema_part, "title", "description") or name,
            kind=_kind_of(schema_part),
            choices=_choices_of(schema_part),
            free=f"{name}{_CUSTOM}" if f"{name}{_CUSTOM}" in names else "",
            required=name in needed,
            several=read_text(schema_part, "type") == "array",
        )
        for name in names
        if not (name.endswith(_CUSTOM) and name.removesuffix(_CUSTOM) in names)
        for schema_part in (read_object(read_object(schema, "properties"), name),)
    ]
    return Form(read_text(params, "message"), tuple(fields[:MAX_FIELDS]))


def read_questions(params: Message) -> Form | None:
    """Return the questions that Qwen Code sends as a permission; None for a permission."""
    meta = read_object(read_object(params, "toolCall"), "_meta")
    asked = read_objects(meta, "qwenQuestions")
    fields = tuple(
        FormField(
            name=str(number),
            title=read_text(question, "question", "header"),
            kind="string",
            choices=tuple(
                (t, t)
                for option in read_objects(question, "options")
                if (t := read_text(option, "label"))
            ),
            free=str(number),
            required=True,
            several=question.get("multiSelect") is True,
        )
        for number, question in enumerate(asked[:MAX_FIELDS])
    )
    words = fields[0].title if len(fields) == 1 else ""
    return Form(words, fields) if fields else None


def fill_form(
    form: Form, option: str | None, words: str | None, answers: Mapping[str, str]
) -> dict[str, Value]:
    """Return the content of an accepted form. `answers` are those of a worker, `q1` for the first
    field. Raises `Invalid` with the field at fault."""
    given = dict(_match_answers(form, option, words, answers))
    content: dict[str, Value] = {}
    for field in form.fields:
        if field.name in given:
            name, value = _read_answer(field, given[field.name])
            content[name] = value
        elif field.required:
            raise Invalid(f"{field.title} needs an answer", field="text")
    return content


def _match_answers(
    form: Form, option: str | None, words: str | None, answers: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the answers by the names of fields."""
    if answers:
        for number, field in enumerate(form.fields, 1):
            if f"q{number}" in answers:
                yield field.name, answers[f"q{number}"]
    elif len(form.fields) == 1:
        answer = words if option is None else option
        if not answer or not answer.strip():
            raise Invalid("choose an option, or answer in words", field="option")
        yield form.fields[0].name, answer.strip()
    else:
        yield from _match_lines(form, words or "")


def _match_lines(form: Form, words: str) -> Iterator[tuple[str, str]]:
    titles = {
        key.casefold(): field.name for field in form.fields for key in (field.name, field.title)
    }
    for line in filter(str.strip, words.splitlines()):
        title, colon, answer = line.partition(":")
        name = titles.get(title.strip().casefold())
        if not colon or name is None:
            known = ", ".join(field.title for field in form.fields)
            raise Invalid(f"write a line `Field: answer` for each of: {known}", field="text")
        if answer.strip():
            yield name, answer.strip()


def _read_answer(field: FormField, answer: str) -> tuple[str, Value]:
    """Return the name and the value of an answer. Raises `Invalid`."""
    if field.several:
        return _read_several(field, answer)
    if field.kind == "boolean":
        return field.name, _read_boolean(field, answer)
    if field.kind in ("number", "integer"):
        return field.name, _read_number(field, answer)
    if not field.choices:
        return field.name, answer
    value = _find_choice(field, answer)
    if value is not None:
        return field.name, value
    if field.free:
        return field.free, answer
    labels = ", ".join(label for _, label in field.choices)
    raise Invalid(f"{field.title} is one of: {labels}", field="option")


def _read_several(field: FormField, answer: str) -> tuple[str, Value]:
    choices = [_find_choice(field, piece.strip()) for piece in answer.split(",") if piece.strip()]
    values: list[Value] = [choice for choice in choices if choice is not None]
    if len(values) < len(choices):
        if field.free:
            return field.free, answer
        labels = ", ".join(label for _, label in field.choices)
        raise Invalid(f"{field.title} is some of: {labels}", field="option")
    # Qwen Code, whose fields are numbered, takes one text.
    return field.name, ", ".join(map(str, values)) if field.free == field.name else values


def _read_boolean(field: FormField, answer: str) -> bool:
    plain = answer.casefold()
    if plain not in _YES | _NO:
        raise Invalid(f"{field.title} is yes or no", field="option")
    return plain in _YES


def _read_number(field: FormField, answer: str) -> Value:
    with suppress(ValueError):
        if field.kind == "integer":
            return int(answer)
        if isfinite(number := float(answer)):  # JSON has no other numbers, though Python reads them
            return number
    raise Invalid(f"{field.title} is a number", field="text")


def _find_choice(field: FormField, answer: str) -> str | None:
    plain = answer.casefold()
    fits = (
        value for value, label in field.choices if plain in (value.casefold(), label.casefold())
    )
    return next(fits, None)


def _kind_of(schema: Message) -> str:
    return read_text(schema, "type") or "string"


def _choices_of(schema: Message) -> tuple[tuple[str, str], ...]:
    """Return the values and labels of a field's choices, however its schema spells them."""
    if _kind_of(schema) == "boolean":
        return (("yes", "Yes"), ("no", "No"))
    items = read_object(schema, "items") if _kind_of(schema) == "array" else schema
    titled = [
        (read_text(each, "const"), read_text(each, "title"))
        for each in read_objects(items, "oneOf", "anyOf")
    ]
    plain = items.get("enum")
    values = [each for each in plain if isinstance(each, str)] if isinstance(plain, list) else []
    names = items.get("enumNames")
    labels = [str(each) for each in names] if isinstance(names, list) else values
    pairs = titled or list(zip(values, labels, strict=False))
    return tuple((value, label or value) for value, label in pairs if value)[:MAX_CHOICES]
