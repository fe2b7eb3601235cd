"""The control plane's log: one line an event, on standard error, with secrets scrubbed.

As text a line is logfmt. As JSON it is one object, and names the request that it belongs to by the
same four fields, null for work of Atoll's own. Scrubbing is a net under the rule that no secret is
ever logged, not a licence to.
"""

import logging
import re
import sys
from collections.abc import Sequence
from typing import Final

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from atoll.wire.contract.correlation import REQUEST_ID, TRACE_ID, TRACE_PARENT

SCRUBBED: Final = "[scrubbed]"
_NAMES = re.compile(
    r"token|secret|passw|authorization|cookie|api_?key|credential|ticket|session$", re.IGNORECASE
)
_VALUES = re.compile(
    r"(?i)(bearer\s+|login=|atoll_session=|atoll_guest=|atoll\.key\.|sk-)[A-Za-z0-9._~+/=-]{8,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# Said by the server for every refused WebSocket, which is no error of ours.
_NOISE: Final = ("ASGI callable returned without completing",)
_log = structlog.get_logger(__name__)
CHATTY: Final = ("uvicorn.error", "uvicorn.access", "aiosqlite", "asyncio", "alembic")
"""Libraries that warn of what clients do."""


def scrub(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Replace what looks like a secret, by its name or its shape."""
    del logger, name
    for key, value in event.items():
        if key != "event" and _NAMES.search(key):
            event[key] = SCRUBBED
        elif isinstance(value, str):
            event[key] = scrubbed_text(value)
    return event


def scrubbed_text(text: str) -> str:
    """Return a text without bearer tokens, login links, cookies, keys and passwords in URLs."""
    return _VALUES.sub(lambda match: f"{match[1] or ''}{SCRUBBED}", text)


class _Quiet(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return not record.getMessage().startswith(_NOISE)


def log_ignored(variables: Sequence[str]) -> None:
    """Log which variables were taken for those of a linked service, where there are any."""
    if variables:
        _log.warning(
            "service_links_ignored",
            variables=", ".join(variables),
            hint="a service of this name is linked here: `enableServiceLinks: false` leaves it out",
        )


def configure(level: str, form: str = "text") -> None:
    """Send structlog's and the standard library's lines through the same scrubbing. `form` is
    `text` or `json`."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        scrub,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(_Quiet())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *(_AS_JSON if form == "json" else _AS_TEXT),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.getLogger("atoll").setLevel(root.level)
    if root.level > logging.DEBUG:
        # Libraries announce what they do at info; ours are the events worth a line.
        root.setLevel(max(logging.WARNING, root.level))
    for chatty in CHATTY:
        # They warn of what clients do: requests that are none, connections that broke.
        logging.getLogger(chatty).setLevel(max(logging.ERROR, root.level))


def _for_text(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Leave out what a person on one machine knows."""
    del logger, name
    for key in (TRACE_PARENT, *_CALLER):
        event.pop(key, None)
    return event


def _for_json(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Put the fields that every line has first."""
    del logger, name
    event.pop(TRACE_PARENT, None)
    first = {key: event.pop(key, None) for key in (*_FIRST, *_CORRELATION)}
    return {**first, **event}


def _one_line(logger: WrappedLogger, name: str, event: EventDict) -> EventDict:
    """Spell what a terminal would obey: other people's words are in exceptions and reasons."""
    del logger, name
    return {str(key).replace(" ", "_"): _loggable(value) for key, value in event.items()}


def _loggable(value: object) -> object:
    if value is None or isinstance(value, bool | int | float):
        return value
    return _CONTROLS.sub(lambda match: f"\\x{ord(match[0]):02x}", str(value))


_FIRST: Final = ("timestamp", "level", "logger", "event")
_CALLER: Final = ("org", "principal")
_CORRELATION: Final = (REQUEST_ID, TRACE_ID, *_CALLER)
_AS_TEXT: Final[tuple[Processor, ...]] = (
    _for_text,
    _one_line,
    structlog.processors.LogfmtRenderer(
        key_order=["timestamp", "level", "event"], drop_missing=True, bool_as_flag=False
    ),
)
_AS_JSON: Final[tuple[Processor, ...]] = (
    _for_json,
    structlog.processors.JSONRenderer(ensure_ascii=True),
)
