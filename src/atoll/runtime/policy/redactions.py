"""The single place of redaction in a runtime: every exit gets its redactor from here.

Knows the secrets of the sandbox's policy and of the installation's keys; a new policy counts
at once, in streams that already flow too.
"""

import weakref
from collections.abc import Iterable, Mapping
from typing import cast

import msgspec

from atoll.domain.redaction.forms import SHORTEST
from atoll.domain.redaction.lexicon import Lexicon
from atoll.domain.redaction.redactor import Redactor
from atoll.wire.contract.policy import Policy
from atoll.wire.http.unreadable import UNREADABLE


class Redactions:
    """Secrets to redact. `floor` are values that count whatever the policy says."""

    def __init__(self, floor: Iterable[str] = ()) -> None:
        self._floor = frozenset(floor)
        self._values: frozenset[str] = frozenset()
        self._streams: weakref.WeakSet[Redactor] = weakref.WeakSet()
        self.lexicon = Lexicon()
        self._know(self._floor)

    def apply(self, policy: Policy) -> None:
        """Learn the secrets of a new policy, whether it names them for redaction or for use."""
        named = {each.value for each in policy.redacted}
        keys = {each.value for each in policy.providers}
        customs = {each.value for each in policy.customs}
        tokens = {each.value for each in policy.remotes}
        logins = {each.value for each in policy.logins}
        self._know(self._floor | named | keys | customs | tokens | logins)

    def stream(self, *, binary: bool = False) -> Redactor:
        """Return a redactor for one stream; it follows later policies for as long as it is used.
        A stream may be `binary` that is no terminal's."""
        redactor = Redactor(self.lexicon, binary=binary)
        self._streams.add(redactor)
        return redactor

    def text(self, text: str) -> str:
        """Return text that leaves the runtime (messages, names, log lines) without secrets."""
        return self.lexicon.redact_text(text)

    def payload(self, payload: Mapping[str, object]) -> Mapping[str, object]:
        """Return a journal entry's payload, with every text in it redacted."""
        return cast("Mapping[str, object]", self._redact_value(payload))

    def json(self, document: bytes) -> bytes:
        """Return a JSON document with every secret in it masked; without one, byte for byte."""
        value = msgspec.json.decode(document)
        cleaned = self._redact_value(value)
        plain = document if cleaned == value else msgspec.json.encode(cleaned)
        masked = self.lexicon.redact(plain)
        try:
            msgspec.json.decode(masked)
        except UNREADABLE:
            # What looked like a secret reached over the marks of the JSON itself.
            return plain
        return masked

    def _redact_value(self, value: object) -> object:
        """Return a value with every text in it redacted."""
        match value:
            case str():
                return self.text(value)
            case Mapping():
                return {key: self._redact_value(each) for key, each in value.items()}
            case list() | tuple():
                return [self._redact_value(each) for each in value]
            case _:
                return value

    def _know(self, values: frozenset[str]) -> None:
        values = frozenset(each for each in values if len(each.encode()) >= SHORTEST)
        if values == self._values:
            return
        self._values = values
        self.lexicon = Lexicon(values)
        for stream in self._streams:
            stream.use(self.lexicon)
